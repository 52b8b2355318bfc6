"""A user's encoder, named on the command line or given in Python: its vectors, how it is known from
a scorer, and one line for what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.protocols import SingleVector, TextScorer
from positionbias.models.text_encoder import TextEncoder
from positionbias.planted.settings import PlantedSettings
from tests.tiny import planted

CODE = '''
from enum import Enum
from zlib import crc32
import numpy, torch

calls = []

def encode(texts):
    """Counts of words by hash, at length 1."""
    calls.append(len(texts))
    out = numpy.zeros((len(texts), 64))
    for place, text in enumerate(texts):
        for word in text.lower().split():
            out[place, crc32(word.encode()) % 64] += 1
    return out / numpy.maximum(numpy.linalg.norm(out, axis=1, keepdims=True), 1e-9)

def rows(texts): return encode(texts).tolist()
def tensors(texts, batch_size=32): return [torch.tensor(row, requires_grad=True) for row in \
encode(texts)]

class Sides:
    def encode_queries(self, texts): return 2 * encode(texts)
    def encode_passages(self, texts): return 3 * encode(texts)

class Library:
    similarity_fn_name = "cosine"
    def encode(self, texts, show_progress_bar=None): return 5 * encode(texts)
    def __call__(self, inputs): raise AssertionError("the library's forward is not for texts")

class Skewed(Sides):
    def encode_queries(self, texts): return encode(texts)[:, :32]

sides, library, skewed = Sides(), Library(), Skewed()

class Manhattan(Sides): similarity_fn_name = "manhattan"
class Named(Sides): similarity_fn_name = Enum("Similarity", {"COSINE": "cosine"}).COSINE

manhattan, named = Manhattan(), Named()

def centred(texts): return encode(texts) - encode(texts).mean(axis=0)
def fewer(texts): return encode(texts)[1:]
def flat(texts): return encode(texts)[:, 0]
def uneven(texts): return [[1.0], [1.0, 2.0]]
def words(texts): return [["a"]] * len(texts)
def nan(texts): return numpy.full((len(texts), 2), float("nan"))
def fails(texts): raise KeyError("a key of mine")
def drops(texts): return encode(texts) + len(calls)
def unordered(texts): return encode(sorted(texts))
def anything(*texts): return encode(texts)
def three(query, passages, weights): return [0.0] * len(passages)
def either(texts, *more): return encode(texts) if not more else [1.0] * len(more[0])
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "vectorial.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("vectorial", None)


def vectors(model: Any, texts: list[str]) -> np.ndarray:
    return model.encode_passages(model.read_passages(texts))[0][:, 0].numpy()


@pytest.mark.parametrize("name", ["encode", "rows", "tensors", "sides", "library"])
def test_its_vectors(name: str) -> None:
    model = load_checkpoint(f"vectorial:{name}").model
    assert isinstance(model, SingleVector)
    assert not isinstance(model, TextScorer)
    plain = np.asarray(sys.modules["vectorial"].encode(["iron gate", "a lamp"]))
    by = {"sides": (2, 3), "library": (5, 5)}.get(name, (1, 1))
    np.testing.assert_allclose(vectors(model, ["iron gate", "a lamp"]), by[1] * plain, rtol=1e-6)
    queries, mask = model.encode_queries(model.read_queries(["a lamp"]))
    np.testing.assert_allclose(queries[:, 0].numpy(), by[0] * plain[1:], rtol=1e-6)
    passages, other = model.encode_passages(model.read_passages(["iron gate", "a lamp"]))
    wanted = by[0] * by[1] * (plain[1] @ plain.T) if name != "library" else plain[1] @ plain.T
    np.testing.assert_allclose(
        model.interact(queries, mask, passages, other).numpy(), wanted, rtol=1e-6
    )
    assert (model.dimension, model.vector_similarity) == (
        64,
        "cosine" if name == "library" else "dot",
    )


def test_long_lists_come_in_parts_and_empty_texts_count_as_empty() -> None:
    model = load_checkpoint("vectorial:encode").model
    assert isinstance(model, TextEncoder)
    calls = sys.modules["vectorial"].calls
    calls.clear()
    assert vectors(model, ["a lamp"] * 600).shape == (600, 64)
    assert calls == [256, 256, 88]
    assert [len(row) for row in model.read_passages(["", " ", "a lamp"])] == [0, 0, 1]


BAD = {
    "fewer": (
        r"wanted vectors of 2 queries, \(2, dim\) finite numbers; found \(1, 64\); fix what encodes"
    ),
    "flat": r"wanted vectors of 2 queries, .*; found \(2,\); fix what encodes",
    "uneven": r"wanted .* finite numbers; found values that are not numbers; fix",
    "words": r"wanted .* finite numbers; found <U1 values; fix",
    "nan": r"wanted .* finite numbers; found nan for text 1; fix",
    "fails": (
        r"wanted vectors of 2 queries; found that it raised KeyError at vectorial.py:.*: 'a key of "
        r"mine'; fix it"
    ),
    "drops": (
        r"wanted the same vectors for the same queries, in the order of the texts; found a change "
        r"of .* between two calls"
    ),
    "unordered": (
        r"wanted the same vectors for the same queries, in the order of the texts; found a change "
        r"of"
    ),
    "centred": (
        r"wanted the same vectors .*; found a change of .*; return them in order, whatever else is "
        r"in the call"
    ),
    "manhattan": (
        r"wanted a similarity_fn_name of dot or cosine; found 'manhattan'; give another, or a "
        r"function \(query, passages\)"
    ),
    "skewed": (
        r"wanted vectors of 2 passages, \(2, 32\) finite numbers; found \(2, 64\); fix what encodes"
    ),
    "anything": (
        r"wanted a function of one argument .* or of two .*; found a function that needs "
        r"\(\*texts\); say what it is with --kind"
    ),
    "three": (
        r"wanted a function of .*; found a function that needs \(query, passages, weights\); say "
        r"what it is with --kind bi-encoder"
    ),
    "either": (
        r"wanted a function of .*; found a function that needs \(texts, \*more\); say what it is "
        r"with --kind bi-encoder or cross-encoder"
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match=f"^vectorial:{name}: {BAD[name]}") as caught:
        load_checkpoint(f"vectorial:{name}")
    assert "\n" not in str(caught.value)


def test_a_similarity_may_be_of_an_enum() -> None:
    model = load_checkpoint("vectorial:named").model
    assert isinstance(model, TextEncoder)
    assert model.vector_similarity == "cosine"


def test_a_kind_says_what_the_arguments_do_not() -> None:
    assert load_checkpoint("vectorial:either", "bi-encoder").model.kind == "encoder"
    assert load_checkpoint("vectorial:either", "cross-encoder").model.kind == "function"
    assert load_checkpoint("vectorial:library", "bi-encoder").model.kind == "encoder"
    assert load_checkpoint("operator:add").model.kind == "function"


def test_an_error_of_memory_is_passed_on() -> None:
    """So that the batch is halved, as for any model."""
    model = load_checkpoint("vectorial:encode").model
    assert isinstance(model, TextEncoder)

    def full(texts: list[str]) -> Any:
        raise torch.OutOfMemoryError("full")

    model._passages = full
    with pytest.raises(torch.OutOfMemoryError):
        vectors(model, ["a"])


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=100, passages=200, test_share=0.6, validation_share=0.1, front_loading=0.9
    )
    return planted(tmp_path_factory.mktemp("encoders") / "planted", settings)


def plain(query: str, passages: list[str]) -> list[float]:
    return [float(len(passage)) for passage in passages]
