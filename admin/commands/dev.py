"""`tamis dev`: a whole Tamis on this machine, until Ctrl-C."""

import shlex
import signal
import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.session import Session, session_of

if TYPE_CHECKING:
    from tamis.admin.local import LocalStack, TamisBroker
    from tamis.broker.configuration import Settings

_WATCH_SECONDS = 0.5

app = single()


def _one_or_three(brokers: int) -> int:
    if brokers not in (1, 3):
        raise typer.BadParameter(f"a stack has 1 broker, or 3 with replication; {brokers} were asked for")
    return brokers


@app.command(
    epilog="""\b
Examples:
  tamis dev                                      Kafka, Redis, topics and a broker, on free ports
  tamis dev --kafka-port 9092 --redis-port 6379  on the ports that clients expect: nothing to set for them
  tamis dev --brokers 3                          three Kafka brokers, topics replicated
  tamis dev --no-broker                          Kafka and Redis only, and nothing in them
  tamis dev -o json -q | jq .kafka               for scripts
"""
)
def dev(
    context: typer.Context,
    brokers: Annotated[
        int, typer.Option(help="Brokers of Kafka: 1, or 3 with replication.", callback=_one_or_three)
    ] = 1,
    secured: Annotated[
        bool, typer.Option("--secured", help="Clients must log in (SCRAM), and ACLs say what they may do.")
    ] = False,
    kafka_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of Kafka's first broker; default: a free one.")
    ] = None,
    redis_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of Redis; default: a free one.")
    ] = None,
    no_broker: Annotated[
        bool, typer.Option("--no-broker", help="The servers only: no topics, and no Tamis that matches.")
    ] = False,
) -> None:
    """Run a whole Tamis on this machine until Ctrl-C: a real Kafka, a real Redis, the topics, and a broker.

    Needs Java 17 or newer, and neither Docker nor root. The first start fetches Kafka (46 MB) into the user's cache
    folder; later ones take some seconds. All data is removed at the end, also when this command is killed. What you
    have configured counts, but for where Kafka and Redis are.
    """
    from tamis.admin.local import LocalStack, StackOptions, TamisBroker

    session = session_of(context)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    options = StackOptions(brokers=brokers, secured=secured, kafka_port=kafka_port, redis_port=redis_port)
    wanted = None if no_broker else session.settings
    with LocalStack(options, session.say) as stack, ExitStack() as ends:
        broker, settings = None, stack.settings
        if wanted is not None:
            settings = wanted.model_copy(update={"kafka": settings.kafka, "redis": settings.redis})
            session.say("Making the topics, and starting a broker ...")
            broker = ends.enter_context(closing(TamisBroker(stack, settings)))
            broker.start()
            broker.wait_until_ready()
        with suppress(KeyboardInterrupt, BrokenPipeError):
            # Ctrl-C is how this command is meant to end; one whose reader has gone has nothing left to do either.
            _show(session, stack, settings)
            ready = f"Ready after {time.monotonic() - began:.1f} s."
            end = "Ctrl-C stops it and removes its data."
            session.say(f"{ready} {end}" if broker is None else f"{ready} {_advice(broker, settings)}\n\n{end}")
            while True:
                time.sleep(_WATCH_SECONDS)
                stack.require_running()
                if broker is not None:
                    broker.require_running()
    session.say("Stopped; all data is removed.")


def _show(session: Session, stack: "LocalStack", settings: "Settings") -> None:
    kafka, redis = stack.settings.kafka, stack.settings.redis
    lines = {"kafka": kafka.bootstrap_servers, **kafka.extra, "redis": redis.url}
    width = max(map(len, lines))
    text = "\n".join(f"{name:{width}}  {value}" for name, value in lines.items())
    session.out.item(settings.model_dump(mode="json"), text=text)


def _advice(broker: "TamisBroker", settings: "Settings") -> str:
    """Lines to paste. An address says it all where nobody has to log in."""
    return f"""In other shells:

  {_export(broker, settings)}
  tamis subscribe ann 'price < 500 and region in ("eu", "uk")'
  tamis tail ann
  tamis publish --attr price=450 --attr region=eu"""


def _export(broker: "TamisBroker", settings: "Settings") -> str:
    if settings.kafka.extra:
        return f"export TAMIS_CONFIG={shlex.quote(str(broker.configuration))}"
    return f"export TAMIS_KAFKA__BOOTSTRAP_SERVERS={settings.kafka.bootstrap_servers}"
