"""What is read of each artefact of ours: all of it, in every way that the package reads it. Two
readings of the same content are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from own_base import (
    CLICKS,
    DEBIAS,
    STEPS,
    TEACH,
    TINY,
    TRAIN_TK,
    Said,
    debias_raw,
    make_steps,
    posbias,
    state,
)

__all__ = ["ARTEFACTS", "Artefact", "Refused", "plain"]


class Refused(Exception):
    """A command ended with exit code 2 and this line."""


class Artefact(NamedTuple):
    """An artefact by its path in the base: what of it is damaged, how it is read, and how many of
    100 inputs are of it.

    ``read`` gets its place in a folder of its own, and the base, which is whole. ``other``: an
    artefact of its kind whose files may stand in. ``always``: the result must be the same, or
    refused, whoever vouches for the damage.
    """

    name: str
    path: str
    read: Callable[[Path, Path], Any]
    share: float
    within: str = ""
    other: str = ""
    always: bool = False


def plain(value: Any) -> Any:
    """Arrays as lists, so that ``repr`` tells all of it."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _collection(place: Path, base: Path) -> Any:
    from positionbias.core.collection import find_collection

    found = find_collection(place)
    ids = found.passage_ids()
    read: list[Any] = [
        len(found),
        found.name,
        found.splits,
        ids,
        list(found.passages()),
        found.texts(ids),
        found.rows(ids[::-1]),
    ]
    read += [
        found.texts_at(np.arange(len(found))),
        found.passage_ids_at(np.arange(len(found))),
        found.absent(["nobody", *ids[:3]]),
    ]
    for split in found.splits:
        read += [
            found.queries(split),
            list(found.query_texts(split)),
            found.qrels(split),
            found.answers(split),
        ]
        read += [
            found.qrels_names(split),
            found.table("qrels", split).to_pylist(),
            found.table("answers", split).to_pylist(),
        ]
        read += [found.qrels(split, name) for name in found.qrels_names(split)]
    return read


def _ids_index(place: Path, base: Path) -> Any:
    from positionbias.core.collection import Collection

    found = Collection(place)
    ids = [passage.passage_id for passage in found.passages()]
    return found.rows(ids), found.texts(ids[::7]), found.absent(["nobody", *ids[:9]])


def _bm25(place: Path, base: Path) -> Any:
    from positionbias.core.collection import Collection
    from positionbias.firststage.bm25 import open_index, search
    from positionbias.firststage.settings import Bm25Settings

    found = Collection(place)
    run = search(open_index(found, Bm25Settings()), found.queries("test"), 6)
    return [(ranking.query_id, ranking.passage_ids, ranking.scores) for ranking in run.rankings()]


def _run(place: Path, base: Path) -> Any:
    from positionbias.core.run import Run
    from positionbias.core.run_files import read_rankings

    run = Run.from_file(place)
    return [list(map(tuple, run.rankings())), list(map(tuple, read_rankings(place)))]


def _groups(place: Path, base: Path) -> Any:
    from positionbias.core.groups import Groups

    groups = Groups(place)
    listed = list(groups)
    taken = groups.take(list(range(len(groups)))[::-1])
    among = groups.positives_among([passage for group in listed for passage in group.passage_ids])
    return [len(groups), groups.splits, listed, taken, sorted(among)]


def _taught(place: Path, base: Path) -> Any:
    from positionbias.ranking.teacher_scores import open_teacher_scores

    scores = open_teacher_scores(place)
    rankings = [tuple(ranking) for ranking in scores.rankings()]
    return [
        rankings,
        scores.split,
        scores.order_only,
        [scores.scores(each[0], each[1]) for each in rankings],
    ]


def _vectors(place: Path, base: Path) -> Any:
    from positionbias.dense.vectors import Vectors

    vectors = Vectors(place)
    rows = np.arange(len(vectors))[::-1]
    return [
        len(vectors),
        vectors.dimension,
        vectors.take(rows),
        vectors.ids_at(rows),
        vectors.by_descending_id(),
        list(vectors.blocks()),
    ]


def _checkpoint(place: Path, base: Path) -> Any:
    import torch

    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.ranking.pairs import score_pairs

    found = load_checkpoint(place)
    with torch.inference_mode():
        scores = score_pairs(
            found.model, [("what does it burn", "The lamp burns green oil."), ("the gate", "Iron.")]
        )
    return [found.name, found.depth, asdict(found.training), found.ended_name, list(scores)]


def _rows(place: Path, base: Path) -> Any:
    from positionbias.core.rows import load, load_values

    rows = load(place)
    return [rows.to_csv(), load_values(place, rows).to_csv()]


def _command(command: str, made: str = "") -> Callable[[Path, Path], Any]:
    """Run a command in the artefact's folder: what it makes there, or else what it prints."""

    def read(place: Path, base: Path) -> Any:
        said = posbias(command, place.parent)
        if left := [name for name in _hidden(place.parent) if name.startswith((".x", ".col"))]:
            raise AssertionError(f"left behind: {', '.join(left)}")
        _answered(said)
        if not made:
            return said.output
        return state(place.parent / made)

    return read


def _answered(said: Said) -> None:
    lines = [line for line in said.errors.splitlines() if line.startswith("posbias: ")]
    if said.code == 2 and len(lines) == 1 and said.errors.strip().endswith(lines[0]):
        raise Refused(lines[0])
    if said.code != 0:
        raise AssertionError(f"exit code {said.code}: {said.errors[-2_000:]}")


def _work(command: str, name: str) -> Callable[[Path, Path], Any]:
    """Go on with a stopped command; where it refuses, it must do so before anything has its
    name.
    """

    def read(place: Path, base: Path) -> Any:
        folder = place.parent
        _answered(posbias(command, folder))
        return [state(folder / name), _hidden(folder)]

    return read


def _raw_work(place: Path, base: Path) -> Any:
    debias_raw(place.parent)
    return [state(place.parent / "raw-rotated.tsv"), _hidden(place.parent)]


def _hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def _steps(place: Path, base: Path) -> Any:
    make_steps(place)
    return [state(place / name) for name in STEPS]


ARTEFACTS = (
    Artefact("collection", "col", _collection, 16, "/", "others/col"),
    Artefact("collection's index of ids", "col", _ids_index, 7, "/ids.arrow", "others/col"),
    Artefact("collection's BM25 index", "col", _bm25, 4, "/cache/bm25s", "others/col"),
    Artefact("run", "test.run", _run, 12, "", "others/test.run"),
    Artefact("training groups", "groups", _groups, 10),
    Artefact("click triples", "clicks", _groups, 8, "", "groups"),
    Artefact("teacher's scores", "taught", _taught, 10),
    Artefact("vectors", "vec", _vectors, 10),
    Artefact("checkpoint of TK", "tk", _checkpoint, 6),
    Artefact("checkpoint of BERT_CAT", "cat", _checkpoint, 1, "", "dot"),
    Artefact("checkpoint of BERT_DOT", "dot", _checkpoint, 1, "", "cat"),
    Artefact("rows of evaluate", "found", _rows, 6, "", "others/found"),
    Artefact("rows of audit", "audited", _rows, 3, "", "ats"),
    Artefact("work of debias", ".rotated.work", _work(DEBIAS, "rotated"), 1, always=True),
    Artefact("work of debias of a file", ".raw-rotated.tsv.work", _raw_work, 4, always=True),
    Artefact("work of teach", ".teaching.work", _work(TEACH, "teaching"), 0.5, always=True),
    Artefact("work of click triples", ".clicked.work", _work(CLICKS, "clicked"), 1, always=True),
    Artefact(
        "work of train",
        ".trained.training",
        _work(f"{TRAIN_TK} --resume", "trained"),
        0.3,
        always=True,
    ),
    Artefact("receipts of a study", "study", _steps, 2),
    Artefact(
        "collection, by show", "col", _command("collection show ./col"), 0.6, "/", "others/col"
    ),
    Artefact(
        "collection, by verify", "col", _command("collection verify ./col"), 0.6, "/", "others/col"
    ),
    Artefact(
        "collection, by debias",
        "col",
        _command("debias ./col --words whitespace --out ./x", "x"),
        0.6,
        "/",
        "others/col",
    ),
    Artefact(
        "collection, by retrieve",
        "col",
        _command("retrieve ./col --out ./x.run", "x.run"),
        0.6,
        "/",
        "others/col",
    ),
    Artefact(
        "run, by evaluate",
        "tk.run",
        _command("evaluate tk.run --collection ./col --out ./x", "x"),
        0.4,
    ),
    Artefact(
        "checkpoint, by rerank",
        "tk",
        _command("rerank ./col --model ./tk --candidates ./test.run --out ./x.run", "x.run"),
        0.4,
    ),
    Artefact(
        "vectors, by retrieve",
        "vec",
        _command("retrieve ./col --vectors ./vec --model ./dot --out ./x.run", "x.run"),
        0.4,
    ),
    Artefact(
        "training groups, by train",
        "groups",
        _command(f"train tk ./col --trainset ./groups {TINY} --out ./x", "x"),
        0.15,
    ),
    Artefact(
        "click triples, by verify",
        "clicks",
        _command("collection verify ./clicks"),
        0.4,
        "",
        "groups",
    ),
    Artefact(
        "click triples, by train",
        "clicks",
        _command(f"train tk ./col --trainset ./clicks {TINY} --out ./x", "x"),
        0.15,
        "",
        "groups",
    ),
    Artefact(
        "teacher's scores, by train",
        "taught",
        _command(
            f"train tk ./col --teacher-scores ./taught --loss margin_mse {TINY} --out ./x", "x"
        ),
        0.1,
    ),
    Artefact(
        "results, by report",
        "found",
        _command("report ./found --out ./x.html", "x.html"),
        0.05,
        "",
        "others/found",
    ),
)
