"""How fast the host makes tokens: the tokenizer's own threads, alone and while lists are made of
what came before, and processes.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from positionbias.engine.ahead import ahead

CHUNK = 256  # texts sent to a process at once
_tokenizer: Any = None


def _start(path: Path) -> None:
    global _tokenizer
    _tokenizer = Tokenizer.from_file(str(path))
    _tokenizer.no_truncation()
    _tokenizer.no_padding()


def _read(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    rows = [
        encoding.ids for encoding in _tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    ]
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    return np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths


def tokenizing(material: Any) -> dict[str, Any]:
    """Tokens a second in threads and in so many processes; ``start s`` is what the first texts of a
    pool wait for.
    """
    found: dict[str, Any] = material.begin()
    path, texts = material.tokenizer_folder / "tokenizer.json", material.passages
    _start(path)
    _read(texts[:CHUNK])
    began = time.perf_counter()
    encodings = _tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    read = time.perf_counter()
    lists = [encoding.ids for encoding in encodings]
    listed = time.perf_counter()
    total = sum(map(len, lists))
    found |= {
        "cores": os.cpu_count(),
        "threads": total / (read - began),
        "lists of numbers": total / (listed - read),
    }
    began = time.perf_counter()
    parts = (texts[at : at + 2_048] for at in range(0, len(texts), 2_048))
    for part in ahead(
        _tokenizer.encode_batch_fast(part, add_special_tokens=False) for part in parts
    ):
        for encoding in part:
            encoding.ids  # noqa: B018
    found["both at once"] = total / (time.perf_counter() - began)
    chunks = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        for workers in (4, 8, 14) if len(texts) > 1_000 else (2,):
            began = time.perf_counter()
            with ProcessPoolExecutor(workers, get_context("spawn"), _start, (path,)) as pool:
                list(pool.map(_read, chunks[:workers]))
                ready = time.perf_counter()
                tokens = sum(len(numbers) for numbers, _ in pool.map(_read, chunks))
                rate = tokens / (time.perf_counter() - ready)
            found[f"{workers} processes"] = {"a second": rate, "start s": ready - began}
    finally:
        os.environ["TOKENIZERS_PARALLELISM"] = "true"
    return found
