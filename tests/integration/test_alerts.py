"""The alerts that are deployed fire where they should, and only there: what Prometheus itself says of them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

RULES = Path(__file__).parents[2] / "deploy" / "prometheus"
SECONDS = 60.0


def content(name: str) -> Any:
    return yaml.safe_load((RULES / name).read_text())


def alerts() -> dict[str, str]:
    """Their expressions by their names."""
    return {rule["alert"]: rule["expr"] for group in content("alerts.yml")["groups"] for rule in group["rules"]}


@pytest.mark.parametrize(
    "question", ["check config prometheus.yml", "check rules alerts.yml", "test rules alerts.test.yml"]
)
def test_promtool_has_nothing_against_them(question: str) -> None:
    """To build one takes Go minutes, so that only one that is there is asked."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("there is no promtool on PATH; deploy/README.md says where to get it")
    asked = subprocess.run(
        [program, *question.split()], cwd=RULES, check=False, capture_output=True, text=True, timeout=SECONDS
    )
    assert asked.returncode == 0, asked.stdout + asked.stderr


def test_each_has_a_case_in_which_it_fires() -> None:
    samples = [
        sample["labels"]
        for case in content("alerts.test.yml")["tests"]
        for asked in case["promql_expr_test"]
        for sample in asked["exp_samples"]
    ]
    assert {name for labels in samples for name in re.findall(r'alertname="(\w+)"', labels)} == alerts().keys()


def test_the_deployed_job_is_one_that_is_missed_when_it_is_down() -> None:
    """Nothing but its job tells whose a target is that does not answer."""
    (job,) = re.findall(r'up\{job=~"(.*?)"\}', alerts()["TamisTargetDown"])
    assert all(re.fullmatch(job, scraped["job_name"]) for scraped in content("prometheus.yml")["scrape_configs"])
