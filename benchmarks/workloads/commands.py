"""List, write and describe workloads from the command line."""

import ast
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import typer

from benchmarks.workloads.columns import COLUMN_FILES
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.measures import measured
from benchmarks.workloads.registry import WORKLOADS, Entry
from benchmarks.workloads.workload import SUBSCRIPTIONS_A_CHUNK, Workload

_EVALUATIONS_MAX = 2_000_000
_FILES = ("subscriptions.txt", "events.jsonl", "weights.jsonl", "workload.json", *COLUMN_FILES)
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="python -m benchmarks.workloads",
    help="Seeded subscriptions and events, as the papers generate them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    add_completion=False,
)

Name = Annotated[str, typer.Argument(help="A workload's name; `list` shows them.")]
Subscriptions = Annotated[int, typer.Option(min=1, help="How many subscriptions.")]
Events = Annotated[int, typer.Option(min=1, help="How many events.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same workload.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="PARAMETER=VALUE", help="Change a parameter; may be repeated.")
]


def main() -> NoReturn:
    """Run the command line, and turn what a user can mend into one message and an exit code."""
    try:
        app()
        sys.exit(0)
    except WorkloadError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(EXIT_USAGE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


@app.command("list")
def list_workloads() -> None:
    """List the workloads: name, paper, shape."""
    width = max(map(len, WORKLOADS))
    papers = max(len(entry.paper) for entry in WORKLOADS.values())
    for name, entry in WORKLOADS.items():
        typer.echo(f"{name:{width}}  {entry.paper:{papers}}  {entry.shape}")


@app.command(
    epilog="""\b
Examples:
  python -m benchmarks.workloads write W1 --folder /tmp/w1 --subscriptions 1000000 --columns
  python -m benchmarks.workloads write W3x --folder /tmp/w3x --events 10000 --seed 7
  python -m benchmarks.workloads write W1 --folder /tmp/w1-zipf --set alpha=2 --set equality_ratio=0.4
"""
)
def write(
    name: Name,
    folder: Annotated[Path, typer.Option(help="Where to write; made if it is missing.")],
    subscriptions: Subscriptions = 100_000,
    events: Events = 1_000,
    seed: Seed = 1,
    changes: Changes = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="Also write arrays of integers, for programs that read no expressions.")
    ] = False,
) -> None:
    """Write a workload into files, instead of those of an earlier one.

    subscriptions.txt has one expression a line, events.jsonl one event a line, weights.jsonl (if the workload has
    weights) an event's weights a line, workload.json the parameters. With --columns also subscription_*.npy and
    event_*.npy, where every predicate is an interval of integers.
    """
    workload = _chosen(name, seed, changes, subscriptions)
    weights = workload.event_weights(events)
    conjunctions = workload.conjunctions(subscriptions) if columns else None
    pairs = workload.pairs(events) if columns else None
    if columns and (conjunctions is None or pairs is None):
        raise WorkloadError(f"{name} has no columns, since not every predicate is one interval; leave out --columns")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stale in _FILES:
            (folder / stale).unlink(missing_ok=True)
        with _file(folder / "subscriptions.txt") as file, _bar(subscriptions, "subscriptions") as bar:
            texts = workload.subscriptions(subscriptions)
            while chunk := list(islice(texts, SUBSCRIPTIONS_A_CHUNK)):
                file.write("\n".join(chunk) + "\n")
                bar.update(len(chunk))
        _write_lines(folder / "events.jsonl", workload.events(events))
        if weights is not None:
            _write_lines(folder / "weights.jsonl", weights)
        if conjunctions is not None and pairs is not None:
            conjunctions.save(folder)
            pairs.save(folder)
        about = {"name": name, "subscriptions": subscriptions, "events": events, "parameters": asdict(workload)}
        with _file(folder / "workload.json") as file:
            file.write(json.dumps(about, indent=2) + "\n")
    except OSError as error:
        raise WorkloadError(f"cannot write into {folder}: {error.strerror}; choose another --folder") from error


@app.command(
    epilog="""\b
Examples:
  python -m benchmarks.workloads describe W1
  python -m benchmarks.workloads describe W3x --subscriptions 100000 --events 20
  python -m benchmarks.workloads describe W2 --set alpha=0 --set matching_probability=0.01
"""
)
def describe(
    name: Name,
    subscriptions: Subscriptions = 10_000,
    events: Events = 200,
    seed: Seed = 1,
    changes: Changes = None,
) -> None:
    """Measure a workload, beside what its parameters ask for and what its paper says.

    Matches are counted by evaluating expressions one by one, 2,000,000 times at most.
    """
    entry = _entry(name)
    workload = _chosen(name, seed, changes, subscriptions)
    texts: list[str] = []
    with _bar(subscriptions, "drawing") as bar:
        drawn = workload.subscriptions(subscriptions)
        while chunk := list(islice(drawn, SUBSCRIPTIONS_A_CHUNK)):
            texts += chunk
            bar.update(len(chunk))
    if sys.stderr.isatty():
        typer.echo("measuring ...", err=True)
    asked = workload.asked()
    facts = measured(texts, workload.events(events), _EVALUATIONS_MAX)
    typer.echo(f"{name}: {entry.paper}; {subscriptions:,} subscriptions, {events:,} events, seed {seed}")
    typer.echo(f"{'':32}{'measured':>12}{'asked':>12}{'paper':>12}")
    for fact in dict.fromkeys([*facts, *asked, *entry.published]):
        row = facts.get(fact), asked.get(fact), entry.published.get(fact)
        typer.echo(f"{fact:32}" + "".join(f"{_number(value):>12}" for value in row))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _entry(name: str) -> Entry:
    if name not in WORKLOADS:
        by_folded = {known.casefold(): known for known in WORKLOADS}
        near = get_close_matches(name.casefold(), by_folded, n=1)
        advice = f"did you mean {by_folded[near[0]]}?" if near else f"there are {', '.join(WORKLOADS)}"
        raise WorkloadError(f"there is no workload {name!r}; {advice}")
    return WORKLOADS[name]


def _chosen(name: str, seed: int, changes: Iterable[str] | None, subscriptions: int) -> Workload:
    workload = _entry(name).workload.sized(subscriptions)
    known = {field.name: getattr(workload, field.name) for field in fields(workload)}
    changed: dict[str, Any] = {"seed": seed}
    for change in changes or ():
        parameter, equals, text = change.partition("=")
        if not equals:
            raise WorkloadError(f"--set {change}: write it as parameter=value")
        if parameter not in known or parameter == "seed":
            listed = ", ".join(other for other in known if other != "seed")
            raise WorkloadError(f"--set {change}: {name} has no parameter {parameter!r}; there are {listed}")
        changed[parameter] = _value(change, text, known[parameter])
    return replace(workload, **changed)


def _value(change: str, text: str, now: object) -> Any:
    """The text as a value of the type that the parameter has now."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = text
    if isinstance(now, float) and type(value) is int:
        value = float(value)
    if isinstance(now, tuple) and isinstance(value, tuple) and not all(type(part) in {int, float} for part in value):
        value = text
    if type(value) is not type(now):
        raise WorkloadError(f"--set {change}: {text!r} is no {type(now).__name__}, as {now!r} is")
    return value


@contextmanager
def _file(path: Path) -> Iterator[IO[str]]:
    """Open for writing under another name, which becomes `path` when all is written."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_lines(path: Path, rows: Iterable[object]) -> None:
    with _file(path) as file:
        file.writelines(json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n" for row in rows)


def _bar(length: int, label: str) -> Any:
    """On a terminal only."""
    return typer.progressbar(length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty())
