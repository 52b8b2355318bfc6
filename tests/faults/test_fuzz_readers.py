"""Some mutated inputs for every reader: something whole in which nothing is lost, or one line.
Thousands: ``benchmarks/fuzz``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "fuzz"))

from fuzz_checks import Fault, same, unpacked
from fuzz_mutations import mutated, random_of
from fuzz_readers import READERS, Reader, memory_folder, run_input
from fuzz_seeds import SEEDS, packed

INPUTS = 25


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
        yield Path(name)


@pytest.mark.parametrize("reader", READERS, ids=[reader.name for reader in READERS])
def test_mutated_inputs(folder: Path, reader: Reader) -> None:
    ended: list[str] = []
    for number in range(INPUTS):
        found = run_input(reader, number, folder / "input")
        shutil.rmtree(folder / "input")
        assert found.how != "fault", (
            f"{reader.name}, input {number} ({', '.join(found.done)}): {found.said}"
        )
        ended.append(found.how)
    assert ended[0] == "valid"  # the first is as it was published
    assert 2 <= ended.count("valid") <= INPUTS - 2  # else the faults are too many, or none


def test_what_was_lost_is_a_fault(folder: Path) -> None:
    """The harness sees a reader that drops a line, one that hangs, and one that leaves something
    behind.
    """

    def hangs(*_: object) -> None:
        while True:
            pass

    def leaves(inputs: Path, *_: object) -> None:
        (inputs.parent / ".out.work").mkdir()

    for number, (run, said) in enumerate(
        (
            (lambda *_: same(9, 10, "passages"), "passages: 10 in the input, 9 accounted for"),
            (hangs, "not done"),
            (leaves, "left behind: .out.work"),
        )
    ):
        ended = run_input(Reader("msmarco", ("plain",), run), 0, folder / str(number), seconds=1)
        assert ended.how == "fault"
        assert ended.said.startswith(said)


def test_inputs_depend_on_their_number_alone() -> None:
    for reader in READERS:
        one, other = (
            mutated(random := random_of(1, reader.name, 7), SEEDS[reader.name](random))
            for _ in range(2)
        )
        assert one == other
    assert mutated(random_of(1, "msmarco", 7), {"a": b"x y\n"}) != mutated(
        random_of(1, "msmarco", 8), {"a": b"x y\n"}
    )


@pytest.mark.parametrize("form", ["gz", "zst"])
def test_archives_are_unpacked_by_other_means(form: str) -> None:
    (archive,) = packed({"a": b"lamp\n" * 100}, form).values()
    assert unpacked(archive, "a") == b"lamp\n" * 100
    with pytest.raises(Fault, match="a was read, and cannot be unpacked"):
        unpacked(archive[:-3], "a")
