"""Spark's session: the one place that says how Spark is run.

Jobs take a session and know nothing of a master or of packages. What starts one is the command, embedded in its own
process, or `spark-submit`, whose word on all of this counts: then nothing is set here but what belongs to the session.
"""

import importlib.metadata
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from tamis.broker.errors import BrokerError, UnreachableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Spark: TypeAlias = "SparkSession"
"""For layers that do not import PySpark."""
EMBEDDED = "local[*]"
_SCALA = "2.13"
_LOOPBACK = "127.0.0.1"
_STDOUT, _STDERR = 1, 2
_TOLD_LINES = 15
_DYING_SECONDS = 2.0
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which `spark-submit` tells a program that Spark's Java process is there already."""

_ANYWHERE = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}
_HERE = {
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.driver.host": _LOOPBACK,
    "spark.ui.enabled": "false",
    # How many tasks read a Delta table's log, and share what is sorted out: 50 and 200 are meant for clusters.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "16",
}


class SparkError(UnreachableError):
    """Spark does not start, or has ended."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs, and whatever else it is to be told under its own names."""

    master: str | None = None
    """By default embedded, with all of this machine's cores."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """May hold the keys of an object store."""
    is_verbose: bool = False
    """Whether what Spark and Java say on stderr is shown."""

    @property
    def is_local(self) -> bool:
        """Whether all of it is on this machine, in this process or beside it."""
        return (self.master or EMBEDDED).startswith("local")


def packages() -> list[str]:
    """Maven coordinates of what Spark needs besides itself, for the versions that are installed here."""
    spark = importlib.metadata.version("pyspark")
    delta = importlib.metadata.version("delta-spark")
    return [f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:{spark}", f"io.delta:delta-spark_{_SCALA}:{delta}"]


def settings(options: SparkOptions) -> dict[str, str]:
    """All that Spark is told, under its own names; what the user says wins, but packages are added to."""
    own = {
        "spark.master": options.master or EMBEDDED,
        "spark.jars.packages": ",".join(packages()),
        **_ANYWHERE,
        **(_HERE if options.is_local else {}),
    }
    told = own | dict(options.conf)
    for key in ("spark.jars.packages", "spark.sql.extensions"):
        if key in options.conf:
            told[key] = f"{own[key]},{options.conf[key]}"
    return told


@contextmanager
def spark_session(name: str, options: SparkOptions | None = None) -> Iterator["SparkSession"]:
    """A session for as long as the block lasts; one that is there already is used, and left as it is.

    SparkError if there can be none, with what Spark said about it.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    options = options or SparkOptions()
    _set_environment(options)
    if not options.is_verbose:
        _silence_py4j()
    with tempfile.TemporaryFile() as said:
        session = _started(name, options, None if options.is_verbose else said)
        try:
            yield session
        except Exception as error:
            if not _has_ended(error):
                raise
            raise SparkError(
                f"Spark's Java process has ended in the midst of it: {_last_lines(said) or error}\nIf it was short of "
                "memory, give it more: --conf spark.driver.memory=4g"
            ) from error
        finally:
            with suppress(Exception):  # Java may have ended before: then there is nothing left to stop
                session.stop()


def _has_ended(error: Exception) -> bool:
    """Whether Spark's Java process has; what fails for that fails in many ways, some before it is quite gone."""
    if isinstance(error, BrokerError) and error.__cause__ is None:
        return False  # nothing that Spark said
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - nothing public tells
    if process is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DYING_SECONDS)
    return process.returncode is not None


def _silence_py4j() -> None:
    """It tells of each call, and of each error that whoever called is told of anyway."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    root = logging.getLogger()  # some of that it logs as nobody's
    if not any(isinstance(each, _NotOfPy4J) for each in root.filters):
        root.addFilter(_NotOfPy4J())


class _NotOfPy4J(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return f"{os.sep}py4j{os.sep}" not in record.pathname


def _started(name: str, options: SparkOptions, said: IO[bytes] | None) -> "SparkSession":
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    told = _ANYWHERE | dict(options.conf) if _SUBMITTED in os.environ else settings(options)
    for key, value in told.items():
        builder = builder.config(key, value)
    try:
        with _output_into(said):
            return _got(builder)
    except (PySparkException, Py4JError, OSError) as error:
        reason = _last_lines(said) or str(error)
        raise SparkError(
            f"Spark did not start: {reason}\nIts packages are {', '.join(packages())}: at the first start they are "
            "fetched by Ivy from Maven's central repository, or from mirrors: --conf spark.jars.ivySettings=FILE. "
            "--debug shows all that Spark says."
        ) from error


def _got(builder: "SparkSession.Builder") -> "SparkSession":
    """In a thread of its own: in the main one PySpark would answer Ctrl-C by a call of Java in the midst of another."""
    got: list[SparkSession] = []
    failed: list[BaseException] = []

    def get() -> None:
        try:
            got.append(builder.getOrCreate())
        except BaseException as error:  # noqa: BLE001 - it is raised below
            failed.append(error)

    # A daemon, for Ctrl-C not to wait until it is there; Java ends with this process.
    thread = threading.Thread(target=get, name="spark-start", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    [session] = got
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has nothing public for it
    jvm.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001 - it is active by thread
    return session


def _set_environment(options: SparkOptions) -> None:
    """What Spark reads from nowhere else: which Python its workers are, and which address is this machine's."""
    os.environ.setdefault("PYSPARK_PYTHON", options.conf.get("spark.pyspark.python", sys.executable))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if options.is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)


@contextmanager
def _output_into(file: IO[bytes] | None) -> Iterator[None]:
    """What is started within writes its stdout and stderr into that file, for all its life; without one, to stderr.

    Spark's Java process begins before it knows how much it is to log, and Ivy prints tables whatever it is told. Delta
    prints, too, to stdout, where nobody but the command has anything to say.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    own = {number: os.dup(number) for number in (_STDOUT, _STDERR)}
    for number in own:
        os.dup2(_STDERR if file is None else file.fileno(), number)
    try:
        yield
    finally:
        sys.stderr.flush()
        for number, before in own.items():
            os.dup2(before, number)
            os.close(before)


def _last_lines(file: IO[bytes] | None) -> str:
    if file is None:
        return ""
    file.seek(0)
    lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "::"))]
    return "\n".join(told[-_TOLD_LINES:])
