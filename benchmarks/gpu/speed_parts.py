"""The parts of ``speed.py``: products, re-ranking, encoding and search beside their peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from search import search_speed
from speed_material import CUDA, DEVICE, HALF, Material, alternated, busy, timed

from positionbias.core.records import Query
from positionbias.dense import passage_blocks
from positionbias.dense.passage_blocks import Rows, encoded_blocks
from positionbias.dense.single_vectors import SingleVectors
from positionbias.engine.ahead import ahead
from positionbias.models import packed_attention
from positionbias.models.packed import PackedBatch, PackedEncoder, packed_encoder
from positionbias.models.packed_attention import attend_packed
from positionbias.models.packed_models import PackedPairs
from positionbias.models.token_rows import TokenRows
from positionbias.models.transfer import Fetched
from positionbias.ranking import packed_pairs
from positionbias.ranking.batches import TokenBudget, length_batches
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.rerank import rescore

Found = dict[str, Any]
PEER_BATCHES = (64, 256, 1_024)


def facts(material: Material) -> Found:
    """The machine, and what it has."""
    known: Found = {
        "torch": torch.__version__,
        "varlen": packed_attention._flash() is not None,
        "triton": find_spec("triton") is not None,
    }
    known["flash_attn"] = find_spec("flash_attn") is not None
    if CUDA:
        known |= {
            "device": torch.cuda.get_device_name(),
            "capability": torch.cuda.get_device_capability(),
        }
        known["packs"], known["attention"] = (
            packed_attention.packs_on(DEVICE, HALF),
            _checked_attention(),
        )
    return known


def _checked_attention() -> Found:
    """The largest difference of fused attention from attention text by text in float32: of all
    tokens, and of first ones alone.
    """
    lengths = torch.tensor([3, 200, 57, 1], device=DEVICE)
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).int()
    joint = torch.randn(int(offsets[-1]), 3, 12, 32, device=DEVICE, dtype=HALF)
    query, key, value = joint.unbind(1)
    exact, firsts = attend_packed(*joint.float().unbind(1), offsets, 200), offsets[:-1].long()
    whole, first = (
        attend_packed(asked, key, value, offsets, 200).float() for asked in (query, query[firsts])
    )
    return {
        "all": float((whole - exact).abs().max()),
        "first": float((first - exact[firsts]).abs().max()),
    }


def products(material: Material) -> Found:
    """TFLOP/s of matrix products: square ones, the limit; and an encoder's."""
    size = material.size.rates
    shapes = {"square": (size, size, size)}
    for name, (width, inner) in {"minilm": (384, 1_536), "base": (768, 3_072)}.items():
        shapes |= {
            f"{name} in": (16 * size, width, inner),
            f"{name} out": (16 * size, inner, width),
        }
    found = material.begin()
    for dtype in (HALF, torch.float32):
        for name, (rows, inner, columns) in shapes.items():
            if dtype == torch.float32 and name != "square":
                continue
            left = torch.randn(rows, inner, device=DEVICE, dtype=dtype)
            right = torch.randn(inner, columns, device=DEVICE, dtype=dtype)
            times = 20 if CUDA else 2
            left @ right
            seconds = (
                timed(
                    lambda left=left, right=right, times=times: [left @ right for _ in range(times)]
                )
                / times
            )
            found[f"{name} {str(dtype)[6:]}"] = 2 * rows * inner * columns / seconds / 1e12
    return found


# -- re-ranking ------------------------------------------------------------------------------------


def reranking(material: Material, shape: str) -> Found:
    """BERT_CAT beside ``CrossEncoder.predict`` in bfloat16, on distinct passages, tokenizing
    included.
    """
    from sentence_transformers import CrossEncoder

    model, folder = material.bert_cat(shape)
    model.to(DEVICE)
    asked = [Query(f"q{number}", text) for number, text in enumerate(material.queries)]
    kwargs = {
        "dtype": HALF,
        "attn_implementation": "flash_attention_2" if find_spec("flash_attn") else "sdpa",
    }
    peer = CrossEncoder(str(folder), device=DEVICE.type, local_files_only=True, model_kwargs=kwargs)
    share = -(-len(asked) // material.size.peer)
    pairs, ids = material.pairs(share)
    config = RankingConfig(precision="bfloat16")

    def ours() -> Any:
        return rescore(model, material, asked, material.run, name="ours", config=config)

    def predicted(size: int, count: int | None = None) -> Any:
        return peer.predict(
            pairs[:count],
            batch_size=size,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
        )

    ours()
    best = best_batch(predicted, len(pairs) // 4)
    found = material.begin()
    found |= {
        "pairs": material.run.pairs,
        "peer's pairs": len(pairs),
        "peer's batch": best,
        "attention": kwargs["attn_implementation"],
    }
    found |= alternated(ours, lambda: predicted(best), (material.run.pairs, len(pairs)))
    found |= {
        "ours": busy(ours),
        "waiting": waiting(ours),
        "peer": busy(lambda: predicted(best), 3),
    }
    found["agreement"] = _agreement(
        model, material, asked[: min(20, share)], np.asarray(predicted(best), np.float32), ids
    )
    return found


def _agreement(
    model: Any,
    material: Material,
    asked: list[Query],
    theirs: np.ndarray,
    ids: list[tuple[str, str]],
) -> Found:
    """The mean difference from float32 of both, in standard deviations of the scores."""
    run = material.run.only([query.query_id for query in asked], "few")
    scores = {}
    for precision in ("float32", "bfloat16"):
        done = rescore(
            model, material, asked, run, name="ours", config=RankingConfig(precision=precision)
        ).run
        scores[precision] = {
            (query_id, passage): score
            for query_id in done
            for passage, score in zip(
                done[query_id].passage_ids, done[query_id].scores, strict=True
            )
        }
    exact = np.array([scores["float32"][pair] for pair in ids[: run.pairs]])
    half = np.array([scores["bfloat16"][pair] for pair in ids[: run.pairs]])
    spread = float(exact.std())
    return {
        "deviation": spread,
        "ours": float(np.abs(half - exact).mean() / spread),
        "peer": float(np.abs(theirs[: run.pairs] - exact).mean() / spread),
    }


def best_batch(work: Callable[[int, int], Any], count: int) -> int:
    """The batch size at which the peer is fastest on its first ``count`` texts."""
    work(PEER_BATCHES[0], count)
    seconds = {size: timed(partial(work, size, count)) for size in PEER_BATCHES}
    return min(seconds, key=lambda size: seconds[size])


def waiting(work: Callable[[], object]) -> Found:
    """The shares of the time in which the main thread waits for tokens, and for the device; what is
    left it packs and launches.
    """
    spent = {"for tokens": 0.0, "for the device": 0.0}

    def clocked(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed_call(*given: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given)
            finally:
                spent[name] += time.perf_counter() - began

        return timed_call

    def clocked_ahead(*given: Any) -> Iterator[Any]:
        with closing(ahead(*given)) as items:
            following = clocked("for tokens", lambda: next(items, None))
            while (item := following()) is not None:
                yield item

    with (
        patch.object(packed_pairs, "ahead", clocked_ahead),
        patch.object(passage_blocks, "ahead", clocked_ahead),
        patch.object(Fetched, "numpy", clocked("for the device", Fetched.numpy)),
    ):
        seconds = timed(work)
    return {name: share / seconds for name, share in spent.items()} | {"s": seconds}


# -- where the time goes ---------------------------------------------------------------------------


def device_alone(material: Material, shape: str) -> Found:
    """Pairs a second when all texts lie on the device as tokens: by batch size, with variants; and
    how fast the host reads.
    """
    model, _ = material.bert_cat(shape)
    model.to(DEVICE)
    began = time.perf_counter()
    lists = model.read_passages(material.passages)
    read = time.perf_counter()
    passages = TokenRows.of(lists)
    rows = time.perf_counter()
    queries = TokenRows.of(model.read_queries(material.queries))
    total = len(passages.tokens)
    found = material.begin()
    found |= {
        "tokenized a second": total / (read - began),
        "copied to arrays a second": total / (rows - read),
    }
    random = np.random.default_rng(5)
    count = min(16_384, len(passages)) if CUDA else 32
    asked, places = (
        random.integers(0, len(queries), count),
        random.permutation(len(passages))[:count],
    )
    lengths = queries.lengths[asked] + passages.lengths[places]
    encoder = packed_encoder(model.encoder.backbone, HALF)
    assert encoder is not None
    packed = PackedPairs(model, encoder)
    source = packed.source(queries, passages)
    operations = _operations(material.size.shapes[shape], np.minimum(lengths, model.room) + 3)

    def batches(tokens: int) -> Iterator[PackedBatch]:
        for batch in length_batches(lengths, TokenBudget(tokens)):
            one, two = asked[batch], places[batch]
            yield packed.batch(source, one, two, (queries.lengths[one], passages.lengths[two]))

    def rate(encoder: PackedEncoder, tokens: int) -> Found:
        own = PackedPairs(model, encoder)
        work = lambda: [own.scores(batch) for batch in batches(tokens)]  # noqa: E731
        work()
        seconds = min(timed(work) for _ in range(2))
        return {"pairs a second": count / seconds, "TFLOP/s": operations / seconds / 1e12}

    for tokens in (65_536, 131_072, 262_144, 524_288) if CUDA else (4_096,):
        found[f"{tokens} tokens"] = rate(encoder, tokens)
    found["only packing a second"] = count / timed(lambda: list(batches(131_072)))
    found["kernels"] = busy(lambda: [packed.scores(batch) for batch in batches(131_072)])
    return found


def _operations(shape: dict[str, int], lengths: np.ndarray) -> float:
    """Multiplications and additions over texts of these lengths, the last layer for [CLS] alone."""
    width, inner, layers = (
        shape["hidden_size"],
        shape["intermediate_size"],
        shape["num_hidden_layers"],
    )
    tokens, squares = float(lengths.sum()), float((lengths.astype(float) ** 2).sum())
    layer = tokens * 2 * (4 * width * width + 2 * width * inner) + 4 * squares * width
    last = tokens * 4 * width * width + 4 * tokens * width
    return (layers - 1) * layer + last


# -- encoding and search ---------------------------------------------------------------------------


def encoding(material: Material, shape: str) -> Found:
    """Passages with mean pooling beside ``SentenceTransformer.encode`` in bfloat16, tokenizing
    included.
    """
    from sentence_transformers import SentenceTransformer

    model, folder = material.bert_dot(shape)
    model.to(DEVICE)
    peer = SentenceTransformer(
        str(folder), device=DEVICE.type, local_files_only=True, model_kwargs={"dtype": HALF}
    )
    count = len(material.passages)
    texts = material.passages[: count // 3]
    kept: list[np.ndarray] = []

    def ours() -> None:
        held: Any = type("Held", (), {"model": model, "name": "ours"})()
        encoder = SingleVectors(held, RankingConfig(precision="bfloat16"))
        blocks = encoded_blocks(encoder, material, material, Rows(0, count), np.dtype(np.float32))
        kept[:] = [block.vectors for block in blocks]

    def theirs(size: int, some: int | None = None) -> Any:
        return peer.encode(texts[:some], batch_size=size, show_progress_bar=False)

    ours()
    best = best_batch(theirs, len(texts) // 3)
    found = material.begin()
    found |= {"texts": count, "peer's texts": len(texts), "peer's batch": best}
    found |= alternated(ours, lambda: theirs(best), (count, len(texts)))
    found |= {"ours": busy(ours), "waiting": waiting(ours), "peer": busy(lambda: theirs(best), 3)}
    cosines = (np.concatenate(kept)[: len(texts)] * np.asarray(theirs(best), np.float32)).sum(
        axis=1
    )
    found["cosines of both"] = {"mean": float(cosines.mean()), "least": float(cosines.min())}
    return found


def searching(material: Material) -> Found:
    """Exact search, beside itself as it was and torch's product and topk, over the same blocks: a
    tenth of the vectors by depth, then all.
    """
    size, found = material.size, material.begin()
    for vectors, depth, turns in (
        (size.vectors // 10, 100, 2),
        (size.vectors, 100, 1),
        (size.vectors // 10, 1_000, 1),
    ):
        found[f"{vectors} vectors, top {depth}"] = search_speed(
            DEVICE, vectors, size.searching, depth, turns
        )
    return found
