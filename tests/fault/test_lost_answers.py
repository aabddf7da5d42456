"""Connections that break where nobody can know whether Kafka has carried out what it was asked."""

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_process import Manner
from chaos_network import NETWORK_KINDS
from chaos_points import ABORTED, Faults
from chaos_results import Result, Trial
from chaos_run import Run
from kafka_proxy import END_TXN, INIT_PRODUCER_ID, PRODUCE, Fate, KafkaProxy, proxied, victim
from sender import Sender
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import ConflictError
from tamis.broker.kafka import NewTopic, TopicPartition, admin_client, consumer
from tamis.broker.outbox import Outbox
from tamis.broker.reading import BEGINNING, records

Network = tuple[LocalStack, KafkaProxy]
PATIENCE_SECONDS = 90.0
_NUMBERS = itertools.count()
_TRIES = 20
_LOST_MIN = 3
_MET = 2
"""So many transactions that wait for an answer are to be aborted, and not ended by their time-out."""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with proxied(StackOptions(properties=KILLED_KAFKAS)) as (proxy, options), LocalStack(options) as stack:
        yield stack, proxy


@pytest.fixture(autouse=True)
def _sound_at_first(network: Network) -> None:
    _, proxy = network
    proxy.heal()
    proxy.lost.clear()


@pytest.fixture
def topic(network: Network) -> str:
    name = f"topic-{next(_NUMBERS)}"
    admin = admin_client(network[0].settings.kafka)
    admin.create_topics([NewTopic(name, 1, 1)])[name].result()
    return name


def once_answer_lost(proxy: KafkaProxy) -> None:
    """Kafka has the next records, and its answer does not come; then nothing reaches it that is tried again."""
    fates = itertools.chain([Fate.ANSWER_LOST], itertools.repeat(Fate.REQUEST_LOST))
    proxy.fate = lambda api: next(fates) if api == PRODUCE else Fate.PASSED


def content(settings: KafkaSettings, topic: str) -> list[bytes | None]:
    return [record.value() for record in records(settings, [TopicPartition(topic, 0, BEGINNING)])]


def abort_only(outbox: Outbox) -> None:
    """As if a producer were as good as new then."""
    outbox.flush()
    outbox._producer.abort_transaction(PATIENCE_SECONDS)


@pytest.mark.parametrize("abort", [Outbox.abort, abort_only], ids=["right", "wrong"])
def test_what_follows_an_abort_is_not_taken_for_what_it_dropped(
    network: Network, topic: str, abort: Callable[[Outbox], None]
) -> None:
    """But it is where the same producer goes on: the commit succeeds, and has nothing."""
    stack, proxy = network
    settings = victim(stack.settings.kafka)
    outbox = Outbox(settings, topic)
    member = consumer(settings, topic)

    def is_committed(value: bytes) -> bool:
        outbox.begin()
        outbox.send(topic, value, None)
        return outbox.is_sent(lambda: False) and outbox.commit([], member.consumer_group_metadata())

    assert is_committed(b"before")
    outbox.begin()
    outbox.send(topic, b"dropped", None)
    once_answer_lost(proxy)
    outbox.flush()
    assert proxy.lost[PRODUCE, Fate.ANSWER_LOST] == 1
    abort(outbox)
    proxy.heal()
    assert is_committed(b"after")
    member.close()
    kept = [b"before"] if abort is abort_only else [b"before", b"after"]
    assert content(stack.settings.kafka, topic) == kept


def test_a_load_goes_on_with_another_client_where_one_is_not_answered(network: Network, topic: str) -> None:
    stack, proxy = network
    sender = Sender(victim(stack.settings.kafka), patience_seconds=1.0)
    once_answer_lost(proxy)
    values = [b"first", b"second"]
    for value in values:
        sender.send(topic, value, None, 0)
    assert not sender.flush(0.9)
    healing = threading.Timer(2.0, proxy.heal)
    healing.start()
    assert sender.flush(PATIENCE_SECONDS)
    healing.join()
    found = content(stack.settings.kafka, topic)
    assert found == values * (len(found) // 2)
    assert len(found) > len(values), "the first client was answered"


def test_whose_name_was_taken_does_not_take_it_back(network: Network, topic: str) -> None:
    settings = network[0].settings.kafka
    member = consumer(settings, topic)
    older = Outbox(settings, topic)
    older.begin()
    older.send(topic, b"older", None)
    older.flush()
    newer = Outbox(settings, topic)
    with pytest.raises(ConflictError, match="Another process has taken this slot"):
        older.abort()
    newer.begin()
    newer.send(topic, b"newer", None)
    assert newer.commit([], member.consumer_group_metadata())
    member.close()
    assert content(settings, topic) == [b"newer"]


@pytest.mark.timeout(400)
def test_brokers_whose_network_fails_deliver_everything_once(network: Network, tmp_path: Path) -> None:
    stack, proxy = network
    trial = Trial(seconds=20.0, rate=150.0, processes=2, shards=1)
    result = Result.of(trial)
    with Run(stack, trial, tmp_path, Manner(Faults(abort_every=20)), proxy) as run:
        run.start(on_a_whole_log=True)
        run.go_on(trial.seconds, kinds=NETWORK_KINDS)
        counts = run.director.counts
        run.go_on_until(lambda: all(counts[kind] for kind in NETWORK_KINDS), PATIENCE_SECONDS, NETWORK_KINDS)
        run.go_on_until(lambda: counts["answers lost"] > _LOST_MIN, PATIENCE_SECONDS, NETWORK_KINDS)
        findings = run.finish(result)
    print(result, proxy.lost)
    assert findings.is_clean, findings
    assert not result.trouble, result
    assert not result.stops, result
    assert result.aborts > 0


@pytest.mark.timeout(400)
def test_a_broker_that_aborts_what_has_no_answer_delivers_everything_once(network: Network, tmp_path: Path) -> None:
    stack, proxy = network
    trial = Trial(rate=150.0, processes=1, shards=1, seed=2)
    with Run(stack, trial, tmp_path, Manner(Faults(abort_every=2)), proxy) as run:
        run.start(on_a_whole_log=True)
        met = 0
        for _ in range(_TRIES):
            before = run.cluster.told(ABORTED)
            proxy.fate = until_abort = UntilAbort()
            run.go_on_until(lambda until=until_abort: until.is_over, PATIENCE_SECONDS)  # type: ignore[misc]
            proxy.heal()
            run.go_on(0.5)
            met += run.cluster.told(ABORTED) > before
            if met == _MET:
                break
        assert met == _MET, "nearly every abort was Kafka's or the client's own"
        findings = run.finish(Result.of(trial))
    assert findings.is_clean, findings


class UntilAbort:
    """Kafka has some records of a transaction, without its answer, and gets no more before that one ends."""

    def __init__(self) -> None:
        self.is_over = False
        self._has_lost = False

    def __call__(self, api: int) -> Fate:
        self.is_over |= self._has_lost and api in (END_TXN, INIT_PRODUCER_ID)
        if api != PRODUCE or self.is_over:
            return Fate.PASSED
        fate = Fate.REQUEST_LOST if self._has_lost else Fate.ANSWER_LOST
        self._has_lost = True
        return fate
