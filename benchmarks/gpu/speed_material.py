"""What ``speed.py`` measures with: sizes, invented texts and runs, models with random weights, and
clocks.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from positionbias.core.run import Run
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import Encoder, load_encoder, quiet_transformers
from positionbias.models.shapes import BertCatConfig, BertDotConfig

CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
HALF = torch.bfloat16
MINILM = {
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
BASE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}
TOY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}


@dataclass(frozen=True)
class Size:
    """How much each part does. ``peer`` is the share of the pairs that the peer gets, which needs
    no more for a rate.
    """

    shapes: dict[str, dict[str, int]]
    passages: int
    queries: int
    depth: int
    peer: int
    steps: int
    rates: int
    vectors: int
    searching: int
    seconds: float


FULL = Size(
    {"minilm": MINILM, "base": BASE}, 60_000, 600, 100, 6, 60, 8_192, 10_000_000, 10_000, 75.0
)
SIZES = {
    "full": FULL,
    "toy": Size({"minilm": TOY, "base": TOY}, 60, 4, 8, 2, 3, 64, 5_000, 20, 60.0),
}


class Material:
    """Texts of the tokenizer's own words, a run over them, and models, made when first asked
    for.
    """

    def __init__(self, data: Path, work: Path, size: Size) -> None:
        self.data, self.work, self.size = data, work, size
        self.found: dict[str, Any] = {}
        work.mkdir(parents=True, exist_ok=True)

    def begin(self) -> dict[str, Any]:
        """Begin a part; what it has found stays here if it ends early."""
        self.found = {}
        return self.found

    @cached_property
    def tokenizer_folder(self) -> Path:
        """MiniLM's tokenizer and config, unpacked."""
        folder = self.work / "minilm"
        folder.mkdir(exist_ok=True)
        for path in (self.data / "minilm").glob("*.gz"):
            if not (folder / path.stem).exists():
                with gzip.open(path) as packed, open(folder / path.stem, "wb") as whole:
                    shutil.copyfileobj(packed, whole)
        return folder

    @cached_property
    def tokenizer(self) -> Any:
        """MiniLM's."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.tokenizer_folder, local_files_only=True)

    @cached_property
    def passages(self) -> list[str]:
        """Distinct passages as long as SQuAD's: about 120 words, a normal deviation of 50, at least
        20.
        """
        return self._texts(self.size.passages, 120, 50, 20, seed=1)

    @cached_property
    def queries(self) -> list[str]:
        """Queries of about 10 words."""
        return self._texts(self.size.queries, 10, 3, 3, seed=2)

    def _texts(self, count: int, mean: float, deviation: float, least: int, seed: int) -> list[str]:
        random = np.random.default_rng(seed)
        words = np.array(
            sorted(word for word in self.tokenizer.get_vocab() if word.isalpha() and len(word) > 1)
        )
        # as in a language, few words make up most of a text
        shares = 1.0 / np.arange(3, len(words) + 3)
        random.shuffle(words)
        lengths = np.maximum(random.normal(mean, deviation, count), least).astype(int)
        drawn = words[random.choice(len(words), lengths.sum(), p=shares / shares.sum())]
        return [" ".join(part) + "." for part in np.split(drawn, lengths.cumsum()[:-1])]

    @cached_property
    def run(self) -> Run:
        """``depth`` passages for each query, drawn at random: hardly any is drawn twice."""
        random, size = np.random.default_rng(3), self.size
        rows = [
            random.choice(size.passages, size.depth, replace=False) for _ in range(size.queries)
        ]
        scores = list(range(size.depth, 0, -1))
        return Run(
            "drawn",
            [(f"q{number}", [f"p{row}" for row in own], scores) for number, own in enumerate(rows)],
        )

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """As a collection gives them."""
        return [self.passages[int(passage_id[1:])] for passage_id in passage_ids]

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """As a collection gives them."""
        return [self.passages[row] for row in rows]

    def pairs(self, queries: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The texts of the first queries' pairs in the run's order, and their ids."""
        ids = [
            (f"q{number}", passage_id)
            for number in range(queries)
            for passage_id in self.run[f"q{number}"].passage_ids
        ]
        return [
            (self.queries[int(query_id[1:])], self.texts([passage_id])[0])
            for query_id, passage_id in ids
        ], ids

    def encoder(self, shape: str) -> Encoder:
        """MiniLM, or an encoder with random weights of another shape."""
        from transformers import BertConfig, BertModel

        torch.manual_seed(1)
        known = self.size.shapes[shape]
        if known is MINILM:
            return load_encoder(self.tokenizer_folder)
        config = BertConfig(
            vocab_size=len(self.tokenizer),
            max_position_embeddings=512,
            initializer_range=0.05,
            **known,
        )
        with quiet_transformers():
            return Encoder(BertModel(config, add_pooling_layer=False).eval(), self.tokenizer)

    def bert_cat(self, shape: str) -> tuple[BertCat, Path]:
        """A BERT_CAT, and the folder that sentence-transformers loads it from."""
        model = BertCat(BertCatConfig(), self.encoder(shape)).eval()
        return model, self._saved(model, f"cat-{shape}")

    def bert_dot(self, shape: str) -> tuple[BertDot, Path]:
        """A bi-encoder with mean pooling and unit vectors, and its folder."""
        model = BertDot(BertDotConfig(pooling="mean", normalize=True), self.encoder(shape)).eval()
        return model, self._saved(model, f"dot-{shape}")

    def _saved(self, model: BertCat | BertDot, name: str) -> Path:
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        model.save(folder)
        return folder


def wait() -> None:
    """Let the device finish."""
    if CUDA:
        torch.cuda.synchronize()


def timed(work: Callable[[], object]) -> float:
    """Seconds until the device has done it."""
    wait()
    began = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - began


def alternated(
    ours: Callable[[], object], theirs: Callable[[], object], counts: tuple[int, int]
) -> dict[str, Any]:
    """Rates of both, A-B-A-B, and the ratio of each side's best; ``counts`` are how many each
    does.
    """
    seconds: list[list[float]] = [[], []]
    for _ in range(2):
        for place, work in enumerate((ours, theirs)):
            seconds[place].append(timed(work))
    rates = [[count / second for second in own] for count, own in zip(counts, seconds, strict=True)]
    return {
        "ours a second": rates[0],
        "peer a second": rates[1],
        "ratio": max(rates[0]) / max(rates[1]),
        "load": os.getloadavg()[0],
    }


def busy(work: Callable[[], object], kernels: int = 12) -> dict[str, Any]:
    """The share of the time in which the GPU computed, and the kernels that took most of it;
    nothing without a GPU.
    """
    from torch.profiler import ProfilerActivity, profile

    if not CUDA:
        work()
        return {}
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        seconds = timed(work)
    events = sorted(seen.key_averages(), key=lambda event: -event.self_device_time_total)
    total = sum(event.self_device_time_total for event in events) / 1e6
    longest = {
        event.key[:90]: round(event.self_device_time_total / 1e6 / seconds, 4)
        for event in events[:kernels]
    }
    return {"GPU busy": total / seconds, "shares of the time": longest}
