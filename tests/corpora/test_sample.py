"""Sampled collections: what is judged is there, the rest is drawn by keys, and order, sharding and
workers change nothing.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.corpora.sample import SampleSettings, sample
from positionbias.engine.local import map_shards

IDS = [f"p{number}" for number in range(300)]


def large(place: Path, shard: int = 40, ids: list[str] = IDS) -> Collection:
    """300 passages; 50 training queries with one relevant passage each, of which every fifth is
    lost; 10 test queries with answers.
    """
    with create_collection(place) as writer:
        writer.add_blocks(
            list,
            [
                [Passage(item, f"of {item}") for item in ids[at : at + shard]]
                for at in range(0, 300, shard)
            ],
        )
        train = [Query(f"t{number}", "x", {"type": "y"}) for number in range(50)]
        writer.add_split(
            "train", train, [Qrel(f"t{n}", "lost" if n % 5 == 0 else f"p{n}", 1) for n in range(50)]
        )
        writer.add_qrels("train", "raw", [Qrel(f"t{n}", f"p{100 + n}", 0) for n in range(50)])
        test = [Query(f"e{number}", "x") for number in range(10)]
        answers = [Answer(f"e{n}", f"p{200 + n}", "of", 0, 2) for n in range(10)]
        writer.add_split("test", test, [], answers)
        writer.finish(
            Manifest("collection", "large", "a test", licence="invented", notes=("a decision",)),
            allow_absent=True,
        )
    return Collection(place)


def test_judged_and_answering_passages_are_kept_and_others_drawn(tmp_path: Path) -> None:
    drawn = sample(
        large(tmp_path / "large"),
        tmp_path / "sample",
        SampleSettings(queries=12, passages=100, seed=3),
    )
    train = {query.query_id for query in drawn.queries("train")}
    assert (len(train), len(drawn.queries("test")), len(drawn)) == (12, 10, 100)
    lowest = sorted((key64(3, "sample query", f"t{n}"), f"t{n}") for n in range(50))[:12]
    assert train == {item for _, item in lowest}
    numbers = [int(item[1:]) for item in train]
    assert sorted(drawn.qrels("train")) == sorted(
        Qrel(f"t{n}", "lost" if n % 5 == 0 else f"p{n}", 1) for n in numbers
    )
    assert sorted(drawn.qrels("train", "raw")) == sorted(
        Qrel(f"t{n}", f"p{100 + n}", 0) for n in numbers
    )
    assert len(drawn.answers("test")) == 10
    judged = (
        {f"p{n}" for n in numbers if n % 5}
        | {f"p{100 + n}" for n in numbers}
        | {f"p{200 + n}" for n in range(10)}
    )
    others = sorted((key64(3, "sample passage", item), item) for item in IDS if item not in judged)[
        : 100 - len(judged)
    ]
    assert set(drawn.passage_ids()) == judged | {item for _, item in others}
    # the stored order
    assert drawn.passage_ids() == sorted(drawn.passage_ids(), key=lambda item: int(item[1:]))
    assert drawn.texts(["p200"]) == ["of p200"]
    content = drawn.manifest.content
    assert content["sample"] == {"passages": 300, "judged_or_answering": len(judged)}
    lost = sum(n % 5 == 0 for n in numbers)
    assert content["absent"] == {"train": {"judgements": lost, "passages": 1}}
    assert (drawn.manifest.licence, drawn.manifest.notes[-1]) == ("invented", "a decision")


def test_order_sharding_and_workers_change_nothing(tmp_path: Path) -> None:
    settings = SampleSettings(queries=5, passages=77)
    one = sample(large(tmp_path / "a"), tmp_path / "1" / "sample", settings)
    two = sample(large(tmp_path / "b", shard=7, ids=IDS[::-1]), tmp_path / "2" / "sample", settings)
    assert two.checksum == one.checksum
    again = sample(
        Collection(tmp_path / "a"),
        tmp_path / "3" / "sample",
        settings,
        map_shards=partial(map_shards, workers=2),
    )
    assert [path.read_bytes() for path in again.shard_paths] == [
        path.read_bytes() for path in one.shard_paths
    ]
    assert read_manifest(again.path).comparable() == read_manifest(one.path).comparable()


def test_fewer_are_part_of_more_and_seeds_differ(tmp_path: Path) -> None:
    whole = large(tmp_path / "large")
    ids = {
        n: set(
            sample(whole, tmp_path / f"s{n}", SampleSettings(queries=50, passages=n)).passage_ids()
        )
        for n in (150, 151, 300)
    }
    assert [len(found) for found in ids.values()] == [150, 151, 300]
    assert ids[150] < ids[151] < ids[300] == set(IDS)
    seeds = [
        set(
            sample(
                whole, tmp_path / f"seed{n}", SampleSettings(queries=1, passages=50, seed=n)
            ).passage_ids()
        )
        for n in range(20)
    ]
    counts = Counter(item for found in seeds for item in found)
    assert len(counts) > 250  # 20 draws of about 40 of 280: one in 14 passages is never drawn
    assert sample(whole, tmp_path / "more", SampleSettings(queries=1, passages=10_000))


def test_an_empty_collection_has_an_empty_sample(tmp_path: Path) -> None:
    with create_collection(tmp_path / "empty") as writer:
        writer.add_split("test", [Query("q", "x")], [])
        writer.finish(Manifest("collection", "empty", "a test"))
    assert (
        len(
            sample(
                Collection(tmp_path / "empty"),
                tmp_path / "sample",
                SampleSettings(queries=1, passages=1),
            )
        )
        == 0
    )
