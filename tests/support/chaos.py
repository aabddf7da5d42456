"""Break a Tamis under load, again and again, and see whether it keeps its promises.

    make chaos ARGS="--runs 20 --seconds 300 --kafka-brokers 3 --rate 1000"
    make chaos ARGS="--mode rolling"
    make chaos ARGS="--mode soak --seconds 3600"
    make chaos ARGS=--report

Each run has a Kafka of its own, and adds a line to a file. What is there already is not tried again.
"""

import argparse
import contextlib
import logging
import shutil
import sys
import time
from pathlib import Path

from chaos_results import CHAOS, CLEAN, MODES, ROLLING, Result, Trial, append, has, read, table
from chaos_run import tried
from kafka_proxy import proxied
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions

_ROLLING_RATE = 100.0
_INDEXES = shutil.ignore_patterns("*.index", "*.timeindex")
"""Of Kafka's logs, which takes them for as large as they may become; whoever reads a log does without."""


def main() -> int:
    arguments = _arguments()
    results = read(arguments.results)
    if arguments.report:
        print(table(results))
        return 0
    trials = [_trial(arguments, arguments.seed + number) for number in range(arguments.runs)]
    left = [trial for trial in trials if not has(results, trial)]
    if len(left) < len(trials):
        print(f"{len(trials) - len(left)} of {len(trials)} runs are in {arguments.results} already")
    failed = 0
    for number, trial in enumerate(left, 1):
        title = f"run {number} of {len(left)}, seed {trial.seed}"
        result = _run(trial, arguments.results.parent / "chaos", title, keeps=arguments.keep)
        append(arguments.results, result)
        failed += result.verdict != CLEAN
        where = f"; logs in {result.logs}" if result.logs else ""
        print(f"{title}: {result.verdict}: {result.events:,} events, {result.expected:,} expected{where}", flush=True)
    if left:
        print(table(read(arguments.results)[-len(left) :]))
    return int(failed > 0)


def _run(trial: Trial, folder: Path, title: str, *, keeps: bool) -> Result:
    place = folder / f"{trial.mode}-{trial.kafka_brokers}-{trial.seed}-{time.strftime('%Y%m%d-%H%M%S')}"
    place.mkdir(parents=True)
    logging.basicConfig(filename=place / "clients.log", level=logging.INFO, force=True)

    def tell(text: str) -> None:
        print(f"{title}: {text}", flush=True)

    blocks = contextlib.ExitStack()
    proxy, options = None, StackOptions(brokers=trial.kafka_brokers, properties=KILLED_KAFKAS)
    if trial.kafka_brokers == 1 and trial.mode != ROLLING:  # each of several would need one
        proxy, options = blocks.enter_context(proxied(options))
    stack = LocalStack(options)
    is_kept = False
    try:
        stack.start()
        try:
            result = tried(stack, trial, place, tell, proxy)
        except Exception as error:  # noqa: BLE001 - one that cannot be brought to its end is a finding, and others follow
            result = Result.of(trial)
            result.trouble = f"broken off: {type(error).__name__}: {error}"
            result.judge()
        is_kept = keeps or bool(result.findings)
        if is_kept:
            result.logs = str(place)
        if result.lost:
            for broker in stack.brokers:
                shutil.copytree(broker.data, place / "data" / broker.node.name, ignore=_INDEXES)
        return result
    finally:
        logs = stack.stop(keep_logs=is_kept)
        if logs is not None and logs.exists():
            shutil.move(logs, place / "kafka")
            shutil.rmtree(logs.parent, ignore_errors=True)
        blocks.close()
        if not is_kept:
            shutil.rmtree(place)


def _trial(arguments: argparse.Namespace, seed: int) -> Trial:
    is_rolling = arguments.mode == ROLLING
    rate = arguments.rate or (_ROLLING_RATE if is_rolling else Trial.rate)
    return Trial(
        arguments.mode,
        seed,
        0.0 if is_rolling else arguments.seconds,
        arguments.kafka_brokers,
        rate,
        arguments.processes,
        arguments.shards,
        arguments.rounds if is_rolling else 0,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make chaos", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=CHAOS,
        help="rolling: only restarts in order, and how long they are felt\n"
        "soak: less often, for long, and a process of each shard is never killed: whether its memory grows",
    )
    parser.add_argument("--runs", type=int, default=1, help="with one seed after the other")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--seconds", type=float, default=Trial.seconds, help="of disturbance, for each run")
    parser.add_argument(
        "--kafka-brokers", type=int, choices=(1, 3), default=1, help="3: with replication, and leaders that die"
    )
    parser.add_argument("--rate", type=float, default=0.0, help="events a second; 400, or 100 in the mode rolling")
    parser.add_argument("--processes", type=int, default=Trial.processes, help="of all shards together")
    parser.add_argument("--shards", type=int, default=Trial.shards)
    parser.add_argument("--rounds", type=int, default=Trial.rounds, help="of restarts, in the mode rolling")
    parser.add_argument("--results", type=Path, default=Path("build/chaos.ndjson"), help="the file")
    parser.add_argument("--keep", action="store_true", help="keep the logs of clean runs, too")
    parser.add_argument("--report", action="store_true", help="only print what is in the file, as a table")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
