"""How hard hypothesis tries. And the engines, each of which keeps one contract."""

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tamis.indexes.engines import ENGINES
from variants import EagerPairs
from workloads import SCALE

if TYPE_CHECKING:
    from tamis.admin.local.ports import Ports

ENGINES[EagerPairs.name] = EagerPairs
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As for what a shell starts in the background: then processes that are to be interrupted would not be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
hypothesis.settings.register_profile(
    "scaled", max_examples=max(5, round(50 * SCALE)), deadline=None, print_blob=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("scaled")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine's name: a test that takes it is part of the contract."""
    name: str = request.param
    return name


@pytest.fixture(params=list(ENGINES))
def other_engine(request: pytest.FixtureRequest) -> str:
    """Each engine's name once more, for what one engine hands to another."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def ports() -> Iterator["Ports"]:
    """Free ones, for what listens."""
    from tamis.admin.local.ports import Ports  # sanitized builds are tested without what this needs

    found = Ports()
    yield found
    found.release()
