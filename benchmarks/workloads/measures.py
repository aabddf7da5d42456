"""What a workload turned out to be: counted on its texts and events, by parsing and evaluating them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.workload import Event
from tamis.indexes.columnar import parse_many
from tamis.indexes.printing import predicate_text

_TOKENS = re.compile(
    r'"[^"]*"|`[^`]*`|\bbetween \S+ and\b|\bnot in (?=\()|(?P<set>(?<=in )\()|(?P<open>\()|(?P<close>\))'
    r"|\b(?P<connective>and|or|not|xor|xnor)\b"
)


def measured(texts: Sequence[str], events: Sequence[Event], evaluations_max: int) -> dict[str, float]:
    """Facts by name. Matches are counted on all events, with as many subscriptions as the bound allows."""
    expressions, errors = parse_many(texts)
    if errors:
        position, error = errors[0]
        raise WorkloadError(f"subscription {position} of {len(texts)} is refused: {texts[position]!r}") from error
    sizes: list[int] = []
    operators: Counter[str] = Counter()
    predicates: Counter[str] = Counter()
    attributes: set[str] = set()
    for expression in expressions:
        found = expression.predicates
        sizes.append(len(found))
        for predicate in found:
            operators[predicate.operator] += 1
            predicates[predicate_text(predicate._replace(weight=1.0))] += 1
            attributes.add(predicate.attribute)
    connectives: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    for text in texts:
        for connective, node in nodes(text):
            connectives[connective] += 1
            if len(node) < len(text):
                groups[node] += 1
    pairs = [len(event) for event in events]
    facts: dict[str, float] = {
        "predicates a subscription": sum(sizes) / len(sizes),
        "predicates a subscription, least": min(sizes),
        "predicates a subscription, most": max(sizes),
    }
    for operator, occurrences in operators.most_common():
        facts[f"operator {operator}"] = occurrences / operators.total()
    for connective, occurrences in connectives.most_common():
        facts[f"connective {connective}"] = occurrences / connectives.total()
    facts["distinct predicates"] = len(predicates)
    facts["predicate sharing"] = predicates.total() / len(predicates)
    if groups:
        facts["distinct subexpressions"] = len(groups)
        facts["subexpression sharing"] = groups.total() / len(groups)
    facts["attributes in subscriptions"] = len(attributes)
    facts["attributes in events"] = len({name for event in events for name in event})
    facts["pairs an event"] = sum(pairs) / len(pairs)
    facts["pairs an event, least"] = min(pairs)
    facts["pairs an event, most"] = max(pairs)
    sample = [expressions[index] for index in range(min(len(texts), max(1, evaluations_max // len(events))))]
    hits = sum(expression.evaluate(event) is True for expression in sample for event in events)
    facts["matching probability"] = hits / (len(sample) * len(events))
    return facts


def nodes(text: str) -> Iterator[tuple[str, str]]:
    """Each connective's node: the connective and the node's text. The whole comes last; a single predicate is none.

    This reads texts as generators write them, where every node but the whole stands in parentheses.
    """
    opened: list[_Open] = [_Open(0)]
    for token in _TOKENS.finditer(text):
        if token["open"]:
            opened.append(_Open(token.start()))
        elif token["set"]:
            opened.append(_Open(None))
        elif token["close"]:
            closed = opened.pop()
            if closed.begin is not None:
                yield closed.connective, text[closed.begin : token.end()]
        elif token["connective"]:
            opened[-1].connective = token["connective"]
    if opened[0].connective:
        yield opened[0].connective, text


@dataclass
class _Open:
    """What was begun with a parenthesis; a set begins nowhere."""

    begin: int | None
    connective: str = ""
