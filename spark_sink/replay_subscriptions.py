"""What events are matched against, if not what was in force then: proposed subscriptions, or those of now."""

from collections.abc import Sequence
from pathlib import Path

from tamis.broker.configuration import Settings
from tamis.broker.json_lines import WrongLine, in_batches, numbered_lines
from tamis.broker.layouts import require_layout
from tamis.broker.subscription_lines import parsed_lines
from tamis.broker.subscription_list import State, subscriptions
from tamis.codecs.subscription import Subscription
from tamis.indexes import Limits, parse_many
from tamis.indexes.snapshot_file import MAGIC
from tamis.spark_sink.versions import Version

_PARSED_AT_ONCE = 10_000


def is_snapshot(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def proposed(path: Path, limits: Limits) -> tuple[list[Version], list[WrongLine]]:
    """Those that a file of lines tells, and its wrong lines. Of several of one name the last one counts."""
    found: dict[bytes, Subscription] = {}
    wrong: list[WrongLine] = []
    with path.open("rb") as source:
        for good, bad in parsed_lines(numbered_lines(source), limits):
            wrong += bad
            for one in good:
                found.pop(one.subscription.key, None)
                if one.subscription.paused is None:
                    found[one.subscription.key] = one.subscription
    return [
        version for some in in_batches(found.values(), _PARSED_AT_ONCE) for version in _versions(some, limits)
    ], wrong


def current(settings: Settings, seconds: float = 10.0) -> list[Version]:
    """Those in force now, as their topic in Kafka has them."""
    layout = require_layout(settings, seconds)
    listed = subscriptions(settings, layout, seconds=seconds)
    active = (one.subscription for one in listed if one.state is State.ACTIVE and one.subscription is not None)
    return [version for some in in_batches(active, _PARSED_AT_ONCE) for version in _versions(some, layout.limits)]


def _versions(some: Sequence[Subscription], limits: Limits) -> list[Version]:
    """Of subscriptions that were found valid."""
    expressions, _ = parse_many([one.expression for one in some], limits)
    return [
        Version(one.key.decode(), expression, one.tags, one.scores)
        for one, expression in zip(some, expressions, strict=True)
    ]
