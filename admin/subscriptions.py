"""What the commands about subscriptions share: finding those that are named, changing them, showing them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tamis.admin.moments import kafka_moment
from tamis.admin.output import Column
from tamis.admin.session import Session

if TYPE_CHECKING:
    from tamis.broker.subscribing import SubscriptionWriter
    from tamis.broker.subscription_list import Listed
    from tamis.codecs.layout import Layout

_STATES = {"active": "green", "paused": "yellow", "invalid": "red"}
BRIEF = [Column("subscription"), Column("state", colours=_STATES), Column("expression")]
COLUMNS = [
    *BRIEF,
    Column("reason"),
    Column("tags", wide=True),
    Column("scores", wide=True),
    Column("since", wide=True),
    Column("partition", wide=True, right=True),
    Column("offset", wide=True, right=True),
]


def chosen(session: Session, names: Sequence[str], timeout: float) -> tuple["Layout", list["Listed"]]:
    """The subscriptions that `subscriber` or `subscriber/name` each say. MissingError if one says none."""
    from tamis.broker.errors import InvalidError, MissingError
    from tamis.broker.layouts import require_layout
    from tamis.broker.subscription_list import subscriptions
    from tamis.codecs.errors import RecordError
    from tamis.codecs.subscription import check_name, check_subscriber

    layout = require_layout(session.settings, timeout)
    there: dict[str, list[Listed]] = {}
    found: dict[bytes | None, Listed] = {}
    for text in names:
        subscriber, slash, name = text.partition("/")
        try:
            check_subscriber(subscriber)
            if slash:
                check_name(name)
        except RecordError as error:
            raise InvalidError(f"{text!r} names no subscription: {error}.") from error
        if subscriber not in there:
            there[subscriber] = list(subscriptions(session.settings, layout, subscriber, timeout))
        said = [one for one in there[subscriber] if not slash or one.name == name]
        if not said:
            known = f"{subscriber} has {_told([one.name for one in there[subscriber]])}"
            raise MissingError(f"There is no subscription {text}: {known}. See: tamis subscriptions list {subscriber}")
        found.update((one.key, one) for one in said)
    return layout, list(found.values())


def written(
    session: Session,
    layout: "Layout",
    found: Sequence["Listed"],
    act: "Callable[[SubscriptionWriter, Listed], None]",
    timeout: float,
) -> None:
    """Do something to each, and wait until Kafka has it."""
    from tamis.broker.errors import InvalidError
    from tamis.broker.subscribing import SubscriptionWriter

    refused: list[str] = []
    with (
        session.progress("subscriptions", len(found)) as advance,
        SubscriptionWriter(session.settings, layout, lambda _line, reason: refused.append(reason), timeout) as writer,
    ):
        for one in found:
            act(writer, one)
            advance(1)
        writer.wait()
    if refused:
        raise InvalidError(f"{len(refused)} of {len(found)} records were not taken, the first because: {refused[0]}.")


def row_of(one: "Listed") -> Mapping[str, Any]:
    it = one.subscription
    return {
        "subscription": f"{one.subscriber}/{one.name}",
        "subscriber": one.subscriber,
        "name": one.name,
        "state": one.state.value,
        "expression": None if it is None else it.expression,
        "reason": None if one.reason is None else one.reason.partition("\n")[0],
        "tags": {} if it is None else dict(it.tags),
        "scores": None if it is None else it.scores,
        "since": kafka_moment(one.timestamp),
        "partition": one.partition,
        "offset": one.offset,
    }


def _told(names: Sequence[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown  # noqa: PLR2004 - as many as a line has room for
