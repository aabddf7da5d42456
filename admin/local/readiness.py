"""Ready means: a transaction was committed and its record read back. An open port means much less.

Right after the port opens, the first join of a group would wait 3 s and the first transaction 1 s for coordinators
that are still loading; every step here is tried again every 20 ms until it passes.
"""

import contextlib
import itertools
import socket
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial

from tamis.admin.errors import StackError
from tamis.broker.configuration import KafkaSettings, RedisSettings
from tamis.broker.kafka import (
    AdminClient,
    KafkaException,
    NewTopic,
    TopicPartition,
    admin_client,
    consumer,
    producer,
)
from tamis.broker.redis import RedisError, connect

_RETRY_SECONDS = 0.02
_ONE_TRY_SECONDS = 5.0
_FIRST_TRY_SECONDS = 0.1
_GROUP = "tamis-ready"
_QUIET = {"log_level": 0}  # coordinators that are still loading are what is expected here


def wait_for_kafka(
    settings: KafkaSettings, brokers: Sequence[int], deadline: float, still_alive: Callable[[], None]
) -> None:
    """Return once every broker named is in the cluster and a record has gone through it.

    `still_alive` raises if waiting is pointless; `deadline` is a time of `time.monotonic`.
    """
    attempt = _Attempt(deadline, still_alive, settings.bootstrap_servers)
    for address in settings.bootstrap_servers.split(","):
        attempt.until_true("the port opens", partial(_accepts, address))
    admin = admin_client(settings, _QUIET)
    attempt.until_true("all brokers have joined", lambda: set(brokers) <= set(_metadata_brokers(admin)))
    attempt.until_true("the group coordinator answers", lambda: _coordinator_answers(admin))
    topic = f"tamis-ready-{uuid.uuid4().hex}"
    attempt.until_true("a topic can be made", lambda: _make_topic(admin, topic))
    # Short at first, since a coordinator is soon ready; longer then, since TLS alone may take more on a busy machine.
    patience = (min(_FIRST_TRY_SECONDS * 1.5**number, _ONE_TRY_SECONDS) for number in itertools.count())
    attempt.until_true("a transaction commits", lambda: _produce(settings, topic, next(patience)))
    attempt.until_true("its record is read", lambda: _consume(settings, topic))
    attempt.until_true("the topic can be deleted", lambda: _delete_topic(admin, topic))


def wait_for_redis(settings: RedisSettings, deadline: float, still_alive: Callable[[], None]) -> None:
    with contextlib.closing(connect(settings)) as client:

        def answers() -> bool:
            with contextlib.suppress(RedisError):
                return bool(client.ping())
            return False

        _Attempt(deadline, still_alive, settings.url).until_true("it answers PING", answers)


class _Attempt:
    def __init__(self, deadline: float, still_alive: Callable[[], None], address: str) -> None:
        self._deadline = deadline
        self._still_alive = still_alive
        self._address = address

    def until_true(self, goal: str, passes: Callable[[], bool]) -> None:
        reason = ""
        while True:
            try:
                if passes():
                    return
            except KafkaException as error:
                reason = f" ({error.args[0].str()})"
            self._still_alive()
            if time.monotonic() > self._deadline:
                raise StackError(f"{self._address} is not ready: waiting until {goal} took too long{reason}.")
            time.sleep(_RETRY_SECONDS)


def _accepts(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=_ONE_TRY_SECONDS).close()
    except OSError:
        return False
    return True


def _metadata_brokers(admin: AdminClient) -> list[int]:
    return list(admin.list_topics(timeout=_ONE_TRY_SECONDS).brokers)


def _coordinator_answers(admin: AdminClient) -> bool:
    # Asking about a group that does not exist loads the coordinator, and is an error only once it has answered.
    (future,) = admin.describe_consumer_groups([_GROUP], request_timeout=_ONE_TRY_SECONDS).values()
    try:
        future.result()
    except KafkaException as error:
        if error.args[0].name() != "GROUP_ID_NOT_FOUND":
            raise
    return True


def _make_topic(admin: AdminClient, topic: str) -> bool:
    (future,) = admin.create_topics([NewTopic(topic)], request_timeout=_ONE_TRY_SECONDS).values()
    try:
        future.result()
    except KafkaException as error:
        if error.args[0].name() != "TOPIC_ALREADY_EXISTS":  # an earlier try whose answer was lost
            raise
    return True


def _delete_topic(admin: AdminClient, topic: str) -> bool:
    (future,) = admin.delete_topics([topic], request_timeout=_ONE_TRY_SECONDS).values()
    try:
        future.result()
    except KafkaException as error:
        if error.args[0].name() != "UNKNOWN_TOPIC_OR_PART":  # as above
            raise
    return True


def _produce(settings: KafkaSettings, topic: str, seconds: float) -> bool:
    # A fresh producer for each try: one whose first attempt timed out goes on waiting at its own pace.
    client = producer(settings, transactional_id=topic, properties=_QUIET)
    client.init_transactions(seconds)
    client.begin_transaction()
    client.produce(topic, b"ready")
    client.commit_transaction(_ONE_TRY_SECONDS)
    return True


def _consume(settings: KafkaSettings, topic: str) -> bool:
    with contextlib.closing(consumer(settings, _GROUP, _QUIET)) as client:
        client.assign([TopicPartition(topic, 0, 0)])
        message = client.poll(_ONE_TRY_SECONDS)
        if message is not None and message.error():
            raise KafkaException(message.error())
        return message is not None
