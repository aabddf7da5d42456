"""The line by which a cluster's own `spark-submit` runs a command: what the embedded Spark is told here, told there."""

import shlex
import sys
from collections.abc import Sequence

from tamis.spark_sink.session import SparkOptions, packages

ENVIRONMENT = "tamis-env.tar.gz"
"""An archive of a Python environment that has Tamis with all of its compiled modules, as venv-pack makes it."""
_EXTENSION = "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
_MASTER = "yarn"


def submit_line(options: SparkOptions, program: str, arguments: Sequence[str]) -> str:
    """In the client's own mode: the driver is here, with this Python; executors unpack the environment."""
    master = options.master or _MASTER
    words = ["spark-submit", "--master", master, "--packages", ",".join(packages())]
    confs = [_EXTENSION, _CATALOG, *(f"{key}={value}" for key, value in options.conf.items())]
    if not master.startswith("local") or master.startswith("local-cluster"):
        # The first of the two would move the driver's Python along.
        confs += ["spark.pyspark.python=./env/bin/python", f"spark.pyspark.driver.python={sys.executable}"]
        words += ["--archives", f"{ENVIRONMENT}#env"]
    for conf in confs:
        words += ["--conf", conf]
    return shlex.join([*words, program, *arguments])
