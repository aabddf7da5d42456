"""`tamis stats`: what there is and what was done, in numbers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import single
from tamis.admin.options import Timeout
from tamis.admin.output import Column
from tamis.admin.session import session_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tamis.broker.stats import Statistics

app = single()

_COLUMNS = [Column("about"), Column("what"), Column("count", right=True)]


@app.command(
    epilog="""\b
Examples:
  tamis stats                                    subscriptions, subscribers, topics, what was rejected
  tamis stats --top 100 -o csv                   the hundred subscribers that have most
  tamis stats --url broker-1:9464 --url broker-2:9464    what these brokers have done since they started
"""
)
def stats(
    context: typer.Context,
    top: Annotated[int, typer.Option(min=0, metavar="N", help="How many subscribers to list.")] = 10,
    url: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Of a running broker's metrics, instead of Kafka's topics; repeatable."),
    ] = None,
    timeout: Timeout = 10.0,
) -> None:
    """Count subscriptions, what topics hold, and what was rejected or could not be delivered, as topics have it now.

    Topics are counted in offsets, of which transaction markers have some too. With --url the numbers are those of
    brokers that run, added up, since they started.
    """
    session = session_of(context)
    if url:
        from tamis.broker.stats import summed
        from tamis.broker.stats_urls import metrics_at

        totals = summed(metrics_at(each, timeout) for each in url)
        session.out.rows(_of_brokers(totals), _COLUMNS)
        return
    from tamis.broker.stats import statistics

    with session.progress("records") as advance:
        found = statistics(session.settings, timeout, advance)
    session.out.rows(_rows(found, top), _COLUMNS)


def _of_brokers(totals: "Mapping[str, float]") -> list[dict[str, Any]]:
    """Without the reasons that there were none of."""
    return [_row("brokers", name, _plain(value)) for name, value in totals.items() if value or "{reason=" not in name]


def _rows(found: "Statistics", top: int) -> list[dict[str, Any]]:
    from tamis.broker.subscription_list import State

    rows = [_row("subscriptions", state.value, found.states[state]) for state in State]
    rows.append(_row("subscribers", "all", len(found.subscribers)))
    rows += [_row("subscriber", name, count) for name, count in found.subscribers.most_common(top)]
    rows += [_row("topic", listed.facts.name, listed.offsets) for listed in found.topics]
    for about, counts in (("rejected", found.rejected), ("undelivered", found.undelivered), ("views", found.views)):
        rows.append(_row(about, "all", sum(counts.values())))
        rows += [_row(about, reason, count) for reason, count in counts.most_common()]
    return rows


def _row(about: str, what: str, count: float | None) -> dict[str, Any]:
    return {"about": about, "what": what, "count": count}


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else round(value, 3)
