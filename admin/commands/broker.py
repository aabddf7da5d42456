"""`tamis broker`: the service."""

from typing import Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.options import Metrics
from tamis.admin.session import session_of
from tamis.admin.signals import stopped_by_signals

app = single()


@app.command(
    epilog="""\b
Examples:
  tamis broker                              a process of shard 0; start as many as you like
  tamis broker --shard 1                    of another shard, where the layout has several
  tamis broker --slot eu-3                  under a name of its own, where host names change
  tamis broker --metrics 127.0.0.1:9464     with metrics for Prometheus, and its health
  tamis --bootstrap-server kafka:9092 broker 2> broker.log
"""
)
def broker(
    context: typer.Context,
    shard: Annotated[
        int, typer.Option(min=0, metavar="I", help="Which part of the subscriptions it serves, from 0.")
    ] = 0,
    slot: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its name among the processes of its shard; default: by host and lock file."),
    ] = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help="The index; default: the configured one.")] = None,
    metrics: Metrics = None,
    log_level: Annotated[str, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = "info",
) -> None:
    """Match events against subscriptions, and deliver what matches, until SIGTERM or Ctrl-C.

    Any number of processes share the events of a shard. One that is told to stop finishes what it has begun, commits,
    and leaves; a second signal ends it at once, and loses nothing either. It logs to stderr.
    """
    from tamis.broker.configuration import MetricsSettings
    from tamis.broker.errors import InvalidError
    from tamis.broker.logs import LEVELS, configure_logging
    from tamis.broker.service import serve
    from tamis.indexes import ENGINES

    settings = session_of(context).settings
    if engine is not None:
        settings = settings.model_copy(update={"broker": settings.broker.model_copy(update={"engine": engine})})
    if metrics is not None:
        settings = settings.model_copy(update={"metrics": MetricsSettings.at(metrics, "flag --metrics")})
    if settings.broker.engine not in ENGINES:
        raise InvalidError(f"There is no engine {settings.broker.engine!r}; there are {', '.join(sorted(ENGINES))}.")
    if log_level.lower() not in LEVELS:
        raise InvalidError(f"There is no log level {log_level!r}; there are {', '.join(LEVELS)}.")
    configure_logging(log_level)
    with stopped_by_signals() as stop:
        serve(settings, shard, slot, stop.is_set)
