"""TK's training step, at its full size on real passages, against the same layers written plainly over a padded batch.

    posbias import squad $POSBIAS_DATA/squad --out squad
    posbias retrieve squad --split validation --depth 30 --out validation.run
    python benchmarks/tk_step.py squad --candidates validation.run    # writes benchmarks/results/tk_step_HARDWARE_DATE.md

A step is forward, backward and the optimisers' update, on 32 questions, each with its passage and one from its candidates. All
models start from the same weights, meet the same batches in turn, and are updated by the same optimisers. Plain is what one writes
first: all texts padded to the longest of the batch, torch's linear layers and fused attention under a mask, the Gaussians of
all kernels in one tensor. Under autocast its attention stays in full precision, which is faster for it on a CPU.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from measuring import hardware, result_place
from torch import Tensor, nn

from positionbias.core.collection import Collection, find_collection
from positionbias.core.run import Run, read_run
from positionbias.models.kernels import kernel_means
from positionbias.models.linear import use_fast_linears
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK, sinusoid_positions
from positionbias.text.vocabulary import Vocabulary, count_words
from positionbias.training.config import TrainConfig
from positionbias.training.losses import pairwise_hinge
from positionbias.training.optimizers import make_optimizers

PAIRS = 32
WARM = 4  # rounds before the clock: first allocations, products that oneDNN prepares


class PlainLayer(nn.Module):
    """Self-attention and feed-forward, each added and then normalised."""

    def __init__(self, dimension: int, heads: int, head_size: int, feed_forward: int) -> None:
        super().__init__()
        self.heads, self.head_size = heads, head_size
        self.query, self.key, self.value = (nn.Linear(dimension, heads * head_size) for _ in range(3))
        self.output = nn.Linear(heads * head_size, dimension)
        self.norm_attention = nn.LayerNorm(dimension)
        self.expand, self.contract = nn.Linear(dimension, feed_forward), nn.Linear(feed_forward, dimension)
        self.norm_feed_forward = nn.LayerNorm(dimension)

    def forward(self, terms: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = terms.shape
        shape = (batch, length, self.heads, self.head_size)
        query, key, value = (part(terms).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value))
        with torch.autocast("cpu", enabled=False):
            mixed = F.scaled_dot_product_attention(query.float(), key.float(), value.float(), attn_mask=mask[:, None, None, :])
        terms = self.norm_attention(terms + self.output(mixed.transpose(1, 2).reshape(batch, length, -1)))
        return self.norm_feed_forward(terms + self.contract(F.relu(self.expand(terms))))


class PlainPooling(nn.Module):
    """The parameters of kernel pooling, under the names that TK has for them."""

    def __init__(self, kernels: int) -> None:
        super().__init__()
        self.scale, self.weight = nn.Parameter(torch.ones(kernels)), nn.Parameter(torch.zeros(kernels))


class PlainTK(nn.Module):
    """TK's formulas over a padded batch; its weights have the names of ``positionbias.models.tk.TK``'s."""

    def __init__(self, config: TKConfig, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(words, config.dimension, padding_idx=0, sparse=True)
        shape = (config.dimension, config.heads, config.head_size, config.feed_forward)
        self.layers = nn.ModuleList(PlainLayer(*shape) for _ in range(config.layers))
        self.gate = nn.Parameter(torch.tensor(0.5))
        self.pooling = PlainPooling(config.kernels)
        self.means = torch.tensor(kernel_means(config.kernel_layout, config.kernels))
        self.positions = sinusoid_positions(config.passage_start + config.passage_length, config.dimension)

    @property
    def device(self) -> torch.device:
        return self.gate.device

    def parameter_roles(self) -> dict[str, list[Tensor]]:
        rest = [p for name, p in self.named_parameters() if not name.startswith(("embedding", "pooling"))]
        return {"embedding": [self.embedding.weight], "kernels": list(self.pooling.parameters()), "body": rest}

    def vectors(self, numbers: Tensor, start: int) -> Tensor:
        embedded = self.embedding(numbers)
        context = embedded + self.positions[start : start + numbers.shape[1]]
        for layer in self.layers:
            context = layer(context, numbers != 0)
        return self.gate * embedded + (1 - self.gate) * context

    def forward(self, queries: Tensor, passages: Tensor) -> Tensor:
        query = self.vectors(queries, 0).repeat(len(passages) // len(queries), 1, 1).float()
        passage = self.vectors(passages, self.config.passage_start).float()
        with torch.autocast("cpu", enabled=False):
            query = query / (query.norm(dim=-1, keepdim=True) + 1e-13)
            passage = passage / (passage.norm(dim=-1, keepdim=True) + 1e-13)
            cosines = query @ passage.transpose(1, 2)  # (batch, query_len, passage_len)
            kernels = torch.exp(-((cosines.unsqueeze(-1) - self.means) ** 2) / (2 * self.config.kernel_sigma**2))
            pooled = (kernels * (passages != 0)[:, None, :, None]).sum(dim=2)  # (batch, query_len, kernels)
            asked = (queries != 0).repeat(len(passages) // len(queries), 1)
            logs = torch.log(torch.clamp(pooled * self.pooling.scale, min=1e-10)) * asked.unsqueeze(-1)
            return logs.sum(dim=1) @ self.pooling.weight


def contestants(config: TKConfig, vocabulary: Vocabulary) -> dict[str, nn.Module]:
    """The models, all of the same weights."""
    torch.manual_seed(1)
    ours = TK(config, vocabulary)
    plain, faster = (PlainTK(config, len(vocabulary)) for _ in range(2))
    use_fast_linears(faster)
    for model in (plain, faster):
        model.load_state_dict(ours.state_dict())
    return {"plain": plain, "plain, linear layers by oneDNN": faster, "TK": ours}


def batches(collection: Collection, split: str, run: Run, model: TK, count: int) -> list[dict[str, Tensor]]:
    """Inputs of ``PAIRS`` queries each, with a relevant passage and a candidate that is not."""
    rng = np.random.default_rng(1)
    relevant: dict[str, list[str]] = {}
    for qrel in collection.qrels(split):
        relevant.setdefault(qrel.query_id, []).append(qrel.passage_id)
    queries = [query for query in collection.queries(split) if query.query_id in relevant and query.query_id in run]
    chosen = [queries[number] for number in rng.choice(len(queries), count * PAIRS, replace=len(queries) < count * PAIRS)]
    made = []
    for start in range(0, len(chosen), PAIRS):
        part = chosen[start : start + PAIRS]
        others = [[p for p in run[query.query_id].passage_ids if p not in relevant[query.query_id]] for query in part]
        ids = [relevant[query.query_id][0] for query in part] + [rest[rng.integers(len(rest))] for rest in others]
        made.append(model.inputs(model.read_queries([q.text for q in part]), model.read_passages(collection.texts(ids))))
    return made


def loss_of(model: nn.Module, inputs: Mapping[str, Tensor], half: bool) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        scores = model(**inputs).float().view(2, -1).t()  # (pairs, 2): positive, negative
    return pairwise_hinge(scores).mean()


def apart(one: nn.Module, other: nn.Module, inputs: Mapping[str, Tensor], half: bool) -> tuple[float, float]:
    """How far loss and gradients of two models of the same weights are apart: relative to the loss, and the largest
    |difference| / |gradient| (2-norms) of a parameter; one without a gradient to speak of (a bias of keys) is left out."""
    losses = [loss_of(model, inputs, half) for model in (one, other)]
    expected, found = (float(loss.detach()) for loss in losses)
    gradients = []
    for model, loss in zip((one, other), losses, strict=True):
        named = dict(model.named_parameters())
        made = torch.autograd.grad(loss, list(named.values()))
        gradients.append({name: gradient.to_dense() for name, gradient in zip(named, made, strict=True)})
    whole = math.sqrt(sum(float(gradient.norm()) ** 2 for gradient in gradients[0].values()))
    largest = 0.0
    for name, gradient in gradients[0].items():
        if gradient.norm() > 1e-6 * whole:
            largest = max(largest, float((gradients[1][name] - gradient).norm() / gradient.norm()))
    return abs(found - expected) / expected, largest


def rounds(
    models: Mapping[str, nn.Module], made: list[dict[str, Tensor]], half: bool
) -> Iterator[dict[str, tuple[float, float]]]:
    """Of each batch, what each model's step takes: seconds on the clock, and of all processors."""
    optimizers = {name: make_optimizers(model, TrainConfig(learning_rate=1e-4)) for name, model in models.items()}  # type: ignore[arg-type]
    for inputs in made:
        taken = {}
        for name, model in models.items():
            clock, used = time.perf_counter(), time.process_time()
            loss = loss_of(model, inputs, half)
            for optimizer in optimizers[name]:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers[name]:
                optimizer.step()
            taken[name] = (time.perf_counter() - clock, time.process_time() - used)
        yield taken


def table(vocabulary: Vocabulary, made: list[dict[str, Tensor]]) -> list[str]:
    headings = [
        "precision",
        "model",
        "s/step",
        "pairs/s",
        "speed-up",
        "processor s/step",
        "speed-up",
        "loss apart",
        "gradients apart",
    ]
    lines = [f"| {' | '.join(headings)} |", f"|---|---|{'---:|' * (len(headings) - 2)}"]
    for half in (False, True):
        models = contestants(TKConfig(), vocabulary)
        checked = {name: apart(models["plain"], model, made[0], half) for name, model in models.items()}
        taken = list(rounds(models, made, half))[WARM:]
        base: tuple[float, ...] = ()
        for name in models:
            clock, used = (statistics.median(one[name][which] for one in taken) for which in range(2))
            base = base or (clock, used)
            cells = ["bfloat16" if half else "float32", name, f"{clock:.3f}", f"{PAIRS / clock:.1f}", f"{base[0] / clock:.2f}"]
            cells += [f"{used:.3f}", f"{base[1] / used:.2f}", *(f"{value:.0e}" for value in checked[name])]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def report(
    given: argparse.Namespace, collection: Collection, made: list[dict[str, Tensor]], lines: list[str], load: float
) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "positionbias"))
    lengths = [(inputs["passages"] != 0).sum(dim=1).double() for inputs in made]
    padded = [inputs["passages"].shape[1] for inputs in made]
    words, longest = statistics.mean(float(part.mean()) for part in lengths), statistics.mean(padded)
    squares = statistics.mean(float(part.square().mean()) for part in lengths)
    head = [
        "# TK's training step against the same layers over a padded batch",
        "",
        f"{hardware()}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; "
        f"load average {load:.1f} at the start.",
        "",
        f"    python benchmarks/tk_step.py {given.collection.name} --split {given.split} --candidates {given.candidates.name} "
        f"--threads {given.threads} --steps {given.steps}",
        "",
        f"{collection.name}, {given.split}: {PAIRS} questions a step, each with its passage and a candidate. Medians of {given.steps} "
        f"steps after {WARM} that are not counted, the models taking turns on each batch. Passages have {words:.0f} words on average "
        f"(200 at most), and a batch's longest {longest:.0f}: {longest / words:.2f} times the words, and "
        f"{statistics.mean(w * w for w in padded) / squares:.2f} times the pairs of words, are computed where all are padded to the longest. "
        "Apart: of loss and gradients on the first batch, relative to plain's (gradients: the parameter that is furthest, by norm).",
        "",
    ]
    return "\n".join([*head, *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("--candidates", type=Path, required=True, help="a run of the split's queries")
    parser.add_argument("--split", default="validation")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, help="by default benchmarks/results/tk_step_HARDWARE_DATE.md")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    load = os.getloadavg()[0]
    collection = find_collection(str(given.collection))
    vocabulary = Vocabulary.build(count_words(passage.text for passage in collection.passages()))
    reader = TK(TKConfig(), vocabulary)
    made = batches(collection, given.split, read_run(given.candidates), reader, WARM + given.steps)
    text = report(given, collection, made, table(vocabulary, made), load)
    place = given.out or result_place("tk_step")
    place.write_text(text, encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
