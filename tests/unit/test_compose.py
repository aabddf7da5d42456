"""docker-compose.yml stays in step with the local stack."""

import re
from pathlib import Path

from tamis.admin.local.jars import kafka_version

COMPOSE = (Path(__file__).parents[2] / "docker-compose.yml").read_text()


def test_it_runs_the_kafka_that_the_local_stack_runs() -> None:
    assert re.findall(r"image: apache/kafka:(\S+)", COMPOSE) == [kafka_version()]


def test_every_service_has_a_health_check_and_listens_on_loopback_only() -> None:
    services = re.findall(r"^  \w+:$", COMPOSE.split("services:")[1].split("\nvolumes:")[0], re.MULTILINE)
    assert len(services) == COMPOSE.count("healthcheck:") == 2
    assert all(port.startswith("127.0.0.1:") for port in re.findall(r'- "([\d.:]+)"', COMPOSE))
