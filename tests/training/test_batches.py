"""Batches: where an epoch is entered changes nothing; each read of a passage turns by its own
key.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.groups import TrainingGroup
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.models.protocols import pad_rows
from positionbias.models.tk import TK
from positionbias.positions.rotate import Rotation
from positionbias.training.batches import CONSISTENCY, Batch, TrainingTexts, batches
from positionbias.training.trainsets.sample import GroupSampler, make_sampler

from ..tiny import tiny_tk

WORDS = [f"word{i}" for i in range(12)]
TEXTS = {f"p{i}": " ".join(WORDS[i % 5 : i % 5 + 2 + i % 6]) for i in range(14)} | {
    "empty": "",
    "blank": "  ",
}
QUERIES = {f"q{i}": f"word{i} word{i + 1}" for i in range(7)} | {"q-empty": ""}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("batches") / "c"
    with create_collection(place) as writer:
        writer.add_passages(Passage(*item) for item in TEXTS.items())
        writer.add_split("train", [Query(*item) for item in QUERIES.items()], [])
        writer.finish(Manifest("collection", "c", "a test"))
    return Collection(place)


@pytest.fixture(scope="module")
def model() -> TK:
    return tiny_tk([" ".join(WORDS)] * 2)


def sampler(
    positives: dict[str, str] | None = None, negatives: list[str] | None = None
) -> GroupSampler:
    positives = positives or {f"q{i}": f"p{i}" for i in range(7)}
    pool = negatives or [f"p{i}" for i in range(7, 14)]
    run = Run("bm25", [(query_id, pool, range(len(pool), 0, -1)) for query_id in positives])
    return make_sampler([Qrel(q, p, 1) for q, p in positives.items()], run, seed=1)


def read(
    model: TK, collection: Collection, drawn: GroupSampler | None = None, **options: object
) -> list[Batch]:
    settings = {"size": 3, "epoch": 0, **options}
    own = {name: settings.pop(name) for name in ("reading", "turned") if name in settings}
    texts = TrainingTexts(collection, QUERIES, drawn or sampler(), **own)  # type: ignore[arg-type]
    return list(batches(model, texts, **settings))  # type: ignore[arg-type]


def rows(batch: Batch) -> tuple[list, list]:
    return batch.queries, batch.passages


def test_positives_first_then_negatives(collection: Collection, model: TK) -> None:
    found = read(model, collection)
    first, last = found[0], found[-1]
    expected = [group for _, group in sampler().epoch(0)]
    assert len(first) == 3
    queries = [model.read_queries([QUERIES[g.query_id]])[0] for g in expected[:3]]
    assert (first.queries, first.inputs["queries"].tolist()) == (
        queries,
        pad_rows(queries).tolist(),
    )
    texts = [TEXTS[g.passage_ids[side]] for side in (0, 1) for g in expected[:3]]
    passages = [model.read_passages([text])[0] for text in texts]
    assert (first.passages, first.inputs["passages"].tolist()) == (
        passages,
        pad_rows(passages).tolist(),
    )
    assert first.groups == expected[:3]
    assert (len(last), last.number, last.epoch) == (1, 2, 0)  # seven pairs: 3, 3 and 1


class Listed:
    """Groups as they are given, once."""

    left_out = absent = 0

    def __init__(self, *groups: TrainingGroup) -> None:
        self.groups = groups

    def __len__(self) -> int:
        return len(self.groups)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        yield from list(enumerate(self.groups))[start:]


def test_groups_of_uneven_size_are_padded_with_a_short_passage_that_is_not_there(
    collection: Collection, model: TK
) -> None:
    groups = [
        TrainingGroup("q1", ("p1", "p6"), (1, 0), (2.0, 1.0)),
        TrainingGroup("q2", ("p2", "p7", "p3", "p8"), (1, 0, 0, 0), (4.0, 3.0, 0.5, 0.0)),
        TrainingGroup("q3", ("p3", "p8", "empty"), (1, 0, 0), (1.0, 1.0, 1.0)),
        TrainingGroup("q4", ("p4", "p9", "p10"), (1, 0, 0), (7.0, 6.0, 5.0)),
    ]
    (batch,) = read(model, collection, Listed(*groups), size=4)  # type: ignore[arg-type]
    assert (len(batch), batch.dropped, batch.groups) == (3, 1, [groups[0], groups[1], groups[3]])
    read_of = {item: model.read_passages([text])[0] for item, text in TEXTS.items()}
    short = read_of["p6"]  # two words, as no other of these has fewer
    columns = [["p1", "p2", "p4"], ["p6", "p7", "p9"], ["p6", "p3", "p10"], ["p6", "p8", "p6"]]
    assert short == min(
        (read_of[item] for group in batch.groups for item in group.passage_ids), key=len
    )
    assert batch.passages == [read_of[item] for column in columns for item in column]
    assert batch.there is not None
    assert batch.there.tolist() == [
        [True, True, False, False],
        [True] * 4,
        [True, True, True, False],
    ]
    assert batch.teacher is not None
    assert batch.teacher.tolist() == [
        [2.0, 1.0, 0.0, 0.0],
        [4.0, 3.0, 0.5, 0.0],
        [7.0, 6.0, 5.0, 0.0],
    ]
    even = read(
        model, collection, Listed(groups[0], groups[0]._replace(teacher_scores=None)), size=2
    )[0]  # type: ignore[arg-type]
    assert (even.there, even.teacher) == (None, None)


@pytest.mark.parametrize("rotation", [None, Rotation(seed=4)])
def test_entering_an_epoch_later_gives_the_same_batches(
    collection: Collection, model: TK, rotation: Rotation | None
) -> None:
    whole = read(model, collection, epoch=2, reading=rotation)
    for start in range(4):
        later = read(model, collection, epoch=2, start=start, reading=rotation)
        assert [batch.number for batch in later] == list(range(start, 3))
        assert list(map(rows, later)) == list(map(rows, whole[start:]))


def test_groups_with_an_empty_side_are_dropped_and_counted(
    collection: Collection, model: TK
) -> None:
    drawn = sampler({"q1": "p1", "q2": "empty", "q3": "blank", "q-empty": "p2"})
    found = read(model, collection, drawn, size=10)
    assert [(len(batch), batch.dropped) for batch in found] == [(1, 3)]
    assert found[0].queries == [model.read_queries([QUERIES["q1"]])[0]]
    none = read(model, collection, sampler({"q1": "p1"}, ["empty"]))
    assert [(len(batch), batch.dropped, batch.inputs) for batch in none] == [(0, 1, {})]


def turns(model: TK, collection: Collection, **options: object) -> list[tuple[str, ...]]:
    """The words of each passage read, positives then negatives, of a first batch of all seven
    pairs.
    """
    (batch,) = read(model, collection, size=7, **options)
    return [tuple(model.vocabulary.word(n) for n in row) for row in batch.passages]


def test_the_cut_is_keyed_by_seed_epoch_example_and_passage(
    collection: Collection, model: TK
) -> None:
    def cuts(seed: int, epoch: int = 0) -> list[tuple[str, ...]]:
        return turns(model, collection, epoch=epoch, reading=Rotation(seed=seed))

    assert cuts(1) == cuts(1)
    assert cuts(1) != cuts(2)
    # the positives are the same in each, their cuts not
    by_epoch = {tuple(sorted(cuts(1, epoch)[:7])) for epoch in range(5)}
    assert len(by_epoch) > 1
    # the key is what the docstring says: (seed, epoch, index of the example, passage id)
    expected = []
    for side in (0, 1):
        for index, group in sampler().epoch(3):
            passage_id = group.passage_ids[side]
            expected.append(
                Rotation(seed=1).apply(
                    TEXTS[passage_id], 3, index, passage_id, purpose="rotate at reading"
                )
            )
    assert cuts(1, 3) == [tuple(text.split()) for text in expected]


# -- batches of alike length -----------------------------------------------------------------------


def ids(found: list[Batch]) -> list[list[str]]:
    return [[group.query_id for group in batch.groups] for batch in found]


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 7))
@settings(max_examples=25)
def test_buckets_hold_each_pair_once_and_can_be_entered_anywhere(
    collection: Collection, model: TK, size: int, bucket: int, start: int
) -> None:
    options = {"size": size, "bucket": bucket, "epoch": 1, "reading": Rotation(seed=2)}
    whole = read(model, collection, **options)
    assert sorted(chain.from_iterable(ids(whole))) == [f"q{i}" for i in range(7)]
    assert [batch.number for batch in whole] == list(range(-(-7 // size)))
    assert read_again(model, collection, start, options) == [
        (b.number, *rows(b)) for b in whole[start:]
    ]


def read_again(model: TK, collection: Collection, start: int, options: dict) -> list[tuple]:
    return [
        (batch.number, *rows(batch)) for batch in read(model, collection, start=start, **options)
    ]


# -- parts of a batch, for several processes -------------------------------------------------------


@pytest.mark.parametrize("parts", [3])
def test_parts_make_the_whole(collection: Collection, model: TK, parts: int) -> None:
    whole = read(model, collection, size=4, bucket=2)
    found = [
        read(model, collection, size=4, bucket=2, part=(place, parts)) for place in range(parts)
    ]
    for number, batch in enumerate(whole):
        assert [len(part[number]) for part in found] == [
            len(batch.groups[place::parts]) for place in range(parts)
        ]
        for place in range(parts):
            assert [g.query_id for g in found[place][number].groups][
                : len(found[place][number])
            ] == [g.query_id for g in batch.groups[place::parts]]


def test_a_process_without_a_pair_computes_one_of_the_others(
    collection: Collection, model: TK
) -> None:
    drawn = sampler({"q1": "p1", "q2": "empty"})
    first, second = (read(model, collection, drawn, size=2, part=(place, 2))[0] for place in (0, 1))
    whole = read(model, collection, drawn, size=2)[0]
    assert sorted(
        [(len(first), first.dropped, first.idle), (len(second), second.dropped, second.idle)]
    ) == [
        (0, 1, True),
        (1, 0, False),
    ]
    # an idle part reads the pair that is there; nothing comes of it
    assert rows(first) == rows(second) == rows(whole)
    none = read(model, collection, sampler({"q1": "empty"}), part=(0, 2))[0]
    assert (len(none), none.dropped, none.idle, none.queries, none.passages) == (
        0,
        1,
        True,
        [[1]],
        [[1], [1]],
    )


def test_with_consistency_each_passage_is_read_a_second_time_rotated(
    collection: Collection, model: TK
) -> None:
    rotation = Rotation(seed=3)
    (plain, *_), (both, *_) = read(model, collection), read(model, collection, turned=rotation)
    assert both.turned
    assert not plain.turned
    size = len(plain.passages)
    assert (both.queries, list(both.passages[:size])) == (plain.queries, list(plain.passages))
    expected = [
        model.read_passages(
            [
                rotation.apply(
                    TEXTS[group.passage_ids[side]],
                    0,
                    index,
                    group.passage_ids[side],
                    purpose=CONSISTENCY,
                )
            ]
        )[0]
        for side in (0, 1)
        for index, group in enumerate(plain.groups)
    ]
    assert list(both.passages[size:]) == expected
    assert both.passages[size:] != both.passages[:size]
