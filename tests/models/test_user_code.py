"""A user's function or transformer, named on the command line: its scores, and one line for
whatever is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.protocols import PassageEncoder, Ranker, TextScorer
from positionbias.ranking.rerank import rescore

TEXTS = {"p1": "the lamp of the hall", "p2": "iron gate", "p3": "the gate", "twin": "iron gate"}
RUN = Run(
    "bm25", [("q1", ["p2", "p1", "p3", "twin"], [4, 3, 2, 1]), ("q2", ["p3"], [1]), ("q3", [], [])]
)
QUERIES = [Query("q1", "the gate"), Query("q2", "lamp"), Query("q3", "nothing")]

CODE = '''
import numpy
import torch

WEIGHT = 2.0
asked = []

def length(query, passages):
    asked.append((query, list(passages)))
    return [float(len(query) * len(passage)) for passage in passages]

def as_array(query, passages): return numpy.array(length(query, passages))
def as_tensor(query, passages): return torch.tensor(length(query, passages), dtype=torch.float64, \
requires_grad=True)
def as_integers(query, passages): return [len(query) * len(passage) for passage in passages]
def half(query, passages): return torch.tensor(length(query, passages)).bfloat16()

def fewer(query, passages): return [1.0] * (len(passages) - 1)
def words(query, passages): return ["1.0"] * len(passages)
def nothing(query, passages): return None
def one(query, passages): return 1.0
def table(query, passages): return [[1.0]] * len(passages)
def uneven(query, passages): return [[1.0], [1.0, 2.0]] * len(passages)
def nan(query, passages): return [0.0] * (len(passages) - 1) + [float("nan")]
def huge(query, passages): return [1e39] * len(passages)
def fails(query, passages):
    raise KeyError("a key of mine")
def leaves(query, passages):
    raise SystemExit(1)

def level(query, passages):
    return [1e8 + place for place in range(len(passages))]

class Weighted:
    def __init__(self, weight): self.weight = weight
    def score(self, query, passages): return [self.weight * value for value in length(query, \
passages)]

weighted = Weighted(0.5)

class ByLength:
    """As PyTerrier's transformers: a frame in, a frame out, best first."""
    def __init__(self): self.seen = []
    def transform(self, frame):
        self.seen.append(frame)
        frame = frame.assign(score=[float(len(q) * len(t)) for q, t in zip(frame["query"], \
frame["text"])])
        return frame.sort_values("score", ascending=False)

class Without(ByLength):
    def transform(self, frame): return super().transform(frame).drop(columns=["score"])

class Shorter(ByLength):
    def transform(self, frame): return super().transform(frame).head(1)

class Text(ByLength):
    def transform(self, frame): return "a frame"

by_length, without, shorter, text = ByLength(), Without(), Shorter(), Text()
'''
LENGTHS = {("q1", p): float(8 * len(text)) for p, text in TEXTS.items()} | {("q2", "p3"): 4.0 * 8}


class Texts:
    """Passages by id."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [TEXTS[passage_id] for passage_id in passage_ids]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the modules ``mine`` and ``broken``; both, and the path to them, are
    forgotten after.
    """
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "broken.py").write_text("import json\n\nTHIS = 1 / 0\n")
    (tmp_path / "needy.py").write_text("import nobody_has_this\n")
    (tmp_path / "garbled.py").write_text("def length(\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit('bye')\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("mine", "broken", "needy", "leaving", "garbled"):
        sys.modules.pop(name, None)


def scores(name: str) -> dict[tuple[str, str], float]:
    done = rescore(load_checkpoint(name).model, Texts(), QUERIES, RUN, name=name)
    assert (done.cached, done.room, done.passages) == (False, None, 4)
    return {
        (r.query_id, p): float(s)
        for r in done.run.rankings()
        for p, s in zip(r.passage_ids, r.scores, strict=True)
    }


@pytest.mark.parametrize(
    "name", ["length", "as_array", "as_tensor", "as_integers", "half", "by_length"]
)
def test_scores_are_what_it_gives(name: str) -> None:
    found = load_checkpoint(f"mine:{name}")
    assert isinstance(found.model, TextScorer)
    assert not isinstance(found.model, Ranker | PassageEncoder)
    assert found.model.kind == ("pyterrier" if name == "by_length" else "function")
    assert scores(f"mine:{name}") == pytest.approx(LENGTHS, rel=0.01 if name == "half" else 1e-6)


def test_an_attribute_of_an_object() -> None:
    assert scores("mine:weighted.score") == pytest.approx(
        {pair: value / 2 for pair, value in LENGTHS.items()}
    )


def test_what_it_is_asked() -> None:
    """Query by query in the run's order, passages best first, and nothing where there is none."""
    scores("mine:length")
    assert sys.modules["mine"].asked == [
        ("the gate", [TEXTS[p] for p in ("p2", "p1", "p3", "twin")]),
        ("lamp", [TEXTS["p3"]]),
    ]


def test_what_a_transformer_is_given() -> None:
    scores("mine:by_length")
    first, second = sys.modules["mine"].by_length.seen
    assert list(first.columns) == ["qid", "query", "docno", "text"]
    # the same text is asked for once
    assert first["text"].tolist() == ["iron gate", "the lamp of the hall", "the gate"]
    assert set(first["query"]) == {"the gate"}
    assert first["docno"].nunique() == 3
    # an id belongs to its text, whatever the query
    assert second["docno"].tolist() == first["docno"].tolist()[2:]
    assert set(first["qid"]) != set(second["qid"])


def test_what_is_noted_of_it(folder: Path) -> None:
    found = load_checkpoint("mine:length")
    assert (found.name, found.path, found.depth) == ("mine:length", folder / "mine.py", None)
    assert len(found.manifest.content["checksum"]) == 64
    assert found.manifest.notes == (
        "a user's own code: its checksum is of the file that it is named in, not of what that uses",
    )
    with pytest.raises(
        SettingError,
        match="--start: wanted a model that can be trained .*; found .*, of kind function",
    ):
        _ = found.ranker


def test_a_module_of_the_python_path() -> None:
    assert load_checkpoint("operator:add").model.kind == "function"


def test_a_file_of_that_name_is_a_file(folder: Path) -> None:
    (folder / "mine:length").mkdir()
    with pytest.raises(InputError, match="found no manifest.json"):
        load_checkpoint("mine:length")


BAD_NAMES = {
    "absent:length": (
        "wanted the module absent; found none in .* nor on the Python path; check the name, or "
        "change to"
    ),
    "mine.more:length": "wanted the module mine.more; found none in",
    "mine:absent": (
        "wanted 'absent' in the module mine; found none of this name; it has length, as_array"
    ),
    "mine:WEIGHT": (
        "wanted a function .* or an object with transform or encode; found float; name another"
    ),
    "mine:ByLength": (
        "wanted a function or a transformer; found a class; make one of it in the module"
    ),
    "broken:length": (
        r"wanted the module .*; found that it raised ZeroDivisionError at broken.py:3: division by "
        r"zero; fix it"
    ),
    "garbled:length": (
        r"wanted the module .*; found that it raised SyntaxError: .*garbled.py, line 1"
    ),
    "needy:length": (
        r"wanted the module .*; found that it raised ModuleNotFoundError at needy.py:1: No module "
        r"named 'nobody_has_this'; fix"
    ),
    "leaving:length": (
        "wanted the module leaving; found that it raised SystemExit at leaving.py:1: bye; fix it"
    ),
}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_cannot_be_used_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name}: {BAD_NAMES[name]}") as caught:
        load_checkpoint(name)
    assert "\n" not in str(caught.value)


BAD_SCORES = {
    "fewer": "wanted 4 scores for query 'q1'; found 3; fix what scores",
    "words": "wanted numbers for query 'q1'; found <U3 values",
    "nothing": "wanted numbers for query 'q1'; found values that are not numbers",
    "one": r"wanted 4 scores for query 'q1'; found an array of shape \(\)",
    "table": r"wanted 4 scores for query 'q1'; found an array of shape \(4, 1\)",
    "uneven": "wanted numbers for query 'q1'; found values that are not numbers",
    "nan": "wanted finite scores for query 'q1'; found nan for passage 'twin'",
    "huge": "wanted finite scores for query 'q1'; found inf for passage 'p2'",
    "fails": (
        "wanted scores of the 4 passages of query 'q1'; found that it raised KeyError at "
        "mine.py:.*'a key of mine'"
    ),
    "leaves": (
        "wanted scores of the 4 passages of query 'q1'; found that it raised SystemExit at "
        "mine.py:.*: 1; fix it"
    ),
}


@pytest.mark.parametrize("name", BAD_SCORES)
def test_scores_that_cannot_be_used_are_one_line_with_the_query(name: str) -> None:
    with pytest.raises(InputError, match=f"^mine:{name}: {BAD_SCORES[name]}") as caught:
        scores(f"mine:{name}")
    assert "\n" not in str(caught.value)


def test_scores_that_differ_by_less_than_float32_holds_are_ties() -> None:
    # the step of float32 at 1e8 is 8: of 1e8 + 0 … 3 all four are 1e8; a query of one passage has
    # nothing to tie with
    assert set(scores("mine:level").values()) == {1e8}
    done = rescore(load_checkpoint("mine:level").model, Texts(), QUERIES, RUN, name="level")
    counts = done.rows("few", "test").set_index("measure")["value"]
    assert (done.run.tied, counts["queries whose passages all tie"]) == (1, 1)


BAD_FRAMES = {
    "without": (
        "wanted a frame with the columns docno and score; found columns qid, query, docno, text; "
        "fix its transform"
    ),
    "shorter": (
        "wanted a row for each of 3 distinct passages; found 1 rows of 1 of them; fix its transform"
    ),
    "text": (
        "wanted a frame with the columns docno and score; found str without columns; fix its "
        "transform"
    ),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_frames_that_cannot_be_used_are_one_line_with_the_query(name: str) -> None:
    with pytest.raises(InputError, match=f"^mine:{name}, query 'q1': {BAD_FRAMES[name]}"):
        scores(f"mine:{name}")


def test_a_kind_of_others() -> None:
    wanted = (
        "--kind: wanted one of bi-encoder or cross-encoder for mine:length, which is a user's own "
        "code; found 'sparse'"
    )
    with pytest.raises(SettingError, match=wanted):
        load_checkpoint("mine:length", "sparse")


def test_a_passage_that_is_not_there(small_collection: Collection) -> None:
    with pytest.raises(InputError, match="wanted passage 'p2' in the collection"):
        rescore(load_checkpoint("mine:length").model, small_collection, QUERIES, RUN, name="mine")
