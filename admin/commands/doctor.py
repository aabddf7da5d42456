"""`tamis doctor`: what is wrong, or will be one day, and how to mend it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.exit_codes import ExitCode
from tamis.admin.options import Timeout
from tamis.admin.output import Column
from tamis.admin.session import session_of

if TYPE_CHECKING:
    from tamis.broker.doctor_findings import Symptom

app = single()

_COLUMNS = [
    Column("area"),
    Column("about"),
    Column("status", colours={"OK": "green", "WARN": "yellow", "FAIL": "red"}),
    Column("found"),
    Column("wanted", wide=True),
    Column("fix"),
]


@app.command(
    epilog="""\b
Examples:
  tamis doctor                     everything
  tamis doctor --problems          what is not OK
  tamis doctor -o json > doctor.json      for whoever helps; secrets are not in it
"""
)
def doctor(
    context: typer.Context,
    problems: Annotated[bool, typer.Option("--problems", help="Print only what is not OK.")] = False,
    timeout: Timeout = 10.0,
) -> ExitCode:
    """Look at the configuration, Kafka, topics, rights, groups, clocks, Redis, the schema registry and this machine.

    FAIL: a promise is broken or brokers cannot work. WARN: it works, and may fail one day. Exit code 1 if anything
    fails. It changes nothing; to learn whether transactions work it becomes a producer under a name of its own.
    """
    from tamis.broker.doctor import kafka_symptoms
    from tamis.broker.doctor_machine import (
        configuration_symptoms,
        machine_symptoms,
        redis_symptoms,
        registry_symptoms,
    )
    from tamis.broker.topic_checks import Status

    session = session_of(context)
    settings = session.settings
    found: list[Symptom] = []
    for symptoms in (
        configuration_symptoms(session.configuration),
        kafka_symptoms(settings, timeout),
        redis_symptoms(settings),
        registry_symptoms(settings),
        machine_symptoms(),
        _java(),
        _spark(is_wanted=settings.archive.path is not None),
    ):
        found += symptoms
    rows = [
        {
            "area": symptom.area,
            "about": symptom.about,
            "status": symptom.status.value,
            "found": symptom.found,
            "wanted": symptom.wanted,
            "fix": symptom.fix,
        }
        for symptom in found
        if not (problems and symptom.status is Status.OK)
    ]
    session.out.rows(rows, _COLUMNS)
    failed = sum(symptom.status is Status.FAIL for symptom in found)
    warned = sum(symptom.status is Status.WARN for symptom in found)
    session.say(f"{len(found)} looked at: {failed} failed, {warned} to look at.")
    return ExitCode.NO if failed else ExitCode.YES


def _java() -> "Iterator[Symptom]":
    from tamis.admin.errors import StackError
    from tamis.admin.local.java import OLDEST, find_java
    from tamis.broker.doctor_findings import Symptom
    from tamis.broker.topic_checks import Status

    wanted = f"{OLDEST} or newer, for tamis dev, demo, archive and replay"
    try:
        java = find_java()
    except StackError as error:
        what, _, fix = str(error).partition(" Install ")
        yield Symptom("machine", "Java", Status.WARN, what, wanted, f"Install {fix}" if fix else "")
    else:
        yield Symptom("machine", "Java", Status.OK, f"{java.version}, {java.command}", wanted)


def _spark(*, is_wanted: bool) -> "Iterator[Symptom]":
    """An extra, of which the parts must fit each other: a table's jars are those of one minor version of Spark."""
    from tamis.admin.spark import PACKAGES
    from tamis.broker.doctor_findings import Symptom
    from tamis.broker.topic_checks import Status

    wanted = "for tamis archive and replay"
    found = {name: _version(name) for name in PACKAGES}
    if missing := [name for name, version in found.items() if version is None]:
        status = Status.WARN if is_wanted else Status.OK
        fix = 'pip install "tamis[spark]"' if is_wanted else ""
        yield Symptom("machine", "Spark", status, f"{', '.join(missing)}: not installed", wanted, fix)
        return
    told = ", ".join(f"{name} {version}" for name, version in found.items())
    fits = _minor(found["pyspark"]) == _minor(found["delta-spark"])
    yield Symptom(
        *(
            "machine",
            "Spark",
            Status.OK if fits else Status.WARN,
            told,
            f"{wanted}: pyspark and delta-spark of one x.y",
        ),
        "" if fits else 'Let pip choose them: pip install "tamis[spark]"',
    )


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _minor(version: str | None) -> list[str]:
    return (version or "").split(".")[:2]
