"""Mapping over shards: the same results, in order, in one process or several; failures are one
error.
"""

from __future__ import annotations

import math
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import PositionBiasError, SettingError
from positionbias.engine.local import map_shards, processes

from .session import processes_of_session


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(workers: int) -> None:
    # large factorials take longer than small ones: the first item is not the first to be done
    items = [3_000, 1, 2_000, 2, 3]
    assert list(map_shards(math.factorial, items, workers)) == [
        math.factorial(item) for item in items
    ]


def test_no_items_no_results() -> None:
    assert list(map_shards(math.sqrt, [], 2)) == []


def test_one_item_alone_is_worked_on_in_this_process() -> None:
    assert list(map_shards(_process, [0], 2)) == [os.getpid()]
    assert os.getpid() not in list(map_shards(_process, [0, 1], 2))


def _process(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_function_raises_is_raised_here_after_the_results_before_it(workers: int) -> None:
    results = map_shards(math.sqrt, [4.0, 9.0, -1.0, 16.0], workers)
    assert [next(results), next(results)] == [2.0, 3.0]
    with pytest.raises(ValueError, match="math domain error|nonnegative"):
        next(results)


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_taken_only_as_results_are_used(workers: int) -> None:
    taken = []

    def items() -> Iterator[float]:
        for item in range(100):
            taken.append(item)
            yield float(item)

    results = map_shards(math.sqrt, items(), workers)
    assert next(results) == 0.0
    assert len(taken) <= 2 * workers


def test_a_worker_that_is_ended_is_one_clear_line() -> None:
    with pytest.raises(PositionBiasError, match="fewer --workers"):
        list(map_shards(os._exit, [1, 1], 2))


def test_workers_below_one_name_the_flag() -> None:
    with pytest.raises(SettingError, match="--workers"):
        map_shards(math.sqrt, [1.0], 0)


def process_of(item: int) -> int:
    time.sleep(0.02)
    return os.getpid()


def test_one_set_of_processes_serves_every_map() -> None:
    with processes(2) as over_processes:
        first = set(over_processes(process_of, range(10)))
        second = set(over_processes(process_of, range(10)))
    assert os.getpid() not in first
    assert second <= first
    with processes(1) as here:
        assert set(here(process_of, range(3))) == {os.getpid()}


ORPHANED = """
import time
from positionbias.engine.local import processes
if __name__ == "__main__":
    with processes(2) as over_processes:
        list(over_processes(time.sleep, [0.05] * 4))
        print("started", flush=True)
        {then}
"""


@pytest.mark.parametrize(
    "then",
    ["time.sleep(60)", "list(over_processes(time.sleep, [60] * 9))"],
    ids=["workers wait", "workers work"],
)
def test_workers_whose_parent_is_killed_end_by_themselves(tmp_path: Path, then: str) -> None:
    (tmp_path / "script.py").write_text(ORPHANED.format(then=then))
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        assert len(processes_of_session(parent.pid)) >= 3
        os.kill(parent.pid, signal.SIGKILL)
    assert_within(10, lambda: processes_of_session(parent.pid) == [])


def assert_within(seconds: float, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def stop_then_write(path: Path | None) -> bytes:
    if path is None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    else:
        path.write_text("written")
    return bytes(1 << 20)


def test_a_worker_that_is_asked_to_stop_begins_nothing_more(tmp_path: Path) -> None:
    """It answers in whole messages: one that died in the middle of a message would leave this
    process waiting for the rest.
    """
    with (
        processes(2) as over_processes,
        pytest.raises(PositionBiasError, match="ended from outside"),
    ):
        list(over_processes(stop_then_write, [None, None, tmp_path / "later"]))
    assert not (tmp_path / "later").exists()


HELD_BACK = """
import os, signal
from positionbias.core import process
process.leave_at_once()
process.raise_when_stopped()
try:
    with process.held_back():
        os.kill(os.getpid(), signal.SIGTERM)
        print("to its end")
    print("not reached")
except KeyboardInterrupt:
    print("then stopped", process.exit_code())
"""


def test_what_is_held_back_is_heard_afterwards() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD_BACK], capture_output=True, text=True, check=True
    )
    assert done.stdout == "to its end\nthen stopped 143\n"


def die_while_answering(item: int) -> int:
    def send_half(self: Any, message: Any) -> None:
        os.write(self.fileno(), bytes(message[: len(message) // 2]))
        os.kill(os.getpid(), signal.SIGKILL)

    if item == 3:
        multiprocessing.connection.Connection._send = send_half  # type: ignore[attr-defined]
    return item


def test_a_worker_that_is_killed_within_a_message_is_one_clear_line() -> None:
    """Python's pool alone would wait for the other half for ever."""
    with (
        processes(2) as over_processes,
        pytest.raises(PositionBiasError, match="ended from outside"),
    ):
        list(over_processes(die_while_answering, range(9)))
