"""Engines beside the crate a-tree (a Rust implementation of A-Tree), on conjunctions of integers, in one run.

    python -m benchmarks.peers [--workload W1 ...] [--subscriptions N ...] [--engine NAME ...]

The crate is searched one event at a time, since it knows no batches; its events are made beforehand, as ours are.
Rounds take turns and the best of each counts; times are processor time. Answers are compared event by event.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.peers.a_tree import ATree, build
from benchmarks.report import Report
from benchmarks.trials import Trial
from benchmarks.workloads.registry import WORKLOADS
from benchmarks.workloads.workload import Event
from tamis.indexes import ENGINES, Expressions, parse_many

_WORKLOADS = ("W1", "W1e", "W2")
_SUBSCRIPTIONS = (10_000, 100_000)
_ROUNDS = 5
_EVENTS = 512
_LEARNED = 512
_SINGLE_EVENTS = 64  # that are asked one at a time: the crate takes milliseconds each
_BATCH = 512


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure engines beside the crate a-tree.")
    parser.add_argument("--workload", action="append", choices=_WORKLOADS)
    parser.add_argument("--subscriptions", action="append", type=int, help=f"default: {_SUBSCRIPTIONS}")
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    options = parser.parse_args()
    program = build()
    if program is None:
        print("Skipped: there is no cargo here to build the crate a-tree with.")
        return
    report = Report("peers")
    for name in options.workload or _WORKLOADS:
        for count in options.subscriptions or _SUBSCRIPTIONS:
            measure(report, program, name, count, options.engine or list(ENGINES))
            report.keep()  # the crate may take minutes to build the next one
    report.show()
    print(f"\nKept in {report.keep()}")


def measure(report: Report, program: Path, name: str, count: int, engines: list[str]) -> None:
    workload = WORKLOADS[name].workload.sized(count)
    texts = list(workload.subscriptions(count))
    events = workload.events(_EVENTS + _LEARNED)
    events, learned = events[:_EVENTS], events[_EVENTS:]
    began = time.process_time()
    expressions, errors = parse_many(texts)
    parse_seconds = time.process_time() - began
    assert not errors
    trials = [prepared(engine, expressions, events, learned) for engine in engines]
    with (
        tempfile.TemporaryDirectory() as folder,
        ATree(program, Path(folder), texts, events[:_SINGLE_EVENTS]) as a_tree,
    ):
        for _ in range(_ROUNDS):
            a_tree.match(_SINGLE_EVENTS)
            for trial in trials:
                trial.match(1)
                trial.match(_BATCH)
        wanted = a_tree.answers()
        table = f"{name}: {count:,} conjunctions, {sum(map(len, wanted)) / len(wanted):.0f} ids an event"
        report.row(
            table,
            engine="a-tree 0.6.1",
            us_one_at_a_time=a_tree.us_an_event,
            ratio="1",
            us_in_batches_of_512="",
            ratio_in_batches="",
            answers="",
            seconds_from_texts=a_tree.build_seconds,
            bytes_each=f"{a_tree.memory_bytes / count:.0f}",
        )
        for trial in trials:
            pairs = zip(trial.answers(_SINGLE_EVENTS), wanted, strict=True)
            same = sum(ours.tolist() == theirs.tolist() for ours, theirs in pairs)
            report.row(
                table,
                engine=trial.engine,
                us_one_at_a_time=trial.us_an_event[1],
                ratio=f"1 / {a_tree.us_an_event / trial.us_an_event[1]:.1f}",
                us_in_batches_of_512=trial.us_an_event[_BATCH],
                ratio_in_batches=f"1 / {a_tree.us_an_event / trial.us_an_event[_BATCH]:.1f}",
                answers=f"the same for {same} of {_SINGLE_EVENTS} events",
                seconds_from_texts=parse_seconds + trial.build_seconds,
                bytes_each=f"{sum(trial.index.memory_bytes().values()) / count:.0f}",
            )


def prepared(engine: str, expressions: Expressions, events: list[Event], learned: list[Event]) -> Trial:
    trial = Trial(engine, expressions)
    trial.build()
    trial.learn(learned)
    trial.meet(events[:_SINGLE_EVENTS])
    trial.meet(events, _BATCH)
    return trial


if __name__ == "__main__":
    main()
