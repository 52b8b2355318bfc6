"""Training steps of BERT_CAT, BERT_DOT and TK: forward, backward and update by
``training.trainer``, on batches that are ready.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.agreement import numbers
from harness.records import Limit, Peer, Row, Settings, Side

from rows import squad

PAIRS = {"bert": 8, "tk": 32}  # groups of two a step
RATE = 1e-5


def bert(folder: Path, quick: bool) -> Settings:
    """Texts of batches: questions, each with its passage and a candidate that is not it."""
    return {
        "encoder": str(squad.encoder(folder)),
        "batches": str(_texts(folder, PAIRS["bert"])),
        "steps": 1 if quick else 2,
    }


def tk(heads: int, head_size: int) -> Any:
    """Word numbers of batches for TK, its weights under their own names, and its settings, for
    peers too.
    """

    def inputs(folder: Path, quick: bool) -> Settings:
        place = folder / f"tk-{heads}-{head_size}"
        if not (place / "weights.pt").exists():
            _write_tk(folder, place, heads, head_size)
        return {
            "tk": str(place),
            "batches": str(_texts(folder, PAIRS["tk"])),
            "steps": 1 if quick else 2,
            "heads": heads,
            "head_size": head_size,
        }

    return inputs


def _texts(folder: Path, size: int, count: int = 4) -> Path:
    """``[{"queries": [n], "passages": [2n]}, …]``: the positives first."""
    place = folder / f"batches-{size}.json"
    if not place.exists():
        from positionbias.core.collection import Collection
        from positionbias.core.run import Run

        source, run = (
            Collection(squad.collection(folder)),
            Run.from_file(squad.candidates(folder, "validation")),
        )
        relevant = {qrel.query_id: qrel.passage_id for qrel in source.qrels("validation")}
        asked = [query for query in source.queries("validation") if query.query_id in run][
            : size * count
        ]
        made = []
        for start in range(0, size * count, size):
            part = asked[start : start + size]
            others = [
                next(p for p in run[q.query_id].passage_ids if p != relevant[q.query_id])
                for q in part
            ]
            texts = source.texts([*(relevant[q.query_id] for q in part), *others])
            made.append({"queries": [q.text for q in part], "passages": list(texts)})
        place.write_text(json.dumps(made), "utf-8")
    return place


def _vocabulary(folder: Path) -> Any:
    from positionbias.core.collection import Collection
    from positionbias.text.vocabulary import Vocabulary, count_words

    return Vocabulary.build(
        count_words(passage.text for passage in Collection(squad.collection(folder)).passages())
    )


def _shape(heads: int, head_size: int) -> Any:
    from positionbias.models.shapes import TKConfig

    return TKConfig(heads=heads, head_size=head_size)


def _write_tk(folder: Path, place: Path, heads: int, head_size: int) -> None:
    import torch

    from positionbias.models.kernels import KERNEL_MEANS, KERNEL_SIGMA
    from positionbias.models.tk import PASSAGE_START, TK

    place.mkdir(exist_ok=True)
    torch.manual_seed(1)
    shape, words = _shape(heads, head_size), _vocabulary(folder)
    model = TK(shape, words)
    made = []
    for batch in json.loads(_texts(folder, PAIRS["tk"]).read_text("utf-8")):
        made.append(
            model.inputs(
                model.read_queries(batch["queries"]), model.read_passages(batch["passages"])
            )
        )
    told = {
        name: getattr(shape, name)
        for name in (
            "dimension",
            "layers",
            "heads",
            "head_size",
            "feed_forward",
        )
    }
    told |= {
        "words": len(words),
        "query_length": shape.query_length,
        "passage_length": shape.passage_length,
        "passage_start": PASSAGE_START,
        "kernels": len(KERNEL_MEANS),
        "kernel_sigma": KERNEL_SIGMA,
        "means": KERNEL_MEANS,
    }
    (place / "shape.json").write_text(json.dumps(told), "utf-8")
    torch.save(made, place / "batches.pt")
    torch.save(dict(model.state_dict()), place / "weights.pt")


class Training:
    """Steps of a ``Trainer``, without dropout, by the pairwise hinge loss."""

    packages = ("positionbias", "torch", "transformers", "accelerate")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch
        from accelerate import Accelerator

        from positionbias.training.batches import Batch
        from positionbias.training.config import TrainConfig
        from positionbias.training.devices import Devices
        from positionbias.training.trainer import Trainer

        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        self.settings, self.taken = settings, 0
        self.model: Any = self.made()
        config = TrainConfig(
            learning_rate=RATE,
            kernel_learning_rate=RATE,
            dropout=False,
            loss="hinge",
            warmup_steps=0,
            warmup_share=0.0,
        ).of_kind(self.model.kind)
        self.trainer = Trainer(
            self.model,
            config,
            Devices(Accelerator(cpu=True), settings["precision"]),
            Path(settings["folder"]),
            steps=10**6,
        )
        self.batches = []
        for number, texts in enumerate(json.loads(Path(settings["batches"]).read_text("utf-8"))):
            rows = (
                self.model.read_queries(texts["queries"]),
                self.model.read_passages(texts["passages"]),
            )
            groups: list[Any] = [None] * len(rows[0])
            self.batches.append(Batch(0, number, groups, *rows, self.model.inputs(*rows), 0))
        self.told = self.scores()
        self.trainer.step([self.batches[0]])
        self.told += self.scores()
        self.facts = self.counted()

    def made(self) -> Any:
        import torch

        from positionbias.models.bert_cat import BertCat
        from positionbias.models.bert_dot import BertDot
        from positionbias.models.encoder import load_encoder
        from positionbias.models.shapes import BertCatConfig, BertDotConfig

        encoder = load_encoder(self.settings["encoder"])
        if self.settings["kind"] == "bert_dot":
            return BertDot(BertDotConfig(), encoder)
        model = BertCat(BertCatConfig(), encoder)
        assert model.head is not None
        torch.nn.init.constant_(model.head.weight, 0.01)  # the same for the peer
        torch.nn.init.zeros_(model.head.bias)
        return model

    def scores(self) -> list[float]:
        """Positives less negatives of the first batch, before a step and after it: they show that
        the same was learned.

        Of TK's scores alone not even that much would be the same: a kernel that no word reaches
        adds the same to both, by gradients of rounding errors, which Adam scales up.
        """
        import torch

        with torch.inference_mode():
            self.model.eval()
            positive, negative = self.model(**self.batches[0].inputs).float().chunk(2)
        found: list[float] = (positive - negative).tolist()
        return found

    def counted(self) -> dict[str, int]:
        """A backward pass takes twice the products of a forward one."""
        from rows.encoders import operations

        steps = self.settings["steps"]
        size = len(self.batches[0].queries)
        if self.settings["kind"] == "tk":
            return {"steps": steps, "pairs": steps * size}
        lengths = []
        for place in range(steps):  # of the batches that the first run reads
            one = self.batches[(1 + place) % len(self.batches)]
            if self.settings["kind"] == "bert_dot":
                lengths += [len(row) + 2 for row in (*one.queries, *one.passages)]
            else:
                lengths += [
                    min(self.model.room, len(one.queries[i % size]) + len(row)) + 3
                    for i, row in enumerate(one.passages)
                ]
        flops = 3 * operations(self.model.encoder.backbone.config, lengths, cls_only=True)
        return {"steps": steps, "pairs": steps * size, "flops": flops}

    def run(self) -> None:
        for _ in range(self.settings["steps"]):
            self.taken += 1
            self.trainer.step([self.batches[self.taken % len(self.batches)]])

    def proof(self) -> list[float]:
        return self.told


class TrainingTk(Training):
    def made(self) -> Any:
        import torch

        from positionbias.models.tk import TK

        model = TK(
            _shape(self.settings["heads"], self.settings["head_size"]),
            _vocabulary(Path(self.settings["folder"])),
        )
        model.load_state_dict(
            torch.load(Path(self.settings["tk"]) / "weights.pt", weights_only=True)
        )
        return model


PEER = "peers.training"


def bert_row(kind: str, label: str) -> Row:
    settings = {"kind": kind, "precision": "float32", "rate": RATE}
    return Row(
        name=f"train_{kind}",
        work=f"training steps of {label}, MiniLM, {PAIRS['bert']} pairs, float32",
        ours=Side("rows.training:Training", settings),
        peers=(
            Peer("a plain transformers loop", "torch", Side(f"{PEER}:Bert", settings), goal=1.0),
        ),
        inputs=bert,
        compare=numbers,
        bound=2e-3,
        limit=Limit("float32"),
    )


# a goal: beside as many busy processes as threads, at most 1.3 times the peer's seconds
SHARED = 1 / 1.3


def tk_row(precision: Any, name: str, peer: Peer, inputs: Any, remark: str) -> Row:
    return Row(
        name=f"train_tk_{name}",
        work=f"training steps of TK, {PAIRS['tk']} pairs, {precision}{remark}",
        ours=Side("rows.training:TrainingTk", {"kind": "tk", "precision": precision}),
        peers=(peer,),
        inputs=inputs,
        compare=numbers,
        bound=2e-3 if precision == "float32" else 0.5,
    )


def plain(precision: str, goal: float) -> Peer:
    return Peer(
        "the same layers, padded",
        "torch",
        Side(f"{PEER}:PlainTk", {"precision": precision, "rate": RATE}),
        goal=goal,
    )


MATCHMAKER = Peer(
    "matchmaker's ecai20_tk",
    "torch",
    Side(f"{PEER}:Matchmaker", {"precision": "float32", "rate": RATE}),
    goal=2.0,
    needs="matchmaker/models/published/ecai20_tk.py",
)

ROWS = (
    bert_row("bert_cat", "BERT_CAT"),
    bert_row("bert_dot", "BERT_DOT"),
    tk_row("float32", "f32", plain("float32", 3.0), tk(16, 32), ""),
    tk_row("bfloat16", "bf16", plain("bfloat16", 2.55), tk(16, 32), ""),
    replace(
        tk_row(
            "float32",
            "shared",
            plain("float32", SHARED),
            tk(16, 32),
            ", beside as many busy processes as threads",
        ),
        shared=True,
    ),
    tk_row("float32", "published", MATCHMAKER, tk(10, 30), ", 10 heads of 30"),
)
