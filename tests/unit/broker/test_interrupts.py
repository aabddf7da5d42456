"""Ctrl-C waits for the end of a block, and not for ever."""

import signal
import threading
from collections.abc import Iterator

import pytest

from tamis.broker.interrupts import interrupts_deferred


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    """As in a process that was not started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(times: int, steps: list[int], error: Exception | None = None) -> None:
    with interrupts_deferred():
        for step in range(times):
            signal.raise_signal(signal.SIGINT)
            steps.append(step)
        if error is not None:
            raise error


def test_an_interrupt_comes_at_the_end() -> None:
    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(1, steps)
    assert steps == [0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_comes_at_once() -> None:
    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(2, steps)
    assert steps == [0], "the second one was not deferred"


def test_it_comes_though_the_block_fails() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted(1, [], OSError("why"))
    assert isinstance(caught.value.__context__, OSError)


def test_without_one_nothing_comes() -> None:
    with interrupts_deferred():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_have_none_to_defer() -> None:
    done: list[bool] = []

    def work() -> None:
        with interrupts_deferred():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
