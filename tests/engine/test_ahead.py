"""Items made ahead: in order, no further ahead than allowed, errors where they belong, nothing left
running.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from positionbias.engine.ahead import ahead, at_once


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_in_order_and_in_another_thread() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            made.append(threading.get_ident())
            yield number

    assert list(ahead(items(), 3)) == list(range(20))
    assert set(made) != {threading.get_ident()}
    assert len(set(made)) == 1
    assert "ahead" not in names()


def test_no_more_wait_than_allowed() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            made.append(number)
            yield number

    for taken, number in enumerate(ahead(items(), 2), 1):
        assert number == taken - 1
        assert len(made) <= taken + 3  # those taken, two that wait, one in the hand
    assert len(made) == 50


def test_an_error_comes_after_what_was_made_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("the third")

    found = []
    with pytest.raises(ValueError, match="the third"):
        found.extend(ahead(items(), 5))
    assert found == [1, 2]
    assert "ahead" not in names()


def test_stopping_early_stops_the_thread() -> None:
    def items() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    for number in ahead(items()):
        if number == 3:
            break
    assert "ahead" not in names()


def test_nothing() -> None:
    assert list(ahead([])) == []


@pytest.mark.parametrize("ending", ["an error", "an interrupt", "enough"])
def test_at_the_end_what_has_begun_is_finished_and_nothing_more_begins(ending: str) -> None:
    begun: list[int] = []
    finished: list[int] = []
    stop = threading.Event()

    def work(number: int) -> int:
        begun.append(number)
        if number == 3 and ending == "an error":
            raise ValueError("three")
        stop.wait(0.05)
        finished.append(number)
        return number

    found = at_once(work, range(1_000), 2, stop)
    if ending == "an error":
        with pytest.raises(ValueError, match="three"):
            list(found)
    elif ending == "an interrupt":
        assert next(found) == 0
        with pytest.raises(KeyboardInterrupt):
            found.throw(KeyboardInterrupt())
    else:
        assert next(found) == 0
        found.close()
    assert stop.is_set()
    assert len(begun) < 20
    assert set(begun) - {3} == set(finished) - {3}
    assert not any(name.startswith("at once") for name in names())
