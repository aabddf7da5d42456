"""What an archiver counts, and what it answers when asked by HTTP; `docs/metrics.md` tells users.

It is the archiver and Spark's listener that tell, from two threads, and each writes what is its own.
"""

import time
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import version

from tamis.broker.health import Check
from tamis.broker.metrics_families import system_families
from tamis.broker.metrics_server import is_verbose, metrics_page, other_page, verdict_page
from tamis.broker.metrics_text import Family, Histogram, Kind, Labels

_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_LOOK_SECONDS = 300.0
"""Spark tells of each batch, and of waiting for one every few seconds."""


class ArchiveMeters:
    """Of one archiver, from its start to its end."""

    def __init__(self) -> None:
        self.records = 0
        self.batches = 0
        self.batch_seconds = Histogram(_SECONDS)
        self.lag: int | None = None
        """Of all partitions together; None as long as nobody knows."""
        self.committed_at: float | None = None
        """The newest batch, in seconds since 1970."""
        self.looked_at = 0.0
        """When Spark last told how far it is, by this machine's monotonic clock."""
        self.lost = 0
        """Offsets that Kafka had no more, and that were accepted as lost."""
        self.failures = 0
        self.failure = "starting"
        """Why nothing is read just now; empty if something is."""

    def reads(self) -> None:
        """A stream begins."""
        self.looked_at = time.monotonic()
        self.failure = ""

    def looked(self, lag: int | None) -> None:
        """Spark has asked Kafka what there is, and knows how much of it is to be read yet."""
        self.looked_at = time.monotonic()
        if lag is not None:
            self.lag = lag

    def committed(self, records: int, seconds: float) -> None:
        """A batch is in the archive."""
        self.records += records
        self.batches += 1
        self.batch_seconds.observe(seconds)
        self.committed_at = time.time()

    def failed(self, why: str) -> None:
        """Nothing is read until the next stream begins."""
        self.failures += 1
        self.failure = why


class ArchivePages:
    """`/metrics`, `/livez`, `/readyz`."""

    def __init__(self, meters: ArchiveMeters) -> None:
        self._meters = meters

    def page(self, path: str, query: str) -> tuple[HTTPStatus, str, str]:
        """It is alive for as long as it answers: what Spark fails at ends it, and Kafka's absence is Kafka's."""
        verbose = is_verbose(query)
        match path:
            case "/metrics":
                return metrics_page(archive_families(self._meters))
            case "/livez":
                return verdict_page([Check("process", is_good=True, told="it answers")], verbose=verbose)
            case "/readyz":
                return verdict_page([_readiness(self._meters)], verbose=verbose)
        return other_page(path)


def _readiness(meters: ArchiveMeters) -> Check:
    if meters.failure:
        return Check("stream", is_good=False, told=meters.failure)
    age = time.monotonic() - meters.looked_at
    return Check("stream", is_good=age < _LOOK_SECONDS, told=f"Spark told {age:.1f} s ago how far it is")


def archive_families(meters: ArchiveMeters) -> Iterator[Family]:
    """All of them; a name may have no samples yet."""
    yield Family("tamis_build_info", Kind.GAUGE, "Which Tamis this is; always 1.", [({"version": version("tamis")}, 1)])
    yield Family.single("tamis_ready", Kind.GAUGE, "Whether it answers yes on /readyz.", _readiness(meters).is_good)
    yield Family.single("tamis_archive_records_total", Kind.COUNTER, "Records in commits.", meters.records)
    yield Family.single("tamis_archive_batches_total", Kind.COUNTER, "Commits with records.", meters.batches)
    yield Family(
        "tamis_archive_batch_duration_seconds",
        Kind.HISTOGRAM,
        "To plan, read, write and commit a batch.",
        histogram=meters.batch_seconds,
    )
    lag = _known(meters.lag)
    yield Family("tamis_archive_lag_offsets", Kind.GAUGE, "Offsets that are not archived yet.", lag)
    committed = _known(meters.committed_at)
    yield Family("tamis_archive_committed_timestamp_seconds", Kind.GAUGE, "The newest commit, since 1970.", committed)
    yield Family.single(
        "tamis_archive_lost_offsets_total", Kind.COUNTER, "Gone before they were archived, and noted so.", meters.lost
    )
    yield Family.single(
        "tamis_archive_failures_total", Kind.COUNTER, "How often a stream ended since Kafka was away.", meters.failures
    )
    yield from system_families()


def _known(value: float | None) -> list[tuple[Labels, float]]:
    return [] if value is None else [({}, value)]
