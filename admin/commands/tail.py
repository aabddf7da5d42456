"""`tamis tail`: what a subscriber gets."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import single
from tamis.admin.exit_codes import ExitCode
from tamis.admin.moments import kafka_moment, moment
from tamis.admin.options import Count, From, Patience, To, answer_seconds, extent
from tamis.admin.output import Column
from tamis.admin.session import Session, session_of

if TYPE_CHECKING:
    from tamis.broker.received import ReceivedNotification
    from tamis.broker.tailing import Extent

app = single()

_COLUMNS = [
    Column("id", wide=True),
    Column("time"),
    Column("matched"),
    Column("event"),
    Column("topic", wide=True),
    Column("partition", wide=True, right=True),
    Column("offset", wide=True, right=True),
]


@app.command(
    epilog="""\b
Examples:
  tamis tail ann                            what comes from now on, until Ctrl-C
  tamis tail ann --from start --to end      all there is, then end
  tamis tail ann --from -1h | jq .event
  tamis tail ann -n 1 --timeout 5           does anything come? Exit code 1 if not
"""
)
def tail(
    context: typer.Context,
    subscriber: Annotated[str, typer.Argument(metavar="SUBSCRIBER", help="Whose notifications.")],
    start: From = None,
    end: To = None,
    count: Count = None,
    timeout: Patience = None,
) -> ExitCode | None:
    """Follow a subscriber's notifications: each event that matched, once, and which subscriptions it matched.

    Only what is committed is shown. Reading takes nothing away.
    """
    session = session_of(context)
    asked = extent(start, end, count, timeout)
    shown = 0

    def rows() -> Iterator[Mapping[str, Any]]:
        nonlocal shown
        for received in _received(session, subscriber, asked):
            shown += 1
            yield _row(received)

    session.out.stream(rows(), _COLUMNS)
    return ExitCode.NO if timeout is not None and shown < (count or 0) else None


def _received(session: Session, subscriber: str, asked: "Extent") -> Iterator["ReceivedNotification"]:
    from tamis.broker.errors import InvalidError, MissingError
    from tamis.broker.received import NotificationReader
    from tamis.broker.tailing import tail as tailed
    from tamis.codecs.errors import RecordError
    from tamis.codecs.subscription import check_subscriber

    try:
        check_subscriber(subscriber)
    except RecordError as error:
        raise InvalidError(f"{error}.") from error
    settings = session.settings
    reader = NotificationReader(settings)
    try:
        for messages in tailed(settings.kafka, settings.names.notifications(subscriber), asked, answer_seconds(asked)):
            yield from reader.read(messages)
    except MissingError as error:
        raise MissingError(
            f"{error} It is made with the first subscription: tamis subscribe {subscriber} EXPRESSION"
        ) from error


def _row(received: "ReceivedNotification") -> Mapping[str, Any]:
    at = {"partition": received.partition, "offset": received.offset, "time": kafka_moment(received.timestamp)}
    it = received.notification
    if it is None:
        return {"problem": received.problem, "event": received.problem, "notification": at}
    row = {
        "id": it.id,
        "time": moment(it.time),
        "matched": [match.name for match in it.matches],
        "event": received.event,
        "topic": it.topic,
        "partition": it.partition,
        "offset": it.offset,
        "matches": [
            {"name": match.name, "tags": dict(match.tags)} | ({} if match.score is None else {"score": match.score})
            for match in it.matches
        ],
        "notification": at,
    }
    return row if received.problem is None else row | {"problem": received.problem}
