"""The running service: what reaches Kafka and Redis.

`configuration` says where they are; `kafka` and `redis` are the only modules that import their client libraries. This
layer may use `indexes` and `codecs`; it knows nothing of the command line or of Spark.
"""
