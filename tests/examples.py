"""What the examples of public names read: small artefacts under the names that their docstrings
use.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from datasets import Dataset

import positionbias as pb
from positionbias.core.qrels import Qrels
from positionbias.experiments.models import ModelSettings
from positionbias.leakage.settings import FindSettings
from positionbias.models.settings import EncoderSettings
from positionbias.papers.position_bias import study
from positionbias.papers.position_bias.settings import PositionBiasSettings
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.training.config import TrainConfig
from tests import tiny
from tests.dense.conftest import saved_dot
from tests.formats import tripclick_files
from tests.pooling.simulated import simulated_qrels, simulated_runs
from tests.pooling.simulated_files import SIMULATION, write_pool

SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Orvell",
            "paragraphs": [
                {
                    "context": "The lamp of Orvell burns green oil. It hangs in the north hall.",
                    "qas": [
                        {
                            "id": "q1",
                            "question": "What does the lamp of Orvell burn?",
                            "answers": [{"text": "green oil", "answer_start": 25}],
                        }
                    ],
                }
            ],
        }
    ],
}
QA = {
    "query_id": 7,
    "query": "what joins the banks of the Mirren",
    "query_type": "ENTITY",
    "answers": ["A stone bridge"],
    "passages": [
        {
            "is_selected": 1,
            "passage_text": "A stone bridge joins both banks of the Mirren.",
            "url": "u1",
        },
        {"is_selected": 0, "passage_text": "The tower is forty metres high.", "url": "u2"},
    ],
}


def make() -> None:
    """Make in the current folder: collections, runs, models, pairs of queries, pools, and files of
    published formats.
    """
    _collections()
    _pools()
    _releases()


def _collections() -> None:
    """Plant a collection, its runs, models and vectors; and a second one with clicks."""
    shape = {"queries": 60, "test_share": 0.3, "validation_share": 0.2}
    planted = PlantedSettings(passages=240, leaked_queries=20, fresh_queries=10, **shape)
    collection = write_planted(Path("planted"), planted, name="planted")
    tiny.candidates(collection, Path())
    write_planted(
        Path("clicked"), PlantedSettings(passages=300, answers_each=3, **shape), name="clicked"
    )
    for seed in (1, 2, 3):
        tiny.saved_tk(Path("tk.ckpt" if seed == 1 else f"tk-{seed}.ckpt"), collection, seed=seed)
    saved_dot(Path("dot.ckpt"))
    pb.make_encoder(
        ["./planted"], "small-bert", EncoderSettings(layers=1, width=8, heads=2, pieces=90)
    )
    pb.find_leakage(
        ["./planted:train", "./planted:test"], settings=FindSettings("lexical"), out=Path("leaks")
    )
    columns = (
        "source",
        "train_id",
        "test_id",
        "field",
        "train_text",
        "test_text",
        "cosine",
        "label",
    )
    rows = [
        (
            "s",
            f"t{n}",
            f"q{n}",
            "query",
            f"{n} a",
            f"{n} b",
            1 - n / 100,
            "identical" if n < 40 else "no",
        )
        for n in range(60)
    ]
    Path("labelled.tsv").write_text(
        "".join("\t".join(map(str, row)) + "\n" for row in [columns, *rows])
    )


def _pools() -> None:
    """Simulate runs of traditional and neural systems, and judgements of what the traditional ones
    rank high.
    """
    systems = write_pool(Path("runs"), Path("systems.tsv"), Path("qrels.txt"))
    old = [run for system, run in systems if system.kind == "traditional"]
    pooled = {
        (one.query_id, passage)
        for run in old
        for one in run.rankings()
        for passage in one.passage_ids
    }
    Qrels([qrel for qrel in simulated_qrels(SIMULATION) if qrel[:2] in pooled]).save(
        Path("pool.txt")
    )
    list(simulated_runs(replace(SIMULATION, seed=9)))[-1][1].save(Path("new.run"))


def _releases() -> None:
    """Write small files of published formats."""
    for form in ("msmarco", "beir", "trec"):
        pb.export("./planted", to=form, out=form)
    for name in ("train-v1.1.json", "dev-v1.1.json"):
        Path(name).write_text(json.dumps(SQUAD).replace("q1", name[:3]))
    Path("train_v1.1.json").write_text(json.dumps(QA) + "\n")
    Path("msmarco-docs.tsv").write_text("D1\thttp://a.example\tLamps\tThe lamp burns green oil.\n")
    for name, text in tripclick_files.files().items():
        Path("tripclick", name).parent.mkdir(parents=True, exist_ok=True)
        Path("tripclick", name).write_text(text)
    golden = {
        "chunk": "The lamp of Orvell burns green oil.",
        "question": "What does the lamp of Orvell burn?",
        "answer": "green oil",
    }
    Path("golden.jsonl").write_text(json.dumps(golden) + "\n")
    Dataset.from_list([golden]).save_to_disk("saved")
    Path("orcas.tsv").write_text(
        "1\tlamp of orvell\tD1\thttp://a.example\n2\tiron gate\tD2\thttp://b.example\n"
    )


def shrink_demo(patch: pytest.MonkeyPatch) -> None:
    """Let the demo plant 100 passages and train a few hundred weights for two steps."""
    settings = PlantedSettings(queries=40, passages=100, test_share=0.3, validation_share=0.2)
    training = TrainConfig(
        max_steps=2, validate_every=1, batch_size=8, probe_passages=20, threads=1
    )
    patch.setattr(study, "DEMO_COLLECTION", settings)
    models = (ModelSettings("tk", tiny.TINY, training),)
    small = PositionBiasSettings(
        models=models, depth=4, train_depth=4, probe_passages=50, measures=("nDCG@10",)
    )
    patch.setattr(study, "DEMO_STUDY", small)
