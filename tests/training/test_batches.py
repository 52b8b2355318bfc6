"""Batches: where an epoch is entered changes nothing; each read of a passage turns by its own key."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.models.protocols import pad_rows
from positionbias.models.tk import TK
from positionbias.positions.rotate import Rotation
from positionbias.training.batches import Batch, batches, encode_ragged
from positionbias.training.trainsets.sample import GroupSampler, make_sampler

from ..tiny import tiny_tk

WORDS = [f"word{i}" for i in range(12)]
TEXTS = {f"p{i}": " ".join(WORDS[i % 5 : i % 5 + 2 + i % 6]) for i in range(14)} | {"empty": "", "blank": "  "}
QUERIES = {f"q{i}": f"word{i} word{i + 1}" for i in range(7)} | {"q-empty": ""}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("batches") / "c"
    with create_collection(place) as writer:
        writer.add_passages(Passage(*item) for item in TEXTS.items())
        writer.add_split("train", [Query(*item) for item in QUERIES.items()], [])
        writer.finish(name="c", command="a test", settings={})
    return Collection(place)


@pytest.fixture(scope="module")
def model() -> TK:
    return tiny_tk([" ".join(WORDS)] * 2)


def sampler(positives: dict[str, str] | None = None, negatives: list[str] | None = None) -> GroupSampler:
    positives = positives or {f"q{i}": f"p{i}" for i in range(7)}
    pool = negatives or [f"p{i}" for i in range(7, 14)]
    run = Run("bm25", [(query_id, pool, range(len(pool), 0, -1)) for query_id in positives])
    return make_sampler([Qrel(q, p, 1) for q, p in positives.items()], run, seed=1)


def read(model: TK, collection: Collection, drawn: GroupSampler | None = None, **options: object) -> list[Batch]:
    settings = {"size": 3, "epoch": 0, **options}
    return list(batches(drawn or sampler(), model, collection, QUERIES, **settings))  # type: ignore[arg-type]


def rows(batch: Batch) -> tuple[list, list]:
    return batch.queries.tolist(), batch.passages.tolist()


def test_positives_first_then_negatives(collection: Collection, model: TK) -> None:
    found = read(model, collection)
    first, last = found[0], found[-1]
    expected = [group for _, group in sampler().epoch(0)]
    assert len(first) == 3
    assert first.queries.tolist() == pad_rows([model.read_queries([QUERIES[g.query_id]])[0] for g in expected[:3]]).tolist()
    texts = [TEXTS[g.passage_ids[side]] for side in (0, 1) for g in expected[:3]]
    assert first.passages.tolist() == pad_rows([model.read_passages([text])[0] for text in texts]).tolist()
    assert (len(last), last.number, last.epoch) == (1, 2, 0)  # seven pairs: 3, 3 and 1


@pytest.mark.parametrize("rotation", [None, Rotation(seed=4)])
def test_entering_an_epoch_later_gives_the_same_batches(collection: Collection, model: TK, rotation: Rotation | None) -> None:
    whole = read(model, collection, epoch=2, rotation=rotation)
    for start in range(4):
        later = read(model, collection, epoch=2, start=start, rotation=rotation)
        assert [batch.number for batch in later] == list(range(start, 3))
        assert list(map(rows, later)) == list(map(rows, whole[start:]))


def test_pairs_with_an_empty_side_are_dropped_and_counted(collection: Collection, model: TK) -> None:
    drawn = sampler({"q1": "p1", "q2": "empty", "q3": "blank", "q-empty": "p2"})
    found = read(model, collection, drawn, size=10)
    assert [(len(batch), batch.dropped) for batch in found] == [(1, 3)]
    assert found[0].queries.tolist() == [model.read_queries([QUERIES["q1"]])[0]]
    none = read(model, collection, sampler({"q1": "p1"}, ["empty"]))
    assert [(len(batch), batch.dropped) for batch in none] == [(0, 1)]


def turns(model: TK, collection: Collection, **options: object) -> list[tuple[str, ...]]:
    """The words of each passage read, positives then negatives, of a first batch of all seven pairs."""
    (batch,) = read(model, collection, size=7, **options)
    return [tuple(model.vocabulary.word(n) for n in row if n) for row in batch.passages.tolist()]


def test_a_read_turns_the_passage_and_loses_no_word(collection: Collection, model: TK) -> None:
    still, turned = turns(model, collection), turns(model, collection, rotation=Rotation(seed=1))
    for before, after in zip(still, turned, strict=True):
        assert after in {before[cut:] + before[:cut] for cut in range(len(before))}
    assert still != turned


def test_the_cut_is_keyed_by_seed_epoch_example_and_passage(collection: Collection, model: TK) -> None:
    def cuts(seed: int, epoch: int = 0) -> list[tuple[str, ...]]:
        return turns(model, collection, epoch=epoch, rotation=Rotation(seed=seed))

    assert cuts(1) == cuts(1)
    assert cuts(1) != cuts(2)
    by_epoch = {tuple(sorted(cuts(1, epoch)[:7])) for epoch in range(5)}  # the positives are the same in each, their cuts not
    assert len(by_epoch) > 1
    # the key is what the docstring says: (seed, epoch, index of the example, passage id)
    expected = []
    for side in (0, 1):
        for index, group in sampler().epoch(3):
            passage_id = group.passage_ids[side]
            expected.append(Rotation(seed=1).apply(TEXTS[passage_id], 3, index, passage_id, purpose="rotate at reading"))
    assert cuts(1, 3) == [tuple(text.split()) for text in expected]


def test_positive_and_negative_turn_independently(tmp_path: Path, model: TK) -> None:
    # one text under both ids: over many examples their cuts agree as often as chance has it (1 in 6), not always
    text = " ".join(WORDS[:6])
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("positive", text), Passage("negative", text)])
        writer.finish(name="c", command="a test", settings={})
    drawn = sampler({f"q{i % 7}": "positive" for i in range(7)}, ["negative"])
    agreed = total = 0
    for epoch in range(40):
        (batch,) = read(model, Collection(tmp_path / "c"), drawn, size=7, epoch=epoch, rotation=Rotation(seed=1))
        agreed += sum(a == b for a, b in zip(batch.passages[:7].tolist(), batch.passages[7:].tolist(), strict=True))
        total += 7
    assert 0.08 < agreed / total < 0.26


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.integers(1, 4))
@settings(max_examples=30)
def test_ragged_encoding_is_encoding(lengths: list[int], parts: int) -> None:
    tk = tiny_tk([" ".join(WORDS)] * 2)
    passages = pad_rows([[2 + (i + j) % 12 for j in range(length)] for i, length in enumerate(lengths)])
    with torch.no_grad():
        ragged, plain = encode_ragged(tk, passages, parts), tk.passage_vectors(passages)
    present = passages != 0
    torch.testing.assert_close(ragged[present], plain[present], atol=1e-5, rtol=1e-5)
    assert ragged.shape == plain.shape


def test_ragged_gradients_are_gradients(model: TK) -> None:
    passages = pad_rows([[2, 3, 4, 5], [2], [6, 7]])
    gradients = []
    for encode in (encode_ragged, lambda m, p: m.passage_vectors(p)):
        model.zero_grad()
        (encode(model, passages) * (passages != 0).unsqueeze(-1)).square().sum().backward()
        gradients.append([p.grad.to_dense().clone() for p in model.parameters() if p.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
