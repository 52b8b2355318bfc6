"""Training steps of ``speed.py``: ours beside a plain loop over transformers, with the same
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from speed_material import CUDA, DEVICE, HALF, Material, busy, timed

from positionbias.core.groups import TrainingGroup
from positionbias.models.shapes import TKConfig
from positionbias.models.tk import TK
from positionbias.text.vocabulary import Vocabulary, count_words
from positionbias.training.batches import Batch, pinned
from positionbias.training.config import TrainConfig
from positionbias.training.devices import find_devices
from positionbias.training.trainer import Trainer

Found = dict[str, Any]
GROUPS = 32 if CUDA else 4
KINDS = ("bert_cat", "bert_dot", "tk")


def model_of(material: Material, kind: str) -> Any:
    """A model with random weights; TK with its published shape over invented word vectors."""
    if kind == "tk":
        words = Vocabulary.build(count_words([*material.passages[:5_000], *material.queries] * 2))
        return TK(TKConfig(), words)
    return (material.bert_cat if kind == "bert_cat" else material.bert_dot)("minilm")[0]


def made_batches(material: Material, model: Any, count: int, seed: int = 1) -> Iterator[Batch]:
    """Batches of 32 queries with two passages each."""
    random = np.random.default_rng(seed)
    for number in range(count):
        asked = random.integers(0, len(material.queries), GROUPS)
        chosen = random.integers(0, min(5_000, len(material.passages)), 2 * GROUPS)
        queries = model.read_queries([material.queries[at] for at in asked])
        passages = model.read_passages([material.passages[at] for at in chosen])
        groups = [TrainingGroup(f"q{at}", ("p", "n"), (1, 0)) for at in asked]
        batch = Batch(0, number, groups, queries, passages, model.inputs(queries, passages), 0)
        yield pinned(batch) if CUDA else batch


def training(material: Material, kind: str) -> Found:
    """Pairs a second of our steps in both precisions; their share of the GPU; how fast batches are
    read on the host.
    """
    found = material.begin()
    steps = material.size.steps
    for precision in ("bfloat16", "float32"):
        model = model_of(material, kind)
        config = replace(TrainConfig(batch_size=GROUPS, precision=precision).of_kind(kind))
        trainer = Trainer(model, config, find_devices(precision), material.work, steps=10 * steps)
        held: list[Batch] = []
        reading = timed(
            lambda model=model, held=held: held.extend(made_batches(material, model, steps))
        )
        found["read a second"] = steps * GROUPS / reading

        def work(trainer: Trainer = trainer, held: list[Batch] = held) -> None:
            for batch in held:
                trainer.step([batch])

        work()
        found[precision] = {"pairs a second": steps * GROUPS / timed(work), "ours": busy(work, 6)}
    return found


def plain_training(material: Material) -> Found:
    """BERT_CAT by a plain loop: transformers' classifier, autocast, fused AdamW; and as graphs
    replayed for each width.
    """
    from transformers import AutoModelForSequenceClassification

    model, folder = material.bert_cat("minilm")
    steps, found = material.size.steps, material.begin()
    held = list(made_batches(material, model, steps))
    for precision in ("bfloat16", "float32"):
        plain = (
            AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True)
            .to(DEVICE)
            .train()
        )
        optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-5, fused=True)

        def work(
            plain: Any = plain, optimizer: Any = optimizer, half: bool = precision == "bfloat16"
        ) -> None:
            for batch in held:
                inputs = {name: tensor.to(DEVICE) for name, tensor in batch.inputs.items()}
                with torch.autocast(DEVICE.type, dtype=HALF, enabled=half):
                    scores = plain(**inputs).logits[:, 0].float()
                F.relu(1.0 - scores[:GROUPS] + scores[GROUPS:]).mean().backward()
                optimizer.step()
                optimizer.zero_grad()

        work()
        found[precision] = {"pairs a second": steps * GROUPS / timed(work), "peer": busy(work, 3)}
    for width in (64, 16) if CUDA else ():
        try:
            found[f"graphs by {width}"] = _graphed(material, held, width)
        except RuntimeError as error:  # of the capture
            found[f"graphs by {width}"] = {"failed": str(error)[:300]}
    return found


def _graphed(material: Material, held: list[Batch], multiple: int) -> Found:
    """Whole steps of our BERT_CAT, captured once for each width."""
    model = material.bert_cat("minilm")[0].to(DEVICE).train()
    optimizer = torch.optim.Adam(
        model.parameters(), lr=torch.tensor(1e-5, device=DEVICE), fused=True, capturable=True
    )
    graphs: dict[int, tuple[torch.cuda.CUDAGraph, dict[str, torch.Tensor]]] = {}
    ready = [_widened(batch.inputs, multiple) for batch in held]

    def step(inputs: dict[str, torch.Tensor]) -> None:
        with torch.autocast("cuda", dtype=HALF, cache_enabled=False):
            scores = model(**inputs).float()
        F.relu(1.0 - scores[:GROUPS] + scores[GROUPS:]).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def captured(
        width: int, inputs: dict[str, torch.Tensor]
    ) -> tuple[torch.cuda.CUDAGraph, dict[str, torch.Tensor]]:
        own = {name: tensor.to(DEVICE) for name, tensor in inputs.items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                step(own)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(own)
        return graph, own

    def work() -> None:
        for inputs in ready:
            width = inputs["input_ids"].shape[1]
            if width not in graphs:
                graphs[width] = captured(width, inputs)
            graph, own = graphs[width]
            for name, tensor in inputs.items():
                own[name].copy_(tensor, non_blocking=True)
            graph.replay()

    first = timed(work)
    return {
        "pairs a second": len(ready) * GROUPS / timed(work),
        "first pass s": first,
        "graphs": len(graphs),
        "ours": busy(work, 6),
    }


def _widened(inputs: dict[str, torch.Tensor], multiple: int) -> dict[str, torch.Tensor]:
    """Inputs with a mask, as wide as a multiple, in pinned memory."""
    rows, width = inputs["input_ids"].shape
    mask = inputs.get("attention_mask", torch.ones(rows, width, dtype=torch.int64))
    more = -width % multiple
    return {
        name: F.pad(tensor, (0, more)).pin_memory()
        for name, tensor in {**inputs, "attention_mask": mask}.items()
    }


PARTS: dict[str, Callable[[Material], Found]] = {
    "train bert_cat, transformers": plain_training,
    **{f"train {kind}": lambda material, kind=kind: training(material, kind) for kind in KINDS},
}
