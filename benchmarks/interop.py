"""Which library loads which of our models, and which of theirs we read: the largest difference in score of each.

    python benchmarks/interop.py --work FOLDER   # writes benchmarks/results/interop_HARDWARE_DATE.md

Makes an environment for each library in FOLDER (lightning-ir and PyLate want older packages than we do), a BERT_CAT, a BERT_DOT, a ColBERT and a TK with random
heads over MiniLM (extra ``minilm``), and runs ``interop_peers.py`` in each environment. Environments and what was measured are kept; delete FOLDER/NAME.json to
measure anew. PyLate is installed without fast-plaid, which pins a torch of its own and is needed for indexes alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from measuring import hardware, result_place

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.encoder_source import MINILM, encoder_folder
from positionbias.models.kinds import model_over
from positionbias.models.shapes import BertCatConfig, BertDotConfig, ColBERTConfig, TKConfig
from positionbias.models.tk import TK
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.rerank import rescore
from positionbias.text.vocabulary import Vocabulary, count_words

TORCH = "torch==2.13.0"
ENVIRONMENTS: dict[str, list[list[str]]] = {
    "current": [[TORCH, "transformers", "sentence-transformers", "rerankers", "onnxruntime", "onnx", "onnxscript"]],
    "optimum": [[TORCH, "optimum-onnx[onnxruntime]"]],
    "lightning-ir": [[TORCH, "lightning-ir", "transformers<5"]],  # 0.0.6 fails with transformers 5, which it does not exclude
    "pylate": [
        [
            TORCH,
            "sentence-transformers==5.3.0",
            "transformers<=5.3.0",
            "ujson",
            "fastkmeans==0.5.0",
            "datasets",
            "accelerate",
            "pandas",
        ],
        ["--no-deps", "pylate"],
    ],
}
_SAID = {"cat.ckpt": "BERT_CAT", "dot.ckpt": "BERT_DOT", "colbert.ckpt": "ColBERT"}
QUERIES = [
    "what is the lamp of Orvell made of, and who was it that first lit it above the harbour?",
    "iron gate",
    "where do they serve soup in winter?",
    "Why didn't the keeper of the tower sleep?",
]
PASSAGES = [
    "The lamp of Orvell burns green oil, doesn't it? It was built in 1874, by the keepers of the harbour; nobody knows why (or so they say).",
    "Iron gate.",
    "Zoë's café serves naïve soup in the evening — and tea!",
    "A stone stands in the hall of the mountain king. " * 12,
    "water",
    "The keeper, who slept by day, wrote each night's weather into a book: wind, rain, the colour of the sea & the ships that passed.",
    "In winter the kitchen opens at noon. Soup is served in the hall below the tower; bread costs 20 ¢ more. " * 30,
    "An unpronounceablewordthatnobodyhaswritten stands at the end of the gate's inscription.",
]


class Row(NamedTuple):
    """A line of the table: a model, who made it, who loaded it, and the result."""

    model: str
    maker: str
    reader: str
    result: str


def environment(work: Path, name: str) -> Path:
    """Return the Python of a library's environment, made where there is none."""
    place = work / f"env-{name}"
    if not (place / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        for packages in ENVIRONMENTS[name]:
            subprocess.run([str(place / "bin" / "pip"), "install", "-q", *packages], check=True)
        (place / "ready").touch()
    return place / "bin" / "python"


def make_ours(work: Path) -> None:
    """Write our four models with random heads, the encoder under a name, and the pairs."""
    (work / "pairs.json").write_text(json.dumps([(query, PASSAGES) for query in QUERIES]))
    if not (work / "minilm").exists():
        (work / "minilm").symlink_to(encoder_folder(MINILM).resolve())
    shapes = {"bert_cat": BertCatConfig(), "bert_dot": BertDotConfig(), "colbert": ColBERTConfig(dimension=128)}
    models: dict[str, Any] = {}
    for kind, shape in shapes.items():
        torch.manual_seed(2)
        models[kind.removeprefix("bert_")] = model_over(kind, shape, MINILM)
    torch.manual_seed(2)
    models["tk"] = TK(TKConfig(), Vocabulary.build(count_words(PASSAGES)))
    for name, model in models.items():
        manifest = Manifest(kind="checkpoint", name=name, command="benchmarks/interop.py")
        save_checkpoint(work / f"{name}.ckpt", model.eval(), depth=None, training={}, manifest=manifest, overwrite=True)


def ours(folder: Path) -> np.ndarray:
    """Return our scores ``(queries, passages)`` of a model."""

    class Texts:
        def texts(self, passage_ids: Any) -> list[str]:
            return [PASSAGES[int(one)] for one in passage_ids]

    ids = [str(place) for place in range(len(PASSAGES))]
    queries = [Query(f"q{place}", text) for place, text in enumerate(QUERIES)]
    run = Run("given", [(query.query_id, ids, list(range(len(ids), 0, -1))) for query in queries])
    model = load_checkpoint(folder).model
    done = rescore(model, Texts(), queries, run, name=folder.name, config=RankingConfig(precision="float32")).run
    found = np.empty((len(QUERIES), len(PASSAGES)))
    for row, query in enumerate(queries):
        found[row, [int(one) for one in done[query.query_id].passage_ids]] = done[query.query_id].scores
    return found


def result(theirs: Any, folder: Path) -> str:
    """Say how far our scores are from theirs, or who could not load the model."""
    if isinstance(theirs, str):
        return f"not loaded: {theirs[:160]}"
    try:
        own, other = ours(folder), np.array(theirs)
    except InputError as error:
        return f"refused: {str(error).replace(str(folder), 'FOLDER')[:160]}"
    return f"{np.abs(own - other).max():.1e} ({other.min():.3g} to {other.max():.3g})"


def rows(work: Path, name: str, found: dict[str, Any]) -> Iterator[Row]:
    """Yield the lines of one environment."""
    versions = found["versions"]
    for row, theirs in found["rows"].items():
        if " by " in row:
            model, _, library = row.partition(" by ")
            beside = f" (transformers {versions['transformers']})" if library != "transformers" else ""
            yield Row(_SAID[model], "positionbias", f"{library} {versions[library]}{beside}", result(theirs, work / model))
        else:
            kind, _, encoder = row.partition(": ")
            maker = f"{name} {versions[name]} over {encoder}"
            yield Row(kind, maker, "positionbias", result(theirs, work / name / encoder / kind))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="environments, models and scores are kept here")
    work = parser.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    lines: list[Row] = []
    for name in ENVIRONMENTS:
        place = work / f"{name}.json"
        if not place.exists():
            if not (work / "cat.ckpt").exists():
                make_ours(work)
            offline = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
            peers = str(Path(__file__).parent / "interop_peers.py")
            subprocess.run([str(environment(work, name)), peers, name, str(work)], check=True, env=offline)
        lines += rows(work, name, json.loads(place.read_text()))
    lines.append(
        Row("TK", "positionbias", "none", f"no other library has it (scores {ours(work / 'tk.ckpt').min():.3g} and more)")
    )
    torches = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "sentence-transformers"))
    head = f"{hardware()}; positionbias with {torches}; {date.today().isoformat()}."
    table = ["| model | made by | loaded by | largest difference in score (scores) |", "|---|---|---|---|"]
    table += [f"| {' | '.join(part.replace('|', '/') for part in line)} |" for line in lines]
    pairs = (
        f"{len(QUERIES)} queries with {len(PASSAGES)} passages each, from one word to longer than any limit; heads are random, float32. "
        "A BERT with its pooler was scored before it was saved: lightning-ir 0.0.6 draws its weights anew when it loads one."
    )
    text = [
        "# Models of others read here, and ours read by others",
        "",
        head,
        "",
        "    python benchmarks/interop.py --work FOLDER",
        "",
        pairs,
        "",
    ]
    result_place("interop").write_text("\n".join([*text, *table, ""]), encoding="utf-8")
    print("\n".join(table))


if __name__ == "__main__":
    main()
