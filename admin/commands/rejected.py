"""`tamis rejected`: input that was not understood."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.moments import kafka_moment
from tamis.admin.options import Count, From, Patience, To, answer_seconds, extent
from tamis.admin.output import Column
from tamis.admin.session import session_of

if TYPE_CHECKING:
    from tamis.broker.received import ReceivedRejection

app = group("See the input that was not understood.")

_COLUMNS = [
    Column("time"),
    Column("reason"),
    Column("topic"),
    Column("partition", right=True),
    Column("offset", right=True),
    Column("detail"),
    Column("key", wide=True),
    Column("value", wide=True),
]


@app.command(
    epilog="""\b
Examples:
  tamis rejected tail                                   what comes from now on, until Ctrl-C
  tamis rejected tail --from -1d --to end -o wide       a day's, with what came
  tamis rejected tail --from start --to end | jq -r .reason | sort | uniq -c
"""
)
def tail(
    context: typer.Context, start: From = None, end: To = None, count: Count = None, timeout: Patience = None
) -> ExitCode | None:
    """Follow rejected events and subscriptions: where each was, and why it could not be taken."""
    from tamis.broker.received import rejection_of
    from tamis.broker.tailing import tail as tailed

    session = session_of(context)
    settings = session.settings
    asked = extent(start, end, count, timeout)
    shown = 0

    def rows() -> Iterator[Mapping[str, Any]]:
        nonlocal shown
        for messages in tailed(settings.kafka, settings.names.rejected, asked, answer_seconds(asked)):
            for message in messages:
                shown += 1
                yield _row(rejection_of(message))

    session.out.stream(rows(), _COLUMNS)
    return ExitCode.NO if timeout is not None and shown < (count or 0) else None


def _row(received: "ReceivedRejection") -> Mapping[str, Any]:
    from tamis.broker.received import text_of

    it = received.rejection
    source: dict[str, Any] = {"reason": "unreadable", "detail": received.problem}
    if it is not None:
        source = {
            "reason": it.reason,
            "topic": it.topic,
            "partition": it.partition,
            "offset": it.offset,
            "detail": it.detail,
        }
    return {
        "time": kafka_moment(received.timestamp),
        **source,
        "key": text_of(received.key),
        "value": text_of(received.value),
        "rejected": {"partition": received.partition, "offset": received.offset},
    }
