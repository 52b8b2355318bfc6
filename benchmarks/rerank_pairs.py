"""BERT_CAT re-ranking against sentence-transformers' ``CrossEncoder.predict``: the same checkpoint, pairs, threads and precision.

    python benchmarks/rerank_pairs.py             # writes benchmarks/results/rerank_pairs_HARDWARE_DATE.md

Pairs are questions of SQuAD's dev file under $POSBIAS_DATA, each with its paragraph. The checkpoint is MiniLM (extra ``minilm``)
with a head drawn at random: what the weights are changes no time. The peer runs with the batch size that is best for it on a part of
the pairs; then both take all pairs in turns. Beside them ours without each thing that makes it faster, and where its time goes.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import hardware, result_place
from torch import nn

from positionbias.formats.squad_json import read_squad
from positionbias.models.bert_cat import BertCat
from positionbias.models.encoder import load_encoder
from positionbias.models.linear import FastLinear, linear
from positionbias.models.shapes import BertCatConfig
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.pairs import score_pairs

Pairs = list[tuple[str, str]]
Timed = tuple[float, np.ndarray]
PEER_BATCHES = {"cpu": (4, 8, 16, 32, 64), "cuda": (32, 64, 128, 256, 512)}
OUR_TOKENS = {"cpu": (1_024, 2_048, 4_096, 8_192), "cuda": (32_768, 131_072, 524_288)}
TRIED = 256  # pairs on which batch sizes are tried


def squad_pairs(count: int) -> Pairs:
    """Questions with their paragraphs, drawn with a fixed seed."""
    data = os.environ.get("POSBIAS_DATA")
    if not data:
        raise SystemExit("set POSBIAS_DATA to the folder with squad/dev-v1.1.json")
    articles = read_squad(Path(data) / "squad" / "dev-v1.1.json").articles
    pairs = [(question.text, p.text) for article in articles for p in article.paragraphs for question in p.questions]
    return random.Random(1).sample(pairs, count)


def timed(work: Callable[[], np.ndarray], device: torch.device) -> Timed:
    gc.collect()
    began = time.perf_counter()
    scores = work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, scores


def rate(pairs: Pairs, work: Callable[[Pairs], np.ndarray], device: torch.device) -> float:
    """Pairs a second, the better of two runs."""
    return len(pairs) / min(timed(lambda: work(pairs), device)[0] for _ in range(2))


def cross_encoder(folder: Path, given: argparse.Namespace) -> Callable[..., np.ndarray]:
    from sentence_transformers import CrossEncoder

    peer = CrossEncoder(str(folder), device=given.device, local_files_only=True)
    dtype = RankingConfig(precision=given.precision).dtype(torch.device(given.device))

    def predict(pairs: Pairs, batch_size: int) -> np.ndarray:
        with torch.autocast(given.device, dtype=dtype, enabled=dtype != torch.float32):
            scores = peer.predict(pairs, batch_size=batch_size, activation_fn=nn.Identity(), show_progress_bar=False)
        return np.asarray(scores, np.float32).reshape(-1)

    return predict


@contextmanager
def torch_linears(model: nn.Module) -> Iterator[None]:
    """The model with PyTorch's own linear layers."""
    ours = [part for part in model.modules() if type(part) is FastLinear]
    for part in ours:
        part.__class__ = nn.Linear
    try:
        yield
    finally:
        for part in ours:
            part.__class__ = FastLinear


@contextmanager
def whole_last_layer(model: BertCat) -> Iterator[None]:
    """The model with its last layer computed for all tokens."""
    encoder: Any = model.encoder
    encoder.cls = lambda **inputs: encoder.last_hidden(**inputs)[:, 0]
    try:
        yield
    finally:
        del encoder.cls


def in_given_order(model: BertCat, pairs: Pairs, config: RankingConfig, size: int = 32) -> np.ndarray:
    """Batches of so many pairs as they come."""
    return np.concatenate([score_pairs(model, pairs[start : start + size], config) for start in range(0, len(pairs), size)])


def matrix_bound(model: BertCat, tokens: float, batch: int, multiply: Callable[..., torch.Tensor]) -> float:
    """Pairs a second if the layers' matrix products were all there is, each measured at the shape that a batch has."""
    shape = model.encoder.backbone.config
    width, inner, layers = shape.hidden_size, shape.intermediate_size, shape.num_hidden_layers
    products = {(width, width): 4 * (layers - 1) + 2, (width, inner): layers - 1, (inner, width): layers - 1}
    seconds = 0.0
    for (into, out), times in products.items():
        rows, weight, bias = torch.randn(batch, into), torch.randn(out, into), torch.randn(out)
        with torch.inference_mode():
            spans = []
            for _ in range(20):
                began = time.perf_counter()
                multiply(rows, weight, bias)
                spans.append(time.perf_counter() - began)
        seconds += times * statistics.median(spans) * tokens / batch
    return 1 / seconds


def shares(model: BertCat, pairs: Pairs, config: RankingConfig) -> list[tuple[str, float]]:
    """Where our time goes: seconds by kind of work, the largest first, of PyTorch's operations and of tokenising."""
    from torch.profiler import ProfilerActivity, profile

    began = time.perf_counter()
    model.read_queries([query for query, _ in pairs])
    model.read_passages([text for _, text in pairs])
    reading = time.perf_counter() - began
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        began = time.perf_counter()
        score_pairs(model, pairs, config)
        whole = time.perf_counter() - began
    kinds = {
        "linear": "linear layers",
        "addmm": "linear layers",
        "attention": "attention",
        "gelu": "GELU",
        "norm": "layer norm",
    }
    found = dict.fromkeys(kinds.values(), 0.0)
    for event in seen.key_averages():
        kind = next((label for part, label in kinds.items() if part in event.key), None)
        if kind:
            found[kind] += event.self_cpu_time_total / 1e6
    found["tokenising"] = reading
    found["all else"] = whole - sum(found.values())
    return sorted(((kind, seconds / whole) for kind, seconds in found.items()), key=lambda item: -item[1])


def compare(model: BertCat, peer: Callable[..., np.ndarray], pairs: Pairs, given: argparse.Namespace) -> list[str]:
    device = model.device
    tried = {size: rate(pairs[:TRIED], lambda part, size=size: peer(part, size), device) for size in PEER_BATCHES[device.type]}
    size = max(tried, key=lambda key: tried[key])
    configs = {tokens: RankingConfig(tokens, given.precision) for tokens in OUR_TOKENS[device.type]}
    ours = {tokens: rate(pairs[:TRIED], lambda part, c=c: score_pairs(model, part, c), device) for tokens, c in configs.items()}
    config = RankingConfig(precision=given.precision)

    def parts() -> dict[str, Callable[[], np.ndarray]]:
        def with_torch() -> np.ndarray:
            with torch_linears(model):
                return score_pairs(model, pairs, config)

        def with_whole() -> np.ndarray:
            with whole_last_layer(model):
                return score_pairs(model, pairs, config)

        named = {
            f"sentence-transformers, {size} pairs a batch": lambda: peer(pairs, size),
            "ours": lambda: score_pairs(model, pairs, config),
            "ours, the last layer for all tokens": with_whole,
            "ours, batches of 32 in the order given": lambda: in_given_order(model, pairs, config),
        }
        return named | ({"ours, PyTorch's linear layers": with_torch} if device.type == "cpu" else {})

    runs: dict[str, list[Timed]] = {name: [] for name in parts()}
    for turn in range(given.repeats):
        for name, work in parts().items():
            runs[name].append(timed(work, device))
            print(f"turn {turn + 1}: {name}: {runs[name][-1][0]:.1f} s", file=sys.stderr, flush=True)
    return [*_table(runs, len(pairs)), *_tries("pairs a batch, theirs", tried), *_tries("padded tokens a batch, ours", ours)]


def _table(runs: dict[str, list[Timed]], count: int) -> list[str]:
    lines = [
        "| | pairs/s, median | slowest and fastest | against the peer | largest difference in score |",
        "|---|---:|---:|---:|---:|",
    ]
    first, reference = next(iter(runs.values())), next(iter(runs.values()))[0][1]
    base = statistics.median(seconds for seconds, _ in first)
    for name, found in runs.items():
        seconds = [one for one, _ in found]
        middle = statistics.median(seconds)
        apart = max(float(np.abs(scores - reference).max()) for _, scores in found)
        cells = [name, f"{count / middle:,.1f}", f"{count / max(seconds):,.1f} – {count / min(seconds):,.1f}"]
        lines.append(f"| {' | '.join([*cells, f'{base / middle:.2f}', f'{apart:.0e}'])} |")
    return lines


def _tries(what: str, rates: dict[int, float]) -> list[str]:
    return [
        "",
        f"Tried on {TRIED} pairs, {what}: " + "; ".join(f"{key:,}: {value:,.1f} pairs/s" for key, value in rates.items()) + ".",
    ]


def where_the_time_goes(model: BertCat, pairs: Pairs, given: argparse.Namespace) -> list[str]:
    config = RankingConfig(precision=given.precision)
    queries, passages = model.read_queries([q for q, _ in pairs]), model.read_passages([p for _, p in pairs])
    tokens = float(np.mean([min(model.room, len(q) + len(p)) + 3 for q, p in zip(queries, passages, strict=True)]))
    lines = ["", f"{tokens:.1f} tokens a pair in the mean, special ones counted."]
    if model.device.type == "cpu":
        batch = config.tokens(model.device)
        bounds = {
            name: matrix_bound(model, tokens, batch, by) for name, by in (("oneDNN", linear), ("PyTorch", nn.functional.linear))
        }
        lines[-1] += (
            " If matrix products were all there is, the last layer for [CLS] alone, this machine would reach "
            + " and ".join(f"{value:,.1f} pairs/s by {name}" for name, value in bounds.items())
            + f", measured on {batch:,} rows."
        )
        part = shares(model, pairs[: 2 * TRIED], config)
        lines += ["", "Where our time goes: " + ", ".join(f"{kind} {share:.1%}" for kind, share in part) + "."]
    return lines


def report(given: argparse.Namespace, lines: Sequence[str], load: float) -> str:
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "sentence-transformers", "positionbias")
    )
    where = torch.cuda.get_device_name() if given.device == "cuda" else hardware()
    command = f"python benchmarks/rerank_pairs.py --pairs {given.pairs} --repeats {given.repeats} --threads {given.threads}"
    head = [
        "# BERT_CAT re-ranking against sentence-transformers",
        "",
        f"{where}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    {command} --device {given.device} --precision {given.precision}",
        "",
        f"{given.pairs:,} questions of SQuAD's dev file with their paragraphs; MiniLM (6 layers, 384 wide), a pair of at most 230 "
        f"tokens; the same checkpoint in both; from texts to scores. In turns, {given.repeats} each (load average {load:.1f} at the "
        "start). The lower rows leave out one thing each.",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/rerank_pairs_HARDWARE_DATE.md")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(1)
    load = os.getloadavg()[0]
    pairs = squad_pairs(given.pairs)
    with tempfile.TemporaryDirectory() as temporary:
        model = BertCat(BertCatConfig(), load_encoder("minilm")).eval()
        model.save(Path(temporary))
        peer = cross_encoder(Path(temporary), given)
        model.to(torch.device(given.device))
        lines = compare(model, peer, pairs, given) + where_the_time_goes(model, pairs, given)
    place = given.out or result_place("rerank_pairs" if given.device == "cpu" else "rerank_pairs_gpu")
    place.write_text(report(given, lines, load), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
