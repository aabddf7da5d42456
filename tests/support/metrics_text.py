"""Prometheus's text format, read strictly: whatever the specification does not allow is an error."""

import re
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


@dataclass
class Family:
    kind: str
    help: str
    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        return self.samples[suffix, tuple(sorted(labels.items()))]


def parsed(text: str) -> dict[str, Family]:
    families: dict[str, Family] = {}
    name, help_text = "", ""
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, help_text = line.removeprefix("# HELP ").split(" ", 1)
            assert name not in families, name
        elif line.startswith("# TYPE "):
            typed, kind = line.removeprefix("# TYPE ").split(" ")
            assert typed == name
            assert (kind == "counter") == name.endswith("_total")
            families[name] = Family(kind, help_text)
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, line
            suffix = match[1].removeprefix(name)
            assert suffix in _SUFFIXES[families[name].kind], line
            labels = _labels(match[2] or "")
            key = (suffix, tuple(sorted(labels.items())))
            assert key not in families[name].samples, line
            families[name].samples[key] = float(match[3])
    for name, family in families.items():
        if family.kind == "histogram":
            _check_histogram(name, family)
    return families


def _labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        assert match, text
        labels[match[1]] = re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], match[2])
        at = match.end()
    return labels


def _check_histogram(name: str, family: Family) -> None:
    buckets = [
        (float(dict(labels)["le"]), value) for (suffix, labels), value in family.samples.items() if suffix == "_bucket"
    ]
    assert buckets == sorted(buckets), name
    assert [count for _, count in buckets] == sorted(count for _, count in buckets), name
    assert buckets[-1] == (float("inf"), family.value("_count")), name
