"""Measure a model's rates on this machine, in seconds: on texts of a collection or on invented words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.nearest import Block
from positionbias.core.progress import SILENT, step
from positionbias.core.run import Run, read_run, write_run
from positionbias.core.seal import seal_file
from positionbias.core.seeds import choose, generator
from positionbias.core.system import load, peak_memory
from positionbias.core.timing import seconds_each
from positionbias.dense.exact import exact_search
from positionbias.dense.passage_blocks import Rows, encoded_blocks
from positionbias.dense.settings import DENSE_DEPTH
from positionbias.dense.single_vectors import SingleVectors
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import Served, encodes_alone
from positionbias.planning.rates import Rate
from positionbias.planning.settings import StepName
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.score import score_candidates
from positionbias.ranking.spent import hardware_of

__all__ = ["Sample", "invented_texts", "written_at", "texts_of"]

TEXTS, QUERIES = 8_192, 16  # the texts of a shard
FEW = 64  # texts read for several queries
BLOCK = 128  # texts of a timed block; all blocks have texts of the same lengths
VECTORS = 1 << 17  # of the timed search
_Timed = tuple[dict[str, float], float]
_SYLLABLES = ("ba", "den", "fil", "go", "hu", "kam", "lor", "mi", "ne", "pas", "ro", "sut", "ti", "ven", "wa", "yo")


def invented_texts(words: float, number: int = TEXTS) -> list[str]:
    """Return texts of invented words, whose lengths vary evenly by half of their mean."""
    draw = generator(1, "words of a plan")
    lengths = np.maximum(1, draw.uniform(0.5 * words, 1.5 * words, number)).astype(int)
    syllables = draw.integers(0, len(_SYLLABLES), (int(lengths.sum()), 2))
    told = ["".join(_SYLLABLES[one] for one in row) for row in syllables.tolist()]
    ends = np.cumsum(lengths).tolist()
    return _even([" ".join(told[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)])


def texts_of(collection: Collection) -> list[str]:
    """Return texts of passages drawn from a collection."""
    rows = choose(len(collection), min(TEXTS, len(collection)), 1, "passages of a plan")
    return _even(collection.texts_at(np.array(sorted(rows), np.int64)))


def _even(texts: list[str]) -> list[str]:
    """Order texts so that each block has short and long ones alike."""
    ordered = sorted(texts, key=len)
    blocks = max(1, len(ordered) // BLOCK)
    return [text for first in range(blocks) for text in ordered[first::blocks]]


@dataclass(frozen=True)
class Sample:
    """A model on its device, and the texts to time it on."""

    checkpoint: Checkpoint
    texts: Sequence[str]
    config: RankingConfig
    seconds: float

    def rate(self, what: StepName) -> Rate:
        """Time the model's part of a step.

        Raises:
            SettingError: a model behind an endpoint, or one that does not fit the step.
        """
        model = self.checkpoint.model
        if isinstance(model, Served):
            raise SettingError(
                "--model: wanted a model on this machine to time it; found an endpoint, where each text is paid for; give --rate or --measured"
            )
        with step(f"timing {self.checkpoint.name}", None):
            busy = load()
            timed, processor = {"encode": self._encoding, "retrieve": self._searching}.get(what, self._scoring)()
        device, day = model.device, time.strftime("%Y-%m-%d", time.gmtime())
        threads = "" if device.type == "cuda" else f", {torch.get_num_threads()} threads"
        note = f"here, {day}: {len(self.texts):,} texts at most on {hardware_of(device)}{threads}"
        note += "" if busy is None else f", at load {busy:.1f}"
        held = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
        return Rate(device.type, "measured", note, processor, **timed, memory=peak_memory(), gpu_memory=held)

    def _encoding(self) -> _Timed:
        encoder = SingleVectors(self.checkpoint, self.config)
        texts = _Texts(self.texts)

        def encode(number: int) -> None:
            for _ in encoded_blocks(encoder, texts, texts, Rows(0, number), np.dtype(np.float16)):
                pass

        seconds, processor = self._each(encode, self.seconds)
        return {"passage": seconds}, processor

    def _scoring(self) -> _Timed:
        """Of a model that encodes passages alone: the seconds of a passage, and of a pair from many queries over the same passages."""
        alone = encodes_alone(self.checkpoint.model)
        one, processor = self._each(lambda number: self._score(1, number), self.seconds * (0.7 if alone else 1))
        if not alone:
            return {"pair": one}, processor
        few = min(FEW, len(self.texts))
        least = [min(self._once(queries, few) for _ in range(2)) for queries in (1, QUERIES)]
        pair = max(0.0, least[1] - least[0]) / ((QUERIES - 1) * few)
        return {"passage": max(0.0, one - pair), "pair": pair}, processor

    def _once(self, queries: int, passages: int) -> float:
        began = time.perf_counter()
        self._score(queries, passages)
        return time.perf_counter() - began

    def _score(self, queries: int, passages: int) -> None:
        ids = [str(number) for number in range(passages)]
        run = Run("sample", ((f"q{number}", ids, np.arange(passages, 0, -1)) for number in range(queries)))
        asked = {f"q{number}": " ".join(self.texts[number % len(self.texts)].split()[:8]) for number in range(queries)}
        score_candidates(self.checkpoint.model, _Texts(self.texts), asked, run, self.config, SILENT, name="sample")

    def _searching(self) -> _Timed:
        encoder = SingleVectors(self.checkpoint, self.config)
        drawn = _Drawn(encoder.model.dimension)
        queries = generator(1, "queries of a plan").standard_normal((1_024, drawn.dimension), np.float32)

        def search(number: int) -> None:
            list(exact_search(drawn, queries[:number], DENSE_DEPTH, device=encoder.model.device))

        seconds, processor = _timed(search, len(queries), self.seconds)
        return {"product": seconds / len(drawn)}, processor

    def _each(self, call: Callable[[int], object], patience: float) -> tuple[float, float]:
        """Return the seconds of a text, by calls for blocks of them, and those of all processors a second."""
        block = min(BLOCK, len(self.texts))
        blocks = len(self.texts) // block
        seconds, processor = _timed(lambda number: call(number * block), blocks, patience)
        return seconds / block, processor


def _timed(call: Callable[[int], object], most: int, patience: float) -> tuple[float, float]:
    """Return the least seconds of one, and the least seconds of all processors of one by those."""
    processor: list[float] = []

    def timed(number: int) -> None:
        began = time.process_time()
        call(number)
        processor.append((time.process_time() - began) / number)

    seconds = seconds_each(timed, most, patience=patience)
    return seconds, min(processor[1:]) / seconds


@dataclass(frozen=True)
class _Texts:
    """Texts whose ids are their places."""

    all: Sequence[str]

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [self.all[int(number)] for number in passage_ids]

    def texts_at(self, rows: np.ndarray) -> list[str]:
        return [self.all[row] for row in rows.tolist()]

    def passage_ids_at(self, rows: np.ndarray) -> list[str]:
        return [str(row) for row in rows.tolist()]


class _Drawn:
    """Random vectors in float16, in memory."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def __len__(self) -> int:
        return VECTORS

    def by_descending_id(self) -> np.ndarray:
        return np.arange(VECTORS)

    @cached_property
    def _vectors(self) -> np.ndarray:
        draw = generator(1, "vectors of a plan")
        return draw.standard_normal((VECTORS, self.dimension), np.float32).astype(np.float16)

    def blocks(self) -> Iterator[Block]:
        for first in range(0, VECTORS, 8_192):
            yield np.arange(first, first + 8_192), self._vectors[first : first + 8_192]


def written_at(size: int) -> tuple[float, float, float]:
    """Return measured here, on a file of ``size`` bytes that the system still holds: seconds to write and hash a shard, seconds a byte of a
    manifest's digests; and seconds to write and read a pair of a run. Each is the least of three."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        shard = folder / "shard"
        ids = [str(number) for number in range(1_000)]
        run = Run("sample", ((f"q{number}", ids, np.arange(1_000, 0, -1)) for number in range(20)))

        def write() -> None:
            shard.write_bytes(bytes(size))
            sha256_file(shard), sha256_file(shard)  # by its maker, and for its receipt

        def pass_on() -> None:
            write_run(folder / "run", run, overwrite=True)
            read_run(folder / "run")

        written, digested, passed = (_least(call) for call in (write, lambda: seal_file(shard), pass_on))
    return written, digested / size, passed / run.pairs


def _least(call: Callable[[], object]) -> float:
    took = []
    for _ in range(3):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return min(took)
