"""How long the local stack takes from spawn to the first message read back, and what it weighs.

    python -m benchmarks.local_stack [--rounds N] [--download]

Each round is a process of its own, as a user's would be: the clock starts before the process does. `cold` has the jars
but no class-data archive; `--download` adds a round that has nothing at all, and so measures the network too.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tamis.admin.local.cache import cache_folder
from tamis.admin.local.jars import ensure_jars, kafka_version

_ROUND = """
import json, pathlib, resource, sys, time
spawned = float(sys.argv[1])
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.kafka import NewTopic, TopicPartition, admin_client, consumer, producer
stack = LocalStack(StackOptions(brokers=int(sys.argv[2])))
stack.start()
ready = time.time()
kafka = stack.settings.kafka
admin = admin_client(kafka)
admin.create_topics([NewTopic("first", 1)])["first"].result()
out = producer(kafka, transactional_id="first")
out.init_transactions(10)
out.begin_transaction()
out.produce("first", b"message")
out.commit_transaction(10)
reader = consumer(kafka, "first")
reader.assign([TopicPartition("first", 0, 0)])
message = reader.poll(10)
assert message is not None and message.value() == b"message"
consumed = time.time()
def resident(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))
kafka_mb = sum(resident(broker.pid) for broker in stack.brokers)
redis_mb = resident(stack._redis.pid)
reader.close()
stopping = time.time()
stack.stop()
print(json.dumps({
    "ready_s": ready - spawned,
    "consumed_s": consumed - spawned,
    "stop_s": time.time() - stopping,
    "kafka_mb": kafka_mb,
    "redis_mb": redis_mb,
}))
"""


def one_round(cache: Path, brokers: int = 1) -> dict[str, float]:
    """One life of a stack, with `cache` as the user's cache folder."""
    run = subprocess.run(
        [sys.executable, "-c", _ROUND, str(time.time()), str(brokers)],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(run.stdout)
    return result


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--download", action="store_true", help="measure a first start with nothing on disk, too")
    arguments = parser.parse_args()
    installed = cache_folder() / f"kafka-{kafka_version()}"
    ensure_jars(installed, print)
    rows: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        if arguments.download:
            rows["nothing on disk"] = [one_round(Path(folder) / "empty")]
        cache = Path(folder) / "cache"
        without_archive = shutil.ignore_patterns("classes*")
        shutil.copytree(installed, cache / "tamis" / installed.name, ignore=without_archive)
        rows["cold (jars, no archive)"] = [one_round(cache)]
        rows["warm"] = [one_round(cache) for _ in range(arguments.rounds)]
        rows["warm, 3 brokers"] = [one_round(cache, brokers=3) for _ in range(arguments.rounds)]
    columns = ["ready_s", "consumed_s", "stop_s", "kafka_mb", "redis_mb"]
    print(f"{'':24}" + "".join(f"{column:>12}" for column in columns) + f"{'best':>8}")
    for name, rounds in rows.items():
        medians = [statistics.median(one[column] for one in rounds) for column in columns]
        best = min(one["consumed_s"] for one in rounds)
        print(f"{name:24}" + "".join(f"{median:12.2f}" for median in medians) + f"{best:8.2f}")


if __name__ == "__main__":
    main()
