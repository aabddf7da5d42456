"""Logging of a service: a line of JSON on stderr for each record; on a terminal, a line to read.

Modules log by the standard library, so that whoever imports them decides; this is what `tamis broker` decides.
"""

import logging
import os
import sys
from typing import TextIO

import structlog

LEVELS = ("debug", "info", "warning", "error")


def configure_logging(level: str = "info", target: TextIO = sys.stderr) -> None:
    """Send all records from a level on to a stream."""
    shared: list[structlog.types.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.types.Processor
    if target.isatty():
        # Its own tracebacks show what variables hold, passwords among them.
        last = structlog.dev.ConsoleRenderer(
            colors=not os.environ.get("NO_COLOR"), exception_formatter=structlog.dev.plain_traceback
        )
    else:
        shared.append(structlog.processors.format_exc_info)
        last = structlog.processors.JSONRenderer(ensure_ascii=False)
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
