"""Each kind of error at each call of a transaction: whatever Kafka answers, each event is delivered once, in its order.

Beside `make chaos`, which meets errors as they come, most of them seldom.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from broker_cluster import Cluster, Reader
from client_errors import (
    ABORTABLE,
    FATAL,
    FENCED,
    FORBIDDEN,
    OF_MEMBERS,
    OF_TRANSACTIONS,
    RETRIABLE,
    TIMEOUT,
    UNSPECIFIC,
    Answer,
    Script,
    Turn,
    answering,
)
from oracle import examine
from processes import soon
from serving import SECONDS, running
from tamis.broker.errors import ConflictError, InvalidError
from tamis.broker.kafka import KafkaError
from tamis.codecs.subscription import Subscription

pytestmark = pytest.mark.timeout(300)
ABORT = Answer("commit", ABORTABLE)
"""Makes the broker abort, and go back."""
REBUILD = Answer("commit", FATAL)
"""Makes it throw its clients away."""
SCRIPTS = {
    "begin": [[Answer("begin", error)] for error in (RETRIABLE, ABORTABLE, FATAL, UNSPECIFIC)],
    "produce": [[Answer("produce", error)] for error in (RETRIABLE, ABORTABLE, FATAL, UNSPECIFIC)],
    "offsets": [[Answer("offsets", error)] for error in (TIMEOUT, RETRIABLE, ABORTABLE, FATAL, UNSPECIFIC)],
    "commit": [[Answer("commit", error)] for error in (TIMEOUT, TIMEOUT, RETRIABLE, ABORTABLE, FATAL, UNSPECIFIC)],
    "members": [[Answer("offsets", error)] for error in OF_MEMBERS],
    "transactions": [[Answer("commit", error)] for error in OF_TRANSACTIONS],
    "abort": [[ABORT, Answer("abort", error)] for error in (TIMEOUT, RETRIABLE, FATAL, UNSPECIFIC)],
    "init": [[REBUILD, Answer("init", error)] for error in (TIMEOUT, RETRIABLE, FATAL, UNSPECIFIC)],
    "rewind": [
        [ABORT, Answer(call, error)] for error in (RETRIABLE, FATAL, UNSPECIFIC) for call in ("committed", "seek")
    ],
    "poll": [[Answer(call, error)] for error in (RETRIABLE, FATAL, UNSPECIFIC) for call in ("poll", "consume")],
}


@pytest.fixture
def cluster(make_brokered: Callable[..., Cluster]) -> Cluster:
    made = make_brokered()
    made.make_notification_topics(["ann", "bob"])
    made.subscribe(Subscription("ann", "all", "exists a"), Subscription("bob", "even", "even = true"))
    return made


@pytest.mark.parametrize("calls", SCRIPTS)
def test_whatever_kafka_answers_each_event_is_delivered_once(cluster: Cluster, calls: str) -> None:
    script = Script(SCRIPTS[calls])
    sent = 0

    def is_played() -> bool:
        nonlocal sent
        cluster.send_event(str(sent), a=sent, even=sent % 2 == 0)
        sent += 1
        return script.next is None

    with Reader(cluster.settings, [cluster.names.notifications(name) for name in ("ann", "bob")]) as reader:
        with answering(script), running(cluster):
            cluster.send_event("first", a=-1, even=True)
            assert cluster.is_done(SECONDS)
            script.start()
            assert soon(is_played, 2 * SECONDS), script.next
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        findings = examine(cluster, reader.seen)
    assert findings.is_clean, findings
    assert findings.expected == 2 + sent + (sent + 1) // 2


def threads_of_clients() -> int:
    names = (task.joinpath("comm") for task in Path("/proc/self/task").iterdir())
    return sum(name.read_text().startswith("rdk:") for name in names if name.exists())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not tell of threads")
@pytest.mark.parametrize("turn", [[REBUILD], [Answer("consume", FATAL)], [ABORT, Answer("seek", FATAL)]])
def test_clients_that_are_thrown_away_leave_nothing(cluster: Cluster, turn: Turn) -> None:
    script = Script([turn] * 4)

    def is_played() -> bool:
        cluster.send_event("more", a=1)
        return script.next is None

    with answering(script), running(cluster):
        cluster.send_event("first", a=-1)
        assert cluster.is_done(SECONDS)
        before = threads_of_clients()
        script.start()
        assert soon(is_played, 2 * SECONDS), script.next
        assert cluster.is_done(SECONDS)
        assert soon(lambda: threads_of_clients() <= before, SECONDS), (threads_of_clients(), before)


@pytest.mark.parametrize(
    ("error", "ends_by"), [(FENCED, ConflictError), (FORBIDDEN, InvalidError)], ids=["fenced", "forbidden"]
)
def test_what_cannot_be_mended_ends_it_and_another_one_goes_on(
    cluster: Cluster, error: KafkaError, ends_by: type[ConflictError | InvalidError]
) -> None:
    script = Script([[Answer("commit", error)]])
    script.start()
    with Reader(cluster.settings, [cluster.names.notifications(name) for name in ("ann", "bob")]) as reader:
        with answering(script), running(cluster, ends_by=ends_by) as ended:
            cluster.send_event("0", a=0, even=True)
            assert ended.wait(SECONDS)
        with running(cluster):
            cluster.send_event("1", a=1, even=False)
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        findings = examine(cluster, reader.seen)
    assert findings.is_clean, findings
    assert findings.delivered == 3
