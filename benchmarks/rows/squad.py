"""SQuAD as inputs: a collection with candidates, pairs and passages as JSON, and a BERT_CAT over
MiniLM that is trained on it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.sides import SideFailed

__all__ = ["bert_cat", "candidates", "collection", "pairs", "passages", "posbias"]

CANDIDATES = 20  # a question
STEPS = 300  # of the training


def posbias(*arguments: object) -> None:
    """Run a command of this checkout.

    Raises:
        SideFailed: it failed; what it said last.
    """
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "positionbias", "-q", *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stderr.strip() or "nothing said").splitlines()[-1]
        raise SideFailed(f"posbias {' '.join(map(str, arguments[:2]))} failed: {said}")


def squad_files() -> tuple[Path, Path]:
    data = os.environ.get("POSBIAS_DATA")
    if not data or not (Path(data) / "squad" / "dev-v1.1.json").exists():
        raise SideFailed(
            "wanted squad/dev-v1.1.json and squad/train44-v1.1.json in the folder that "
            "POSBIAS_DATA names; found none"
        )
    return Path(data) / "squad" / "train44-v1.1.json", Path(data) / "squad" / "dev-v1.1.json"


def collection(folder: Path) -> Path:
    """SQuAD's collection beside ``folder``, imported once for quick and full runs."""
    place = folder.parent / "squad"
    if not place.exists():
        train, test = squad_files()
        posbias(
            "import",
            "squad",
            "--train",
            train,
            "--test",
            test,
            "--validation-queries",
            500,
            "--out",
            place,
        )
    return place


def candidates(folder: Path, split: str) -> Path:
    """A run of BM25 over a split's questions."""
    place = folder.parent / f"squad-{split}.run"
    if not place.exists():
        posbias(
            "retrieve", collection(folder), "--split", split, "--depth", CANDIDATES, "--out", place
        )
    return place


def bert_cat(folder: Path) -> Path:
    """A trained checkpoint that sentence-transformers loads too: an untrained head's scores are no
    yardstick for agreement.
    """
    place = folder.parent / "bert_cat"
    if not place.exists():
        runs = [candidates(folder, split) for split in ("train", "validation")]
        options = ("--encoder", "minilm", "--quick", "--set", f"max_steps={STEPS}", "--out", place)
        posbias(
            "train",
            "bert_cat",
            collection(folder),
            "--candidates",
            runs[0],
            "--validation-candidates",
            runs[1],
            *options,
        )
    return place


def pairs(folder: Path, questions: int) -> Path:
    """``[[question, passage], …]``: every so-many-th question of the test split with its
    candidates.
    """
    place = folder / f"pairs-{questions}.json"
    if not place.exists():
        from positionbias.core.collection import Collection
        from positionbias.core.run import Run

        source, run = Collection(collection(folder)), Run.from_file(candidates(folder, "test"))
        asked = [query for query in source.queries("test") if query.query_id in run]
        asked = asked[:: len(asked) // questions][:questions]
        made = [(q.text, text) for q in asked for text in source.texts(run[q.query_id].passage_ids)]
        _write(place, made)
    return place


def passages(folder: Path, count: int) -> Path:
    """``[passage, …]``: the first of the collection."""
    place = folder / f"passages-{count}.json"
    if not place.exists():
        from positionbias.core.collection import Collection

        _write(
            place,
            [
                passage.text
                for passage, _ in zip(
                    Collection(collection(folder)).passages(), range(count), strict=False
                )
            ],
        )
    return place


def encoder(folder: Path) -> Path:
    """MiniLM's folder as sentence-transformers reads it, copied from the package of the extra
    ``minilm``.
    """
    from positionbias.models.encoder_source import encoder_folder

    place = folder.parent / "minilm"
    if not place.exists():
        shutil.copytree(encoder_folder("minilm"), place)
    return place


def _write(place: Path, made: Sequence[Any]) -> None:
    partial = place.with_suffix(".part")
    partial.write_text(json.dumps(made), "utf-8")
    partial.rename(place)
