"""What commands that run on Spark have in common: their options, and the session that comes of them."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.errors import UsageError
from tamis.admin.session import Session

if TYPE_CHECKING:
    from tamis.spark_sink.session import Spark, SparkOptions

Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Of a Spark cluster; default: embedded, on all cores.")
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's own; repeatable.")
]

PACKAGES = {"pyspark": "pyspark", "delta-spark": "delta", "pyarrow": "pyarrow", "pandas": "pandas"}
"""Of the extra: as pip calls them, and as Python does."""


def spark_options(session: Session, master: str | None, conf: list[str] | None) -> "SparkOptions":
    """UsageError if they are none, or Spark is not installed."""
    missing = [name for name, module in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise UsageError(f'{missing[0]} is not installed. Spark is an extra: pip install "tamis[spark]"')
    from tamis.spark_sink.session import SparkOptions

    given: dict[str, str] = {}
    for each in conf or ():
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise UsageError(f"--conf {each} is not KEY=VALUE, as in --conf spark.driver.memory=4g.")
        given[key] = value
    return SparkOptions(master, given, is_verbose=session.options.debug)


@contextmanager
def spark(session: Session, name: str, master: str | None = None, conf: list[str] | None = None) -> Iterator["Spark"]:
    """A Spark session for as long as the block lasts. StackError if there is no Java for it."""
    options = spark_options(session, master, conf)
    from tamis.admin.local.java import find_java
    from tamis.spark_sink.session import spark_session

    find_java()
    if sys.stderr.isatty():
        session.say("Starting Spark ...")
    with spark_session(name, options) as started:
        yield started
