"""Training groups on disk: what was written is read, in any order asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup, group_queries, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.records import Query
from tests.sealing import reseal

GROUPS = [TrainingGroup(f"q{n % 7}", (f"p{n}", f"n{n}"), (1, 0)) for n in range(40)]
SCORED = TrainingGroup("q1", ("p1", "p2", "p3"), (2, 0, 0), (1.5, -0.25, 0.0))


def as_it_is(part: Any) -> Any:
    return part


def make(folder: Path, parts: Sequence[list[TrainingGroup]]) -> Groups:
    folder.mkdir()
    write_groups(
        folder, as_it_is, parts, Manifest("trainset", "set", "a test"), splits=("train", "test")
    )
    return Groups(folder)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    stored = make(tmp_path / "set", [GROUPS[:13], [], [*GROUPS[13:], SCORED]])
    assert list(stored) == [*GROUPS, SCORED]
    assert (len(stored), stored.splits) == (41, ("train", "test"))
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
    with pytest.raises(
        InputError, match="training group of query 'q': wanted two passages or more"
    ):
        make(tmp_path / "set", [[group]])


def test_a_lost_or_cut_shard_is_one_line(tmp_path: Path) -> None:
    stored = make(tmp_path / "set", [GROUPS[:20], GROUPS[20:]])
    shard = stored.path / "groups" / "00001.arrow"
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(
        InputError, match=r"00001.arrow: wanted .* bytes, as its manifest says; found 200"
    ):
        list(Groups(stored.path))
    reseal(stored.path)
    with pytest.raises(
        InputError, match="00001.arrow: wanted a whole Arrow file; found .*; restore it"
    ):
        list(Groups(stored.path))
    shard.unlink()
    reseal(stored.path)
    with pytest.raises(InputError, match="wanted 2 shards, as its manifest says; found 1"):
        list(Groups(stored.path))


def asked(place: Path, *splits: tuple[str, dict[str, str]]) -> Collection:
    """A collection of nothing but queries."""
    with create_collection(place) as writer:
        for split, texts in splits:
            writer.add_split(split, [Query(query_id, text) for query_id, text in texts.items()], [])
        writer.finish(Manifest("collection", "asked", "a test"))
    return Collection(place)


def test_queries_of_several_splits_are_told_by_their_ids(tmp_path: Path) -> None:
    both = {"7": "iron gate"}
    collection = asked(
        tmp_path / "c",
        ("train", {"1": "lamp", **both}),
        ("clicks", both),
        ("test", {"1": "tower", "2": "bridge"}),
    )
    assert group_queries(collection, ("train",)) == {"1": "lamp", "7": "iron gate"}
    texts = group_queries(collection, ("clicks", "test"))
    assert texts == {"7": "iron gate", "1": "tower", "2": "bridge"}
    with pytest.raises(
        InputError,
        match=(
            "one text a query id in splits train, test; found two of query '1': 'lamp', and in "
            "test 'tower'"
        ),
    ):
        group_queries(collection, ("train", "test"))
    with pytest.raises(
        InputError, match="wanted query '9' of a training group in split clicks or test; found none"
    ):
        texts["9"]
    with pytest.raises(InputError, match="wanted split 'dev'; found train, clicks, test"):
        group_queries(collection, ("dev",))
