"""docker-compose.yml stays in step with the local stack, and the Dockerfile with what the package is made of."""

import re
import tomllib
from pathlib import Path

import pytest

from tamis.admin.cli import COMMANDS
from tamis.admin.local.jars import kafka_version
from tamis.broker.settings_files import load

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES = dict(
    re.findall(
        r"^  (\w+):\n((?:    .*\n|\n)+)", COMPOSE.split("services:")[1].split("\nvolumes:")[0] + "\n", re.MULTILINE
    )
)
SERVERS = {"kafka", "redis"}
OURS = {"topics", "broker"}


def test_the_services_are_the_servers_and_ours() -> None:
    assert SERVICES.keys() == SERVERS | OURS


def test_it_runs_the_kafka_that_the_local_stack_runs() -> None:
    assert re.findall(r"image: apache/kafka:(\S+)", COMPOSE) == [kafka_version()]


def test_every_server_has_a_health_check_and_listens_on_loopback_only() -> None:
    assert all("healthcheck:" in SERVICES[name] for name in SERVERS)
    assert all(port.startswith("127.0.0.1:") for port in re.findall(r'- "([\d.:]+)"', COMPOSE))


def test_our_services_run_commands_that_there_are_in_one_image_that_is_built_here() -> None:
    for name in OURS:
        (command,) = re.findall(r"command: \[\"(\w+)\"", SERVICES[name])
        assert command in COMMANDS
        assert "    image: tamis\n" in SERVICES[name]
    assert [name for name in OURS if "    build: .\n" in SERVICES[name]] == ["topics"]
    assert "pull_policy: never" in SERVICES["broker"]
    assert "pull_policy: build" in SERVICES["topics"]


def test_our_services_are_told_where_the_servers_are_by_settings_that_there_are() -> None:
    assert "environment: &tamis" in SERVICES["topics"]
    assert "environment: *tamis" in SERVICES["broker"]
    environment = dict(re.findall(r"(TAMIS_\w+): (\S+)", SERVICES["topics"]))
    settings = load(environment=environment, folder=Path("/")).settings
    assert settings.kafka.bootstrap_servers == "kafka:19092"
    assert "INTERNAL://kafka:19092" in SERVICES["kafka"]
    assert settings.redis.url == "redis://redis:6379/0"


@pytest.mark.parametrize(
    ("service", "dependency", "condition"),
    [
        ("topics", "kafka", "service_healthy"),
        ("broker", "redis", "service_healthy"),
        ("broker", "topics", "service_completed_successfully"),
    ],
)
def test_a_service_starts_after_what_it_needs(service: str, dependency: str, condition: str) -> None:
    assert f"      {dependency}:\n        condition: {condition}\n" in SERVICES[service]


def test_a_broker_comes_back_and_is_given_time_to_end() -> None:
    assert "restart: unless-stopped" in SERVICES["broker"]
    assert "stop_grace_period: 30s" in SERVICES["broker"]
    assert "restart:" not in SERVICES["topics"]


def test_the_image_runs_tamis_as_nobody_in_particular() -> None:
    assert DOCKERFILE.rstrip().endswith('USER 10001\nWORKDIR /home/tamis\nENTRYPOINT ["tamis"]\nCMD ["--help"]')
    assert len(set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE))) == 1  # else /opt/tamis would have no Python


def test_the_image_installs_what_builds_the_package() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    (installed,) = re.findall(r"RUN pip install --constraint constraints.txt (.*)", DOCKERFILE)
    assert {re.split("[><=]", one)[0] for one in wanted} <= set(installed.split())


def test_all_that_the_package_is_built_from_reaches_the_image() -> None:
    let_in = {line[2:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!/")}
    layers = {path.name for path in (ROOT / "src" / "tamis").iterdir() if path.is_symlink()}
    assert let_in == layers | {"src", "CMakeLists.txt", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"}
    assert all((ROOT / name).exists() for name in let_in)
