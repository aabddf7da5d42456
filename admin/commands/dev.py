"""`tamis dev`: servers on this machine, until Ctrl-C."""

import signal
import time
from contextlib import suppress
from typing import Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.session import session_of

_WATCH_SECONDS = 0.5

app = single()


def _one_or_three(brokers: int) -> int:
    if brokers not in (1, 3):
        raise typer.BadParameter(f"a stack has 1 broker, or 3 with replication; {brokers} were asked for")
    return brokers


@app.command(
    epilog="""\b
Examples:
  tamis dev                                      one Kafka broker and a Redis, on free ports
  tamis dev --kafka-port 9092 --redis-port 6379  on the ports that clients expect
  tamis dev --brokers 3                          three brokers, topics replicated
  tamis dev -o json -q | jq .kafka               for scripts
"""
)
def dev(
    context: typer.Context,
    brokers: Annotated[int, typer.Option(help="Kafka brokers: 1, or 3 with replication.", callback=_one_or_three)] = 1,
    secured: Annotated[
        bool, typer.Option("--secured", help="Clients must log in (SCRAM), and ACLs say what they may do.")
    ] = False,
    kafka_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the first broker; default: a free one.")
    ] = None,
    redis_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of Redis; default: a free one.")
    ] = None,
) -> None:
    """Run a real Kafka and a real Redis on this machine until Ctrl-C.

    Needs Java 17 or newer, and neither Docker nor root. The first start fetches Kafka (46 MB) into the user's cache
    folder; later ones take 2 to 3 seconds. All data is removed at the end, also when this command is killed.
    """
    from tamis.admin.local import LocalStack, StackOptions

    session = session_of(context)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    options = StackOptions(brokers=brokers, secured=secured, kafka_port=kafka_port, redis_port=redis_port)
    with LocalStack(options, session.say) as stack, suppress(KeyboardInterrupt, BrokenPipeError):
        # Ctrl-C is how this command is meant to end; one whose reader has gone has nothing left to do either.
        kafka, redis = stack.settings.kafka, stack.settings.redis
        lines = {"kafka": kafka.bootstrap_servers, **kafka.extra, "redis": redis.url}
        width = max(map(len, lines))
        text = "\n".join(f"{name:{width}}  {value}" for name, value in lines.items())
        session.out.item(stack.settings.model_dump(mode="json"), text=text)
        session.say(f"Ready after {time.monotonic() - began:.1f} s. Ctrl-C stops it and removes its data.")
        while True:
            time.sleep(_WATCH_SECONDS)
            stack.require_running()
    session.say("Stopped; all data is removed.")
