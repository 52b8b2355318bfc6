"""Re-ranking by BERT_CAT and encoding passages, over MiniLM, by precision class, against
sentence-transformers' backends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import numbers, ordered_scores
from harness.records import Compare, Limit, Peer, Row, Settings, Side

from rows import squad

PEER = "peers.encoders"


def pairs(folder: Path, quick: bool) -> Settings:
    return {
        "checkpoint": str(squad.bert_cat(folder)),
        "texts": str(squad.pairs(folder, 4 if quick else 20)),
    }


def passages(folder: Path, quick: bool) -> Settings:
    return {
        "checkpoint": str(squad.encoder(folder)),
        "texts": str(squad.passages(folder, 100 if quick else 600)),
    }


def operations(shape: Any, lengths: Sequence[int], *, cls_only: bool) -> int:
    """Floating-point operations of the matrix products over texts of these tokens, without padding;
    the last layer for [CLS] alone, or whole.
    """
    width, inner, layers = shape.hidden_size, shape.intermediate_size, shape.num_hidden_layers
    total = 0
    for length in lengths:
        whole = length * (8 * width * width + 4 * width * inner) + 4 * length * length * width
        last = (
            length * 4 * width * width + 4 * width * width + 4 * width * inner + 4 * length * width
        )
        total += whole * (layers - cls_only) + last * cls_only
    return total


class Rerank:
    """``ranking.pairs.score_pairs``, which ``rerank`` and ``audit`` call."""

    packages = ("positionbias", "torch", "transformers", "tokenizers")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch

        from positionbias.models.checkpoint import load_checkpoint
        from positionbias.ranking.config import RankingConfig

        torch.set_num_threads(settings["threads"])
        self.model: Any = load_checkpoint(settings["checkpoint"]).model
        self.config = RankingConfig(precision=settings["precision"])
        self.pairs = [
            tuple(pair) for pair in json.loads(Path(settings["texts"]).read_text("utf-8"))
        ]
        read = (
            self.model.read_queries([q for q, _ in self.pairs]),
            self.model.read_passages([p for _, p in self.pairs]),
        )
        lengths = [min(self.model.room, len(q) + len(p)) + 3 for q, p in zip(*read, strict=True)]
        flops = operations(self.model.encoder.backbone.config, lengths, cls_only=True)
        self.facts = {"pairs": len(lengths), "tokens": sum(lengths), "flops": flops}
        self.scores = np.empty(0)

    def run(self) -> None:
        from positionbias.ranking.pairs import score_pairs

        self.scores = score_pairs(self.model, self.pairs, self.config)

    def proof(self) -> list[float]:
        return [float(score) for score in self.scores]


class Encode:
    """``dense.single_vectors.SingleVectors``, which ``encode`` calls; texts to vectors."""

    packages = Rerank.packages

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch

        from positionbias.dense.single_vectors import SingleVectors
        from positionbias.models.checkpoint import load_checkpoint
        from positionbias.ranking.config import RankingConfig

        torch.set_num_threads(settings["threads"])
        self.encoder = SingleVectors(
            load_checkpoint(settings["checkpoint"]), RankingConfig(precision=settings["precision"])
        )
        self.model: Any = self.encoder.model
        self.texts = json.loads(Path(settings["texts"]).read_text("utf-8"))
        lengths = [len(row) + 2 for row in self.model.read_passages(self.texts)]
        flops = operations(self.model.encoder.backbone.config, lengths, cls_only=False)
        self.facts = {"passages": len(lengths), "tokens": sum(lengths), "flops": flops}
        self.vectors = np.empty((0, 0))

    def run(self) -> None:
        self.vectors = self.encoder.passages(self.model.read_passages(self.texts))

    def proof(self) -> Any:
        """The first 16 numbers of each vector at length 1."""
        unit = self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return unit[:, :16].ravel().tolist()


def peers(kind: str, precision: str, goals: Mapping[str, float | None]) -> tuple[Peer, ...]:
    """The backends of sentence-transformers in one precision class; what is not of the class stands
    in none.
    """
    return tuple(
        Peer(
            f"sentence-transformers, {label}",
            environment,
            Side(f"{PEER}:{kind}", {"backend": environment, "precision": precision}),
            goal=goals[environment],
        )
        for environment, label in BACKENDS[precision].items()
    )


BACKENDS = {
    "float32": {"torch": "torch", "onnx": "ONNX", "openvino": "OpenVINO in float32"},
    "bfloat16": {"torch": "torch in bfloat16", "openvino": "OpenVINO (its default)"},
}
CLASSES = {"float32": "f32", "bfloat16": "bf16"}
# how far scores of a trained model, and unit vectors, may be from those in float32
SCORES = {"float32": 1e-4, "bfloat16": 0.5}
VECTORS = {"float32": 1e-5, "bfloat16": 0.02}


def row(kind: str, precision: Any, goal: float) -> Row:
    goals = dict.fromkeys(("torch", "onnx", "openvino"), goal)
    rerank = kind == "Rerank"
    compare: Compare = ordered_scores if rerank else numbers
    ours = Side(f"rows.encoders:{kind}", {"precision": precision})
    return Row(
        name=f"{kind.lower()}_{CLASSES[precision]}",
        work=f"{'re-ranking by BERT_CAT' if rerank else 'encoding passages'}, MiniLM, {precision}",
        ours=ours,
        peers=peers(kind, precision, goals),
        inputs=pairs if rerank else passages,
        compare=compare,
        bound=(SCORES if rerank else VECTORS)[precision],
        limit=Limit(precision),
        reference=Side(ours.work, {**ours.settings, "precision": "float32"})
        if precision != "float32"
        else None,
    )


def shared(of: Row) -> Row:
    """The same beside as many busy processes as threads: at most 1.3 times the seconds of
    sentence-transformers on torch.
    """
    torch = replace(of.peers[0], goal=1 / 1.3)
    work = f"{of.work}, beside as many busy processes as threads"
    return replace(of, name=f"{of.name}_shared", work=work, peers=(torch,), limit=None, shared=True)


ROWS = (
    row("Rerank", "float32", 1.1),
    shared(row("Rerank", "float32", 1.1)),
    row("Rerank", "bfloat16", 1.15),
    row("Encode", "float32", 1.0),
    row("Encode", "bfloat16", 1.0),
)
