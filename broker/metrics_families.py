"""Which metrics there are: their names, what they mean, and where their numbers are. `docs/metrics.md` tells users."""

import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from tamis.broker.event_source import Place
from tamis.broker.memory import resident_bytes
from tamis.broker.metrics import Meters, Reasons
from tamis.broker.metrics_text import Family, Histogram, Kind, Labels

_STARTED_AT = time.time()


def families(meters: Meters, ends: Mapping[Place, int], *, is_ready: bool, scrape_errors: int) -> Iterator[Family]:
    """All of them; a name may have no samples yet. `ends` are those of all event partitions, as far as known."""
    yield from _process(meters, is_ready=is_ready, scrape_errors=scrape_errors)
    yield from _events(meters)
    yield from _transactions(meters)
    yield from _subscriptions(meters)
    yield from _partitions(meters, ends)
    yield from system_families()


def _process(meters: Meters, *, is_ready: bool, scrape_errors: int) -> Iterator[Family]:
    about = {"version": version("tamis"), "engine": meters.engine}
    yield Family("tamis_build_info", Kind.GAUGE, "Which Tamis this is; always 1.", [(about, 1)])
    yield _gauge("tamis_ready", "Whether it answers yes on /readyz.", is_ready)
    yield _gauge(
        "tamis_loop_age_seconds", "Since the loop turned or said that it waits.", time.monotonic() - meters.turned_at
    )
    yield _counter("tamis_memberships_total", "How often it joined its group, with new clients.", meters.memberships)
    yield _counter("tamis_scrape_errors_total", "How often Kafka did not tell where partitions end.", scrape_errors)


def _events(meters: Meters) -> Iterator[Family]:
    yield _by("tamis_events_consumed_total", "Messages that are done: matched or rejected.", "topic", meters.events)
    yield _by("tamis_events_rejected_total", "Messages that could not be understood.", "reason", meters.rejected)
    yield _counter("tamis_events_unmatched_total", "Events that no subscription matched.", meters.unmatched)
    yield _counter("tamis_matches_total", "Subscriptions that matched, over all events.", meters.matches)
    yield _counter(
        "tamis_match_candidates_total", "Subscriptions that the engine looked at, over all events.", meters.candidates
    )
    yield _counter("tamis_notifications_sent_total", "Notifications in committed transactions.", meters.notifications)
    yield _by(
        "tamis_notifications_undelivered_total",
        "Notifications that their topic could not take.",
        "reason",
        meters.undelivered,
    )
    yield _gauge("tamis_subscribers_suspended", "Subscribers to whom nothing is sent just now.", meters.suspended)


def _transactions(meters: Meters) -> Iterator[Family]:
    yield _counter("tamis_transactions_committed_total", "Transactions with events.", meters.transactions)
    yield _by("tamis_transactions_aborted_total", "Transactions whose events come again.", "reason", meters.aborted)
    yield _histogram("tamis_batch_events", "Messages that are done at once.", meters.batch_events)
    yield _histogram(
        "tamis_barrier_duration_seconds", "To apply all acknowledged subscriptions.", meters.barrier_seconds
    )
    yield _histogram("tamis_match_duration_seconds", "To decode and match a batch.", meters.match_seconds)
    yield _histogram("tamis_transaction_duration_seconds", "To send and commit a batch.", meters.transaction_seconds)
    yield _histogram(
        "tamis_delivery_duration_seconds",
        "From a message's Kafka timestamp to the commit that has it.",
        meters.delivery_seconds,
    )


def _subscriptions(meters: Meters) -> Iterator[Family]:
    shard: Labels = {"shard": meters.shard}
    yield Family("tamis_subscriptions", Kind.GAUGE, "Subscriptions in force.", [(shard, meters.subscriptions)])
    yield _counter("tamis_subscription_records_total", "Records that were applied.", meters.subscription_records)
    yield _by(
        "tamis_subscriptions_invalid_total",
        "Records that are no subscription.",
        "reason",
        meters.invalid_subscriptions,
    )
    yield _histogram(
        "tamis_subscription_apply_duration_seconds", "To apply records that came at once.", meters.apply_seconds
    )
    yield Family(
        "tamis_index_bytes",
        Kind.GAUGE,
        "Memory of what is in force.",
        [({"structure": name}, size) for name, size in meters.index_bytes.items()],
    )
    made_at = meters.snapshot_at
    yield Family(
        "tamis_snapshot_age_seconds",
        Kind.GAUGE,
        "Since the newest snapshot was made.",
        [] if made_at is None else [({}, time.time() - made_at)],
    )
    yield _counter("tamis_snapshot_failures_total", "Times that no snapshot could be kept.", meters.snapshot_failures)
    yield _histogram("tamis_snapshot_duration_seconds", "To save or load a snapshot.", meters.snapshot_seconds)
    yield _histogram(
        "tamis_snapshot_freeze_duration_seconds", "For which matching waits when one begins.", meters.freeze_seconds
    )


def _partitions(meters: Meters, ends: Mapping[Place, int]) -> Iterator[Family]:
    shard: Labels = {"shard": meters.shard}
    owned, drained, shards = dict(meters.positions), meters.drained, meters.shards
    yield Family("tamis_shards", Kind.GAUGE, "Shards of its layout.", [] if shards is None else [({}, shards)])
    yield Family("tamis_partitions_owned", Kind.GAUGE, "Event partitions of this process.", [(shard, len(owned))])
    yield Family(
        "tamis_partitions", Kind.GAUGE, "Event partitions that there are.", [(shard, len(ends))] if ends else []
    )
    yield Family(
        "tamis_consumer_position",
        Kind.GAUGE,
        "The offset that is committed, of a partition that it owns.",
        [(_place(place), position) for place, position in sorted(owned.items())],
    )
    yield Family(
        "tamis_consumer_lag_records",
        Kind.GAUGE,
        "From there to the partition's end, without markers that it has passed.",
        [
            (_place(place), max(0, ends[place] - max(position, drained.get(place, 0))))
            for place, position in sorted(owned.items())
            if place in ends
        ],
    )


def system_families() -> Iterator[Family]:
    """Under the names that every exporter has for them."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    yield _counter("process_cpu_seconds_total", "Processor time, user's and system's.", usage.ru_utime + usage.ru_stime)
    yield _gauge("process_start_time_seconds", "When it started, since 1970.", _STARTED_AT)
    yield _gauge("process_resident_memory_bytes", "Memory in use.", resident_bytes())
    descriptors = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
    yield _gauge("process_open_fds", "Open files and connections.", len(os.listdir(descriptors)))  # noqa: PTH208
    yield _gauge("process_max_fds", "How many may be open.", resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _counter(name: str, help: str, value: float) -> Family:
    return Family.single(name, Kind.COUNTER, help, value)


def _gauge(name: str, help: str, value: float) -> Family:
    return Family.single(name, Kind.GAUGE, help, value)


def _histogram(name: str, help: str, histogram: Histogram) -> Family:
    return Family(name, Kind.HISTOGRAM, help, histogram=histogram)


def _by(name: str, help: str, label: str, counts: Mapping[str, int] | Reasons) -> Family:
    return Family(name, Kind.COUNTER, help, [({label: key}, count) for key, count in sorted(dict(counts).items())])


def _place(place: Place) -> Labels:
    topic, partition = place
    return {"topic": topic, "partition": partition}
