"""Training groups on disk: what was written is read, in any order asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup, write_groups

GROUPS = [TrainingGroup(f"q{n % 7}", (f"p{n}", f"n{n}"), (1, 0)) for n in range(40)]
SCORED = TrainingGroup("q1", ("p1", "p2", "p3"), (2, 0, 0), (1.5, -0.25, 0.0))


def make(folder: Path, parts: list[list[TrainingGroup]]) -> Groups:
    folder.mkdir()
    write_groups(folder, list, parts, split="train", name="set", command="a test", settings={})
    return Groups(folder)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    stored = make(tmp_path / "set", [GROUPS[:13], [], [*GROUPS[13:], SCORED]])
    assert list(stored) == [*GROUPS, SCORED]
    assert (len(stored), stored.split) == (41, "train")
    assert stored.take([40, 0, 12, 13, 0]) == [SCORED, GROUPS[0], GROUPS[12], GROUPS[13], GROUPS[0]]


def test_the_checksum_is_of_the_groups_alone(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", [GROUPS]), make(tmp_path / "two", [GROUPS[20:], GROUPS[:20]])
    other = make(tmp_path / "other", [[*GROUPS[1:], GROUPS[0]._replace(labels=(2, 0))]])
    assert one.checksum == two.checksum != other.checksum


@pytest.mark.parametrize(
    "group",
    [
        TrainingGroup("q", ("p",), (1,)),
        TrainingGroup("q", ("p", "n"), (1,)),
        TrainingGroup("q", ("p", "n"), (1, 0), (0.5,)),
    ],
    ids=["one passage", "one label", "one score"],
)
def test_a_group_that_does_not_fit_is_one_line(tmp_path: Path, group: TrainingGroup) -> None:
    with pytest.raises(InputError, match="training group of query 'q': wanted two passages or more"):
        make(tmp_path / "set", [[group]])


def test_a_lost_or_cut_shard_is_one_line(tmp_path: Path) -> None:
    stored = make(tmp_path / "set", [GROUPS[:20], GROUPS[20:]])
    shard = stored.path / "groups" / "00001.arrow"
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(InputError, match="wanted whole shards of groups"):
        list(Groups(stored.path))
    shard.unlink()
    with pytest.raises(InputError, match="wanted 2 shards of groups; found 1"):
        list(Groups(stored.path))
