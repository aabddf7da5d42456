"""Archive and replay on Spark: the only layer that imports PySpark.

It may use `indexes`, `codecs` and `broker`; the command line calls it, never the reverse.
"""
