"""The rights that docs/rights.md lists, as Kafka and Redis take them: what it says is what tests give."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

_PAGE = Path(__file__).parents[2] / "docs" / "rights.md"
_KINDS = {
    "topics": ResourceType.TOPIC,
    "groups": ResourceType.GROUP,
    "transactional ids": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}
_CLUSTER = "kafka-cluster"
"""Kafka's own name of it."""


def rights_of(who: str, user: str, prefix: str, events: Sequence[str] = ()) -> list[AclBinding]:
    """Those of `who`, a heading of the page, for a user, a prefix, and topics of events."""
    _, found, section = _PAGE.read_text().partition(f"\n## {who}\n")
    assert found, who
    rows = re.findall(r"^\| (.+?) \| (.*?) ?\| (`.+?) \|", section.partition("\n## ")[0], re.MULTILINE)
    bindings = [
        AclBinding(_KINDS[kind], name.removesuffix("*"), pattern, f"User:{user}", "*", _operation(right), _ALLOW)
        for kind, listed, rights in rows
        for name in _names(listed.strip("`"), prefix, events)
        for pattern in (ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL,)
        for right in re.findall(r"`(\w+)`", rights)
    ]
    assert bindings, who
    return bindings


def give(admin: AdminClient, bindings: Iterable[AclBinding]) -> None:
    for future in admin.create_acls(list(bindings)).values():
        future.result()


def redis_rights(user: str, password: str, prefix: str) -> list[str]:
    """The words of the command that makes the user."""
    (command,) = re.findall(rf"^ACL SETUSER {user} .*$", _PAGE.read_text(), re.MULTILINE)
    return [word.replace("PASSWORD", password).replace("tamis.", f"{prefix}.") for word in command.split()]


_ALLOW = AclPermissionType.ALLOW


def _names(listed: str, prefix: str, events: Sequence[str]) -> Sequence[str]:
    if listed == "orders":
        return events
    return [f"{prefix}.{listed.removeprefix('tamis.')}" if listed else _CLUSTER]


def _operation(right: str) -> AclOperation:
    return AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", right).upper()]
