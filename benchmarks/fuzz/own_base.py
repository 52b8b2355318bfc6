"""One tiny artefact of each kind, and the works of stopped commands, made by posbias itself; and a
command run in this process or in a fork of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

__all__ = [
    "CLICKS",
    "DEBIAS",
    "STEPS",
    "TEACH",
    "TRAIN_TK",
    "Said",
    "adopt",
    "debias_raw",
    "forked",
    "imports",
    "make_base",
    "make_steps",
    "near",
    "posbias",
    "state",
]

_STEPS = "--batch-size 4 --set threads=1"
_SIZES = ("dimension=8", "layers=1", "heads=2", "head_size=3", "feed_forward=6")
_SHAPE = " ".join([_STEPS, *(f"--set {size}" for size in _SIZES)])
_WORDS = f"--set max_steps=6 --set validate_every=2 {_SHAPE}"
TINY = f"--set max_steps=2 {_SHAPE}"
_TRAIN_TK = f"train tk ./col --candidates train.run --validation-candidates validation.run {_WORDS}"
TIMES = "log.jsonl"  # of a checkpoint: how long its steps took
DEBIAS = "debias ./col --words whitespace --out ./rotated"
_TEACH = "model teach ./col --model ./tk --candidates train.run --set block_pairs=40"
TEACH = f"{_TEACH} --out ./teaching"
TRAIN_TK = f"{_TRAIN_TK} --set save_every=2 --out ./trained"
_CLICKS = "model trainset clicks ./col --candidates train.run --set relevant_from=1 --negatives 3"
CLICKS = f"{_CLICKS} --out ./clicked"
LEAKS = "leakage find --source train=./col:train ./col:test --encoder ./dot --threshold 0.9"
_PIECES = f"--candidates train.run --encoder ./bert --set max_steps=2 {_STEPS}"
_BASE = (
    "import planted --queries 40 --passages 160 --set leaked_queries=12 --out ./col",
    "retrieve ./col --split train --depth 6 --out ./train.run",
    "retrieve ./col --split validation --depth 6 --out ./validation.run",
    "retrieve ./col --split test --depth 6 --out ./test.run",
    f"{_TRAIN_TK} --out ./tk",
)
_OVER_ENCODER = (
    f"train bert_dot ./col {_PIECES} --set passage_length=60 --out ./dot",
    f"train bert_cat ./col {_PIECES} --set pair_length=60 --out ./cat",
    "model encode ./col --model ./dot --out ./vec",
    f"{_TEACH} --out ./taught",
    (
        "model trainset contaminated ./col --contaminate test --candidates train.run "
        "--set target_relevant_from=1 --out ./groups"
    ),
    f"{_CLICKS} --out ./clicks",
    "rerank ./col --model ./tk --candidates test.run --out ./tk.run",
    "evaluate test.run tk.run --collection ./col --out ./found",
    f"{LEAKS} --out ./leaks",
    ("audit ./col --model ./tk --candidates test.run --set needles=10 --out ./audited"),
    "mats ./col --model ./tk --curve --out ./ats",
    # artefacts of the same kinds, whose files stand in for theirs
    "import planted --queries 40 --passages 160 --set leaked_queries=12 --seed 2 "
    "--out ./others/col",
    "retrieve ./others/col --split test --depth 6 --out ./others/test.run",
    "evaluate ./others/test.run --collection ./others/col --out ./others/found",
)


STEPS = ("one", "two/three")


class Said(NamedTuple):
    """How a command ended: its exit code, and what it wrote."""

    code: int
    output: str
    errors: str


def posbias(command: str, folder: Path) -> Said:
    """Run a command of posbias in this process, in ``folder``."""
    from positionbias.cli.main import main

    output, errors, before = io.StringIO(), io.StringIO(), Path.cwd()
    code: Any = 0
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                main(["--quiet", *shlex.split(command)])
            except SystemExit as stop:
                code = stop.code
    finally:
        os.chdir(before)
    return Said(code if isinstance(code, int) else 70, output.getvalue(), errors.getvalue())


def forked(work: Callable[[], int]) -> int:
    """Call ``work`` in a fork, and return the exit code that it gives, negative for a signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        code = work()
    finally:
        os._exit(code)


def imports() -> None:
    """Import here, once, what commands import, so that forks have it; nothing is computed, as no
    thread survives a fork.
    """
    import ir_measures
    import pandas
    import pyarrow.parquet
    import scipy.stats
    import torch._dynamo  # an optimiser's
    import transformers.modeling_utils

    import positionbias.cli.main
    import positionbias.core.manifest
    import positionbias.dense.vectors
    import positionbias.ops.audit
    import positionbias.report.page
    import positionbias.training.train

    assert all(
        (ir_measures, pandas, pyarrow.parquet, scipy.stats, torch, transformers, positionbias)
    )


def make_base(base: Path) -> None:
    """Make the artefacts in ``base``, and in ``base/works`` what killed commands leave."""
    base.mkdir(parents=True)
    (base / "others").mkdir()
    for command in _BASE:
        _make(command, base)
    if forked(lambda: _make_encoder(base)):
        raise SystemExit("make_encoder failed")
    for command in _OVER_ENCODER:
        _make(command, base)
    make_steps(base / "study")
    works = base / "works"
    works.mkdir()
    (works / "raw.tsv").write_text(
        "".join(
            f"{n}\tThe lamp number {n} burns green oil. It hangs in the hall {n}.\n"
            for n in range(40)
        )
    )
    near(base, works)
    for command in (DEBIAS, TEACH, TRAIN_TK, CLICKS):
        _stopped(lambda command=command: _ended(posbias(command, works)))
    _stopped(lambda: debias_raw(works))


def near(base: Path, folder: Path) -> None:
    """Let a folder have what commands read, where it has not its own."""
    for name in (
        "works/raw.tsv",
        *(
            path.name
            for path in base.iterdir()
            if path.name not in ("works", "others", "whole", "undisturbed")
        ),
    ):
        place = folder / Path(name).name
        if not place.exists():
            place.symlink_to(base / name)


def _make(command: str, base: Path) -> None:
    def work() -> int:
        os.environ["POSBIAS_HOME"] = str(base / "home")
        said = posbias(command, base)
        sys.stderr.write(said.errors)
        return said.code

    if code := forked(work):
        raise SystemExit(f"posbias {command}: ended with {code}")


def _make_encoder(base: Path) -> int:
    from positionbias.models.new_encoder import make_encoder
    from positionbias.models.settings import EncoderSettings

    settings = EncoderSettings(layers=1, width=16, heads=2, pieces=200, max_length=64)
    make_encoder([base / "col"], base / "bert", settings)
    return 0


def _ended(said: Said) -> int:
    sys.stderr.write(said.errors)
    return said.code


def debias_raw(folder: Path, out: str = "raw-rotated.tsv", *, overwrite: bool = False) -> int:
    """Rotate a raw file in blocks of a few lines."""
    from positionbias.positions.raw_files import debias_file
    from positionbias.positions.rotate import Rotation

    debias_file(
        folder / "raw.tsv",
        folder / out,
        Rotation(words="whitespace"),
        "tsv",
        block_bytes=300,
        overwrite=overwrite,
    )
    return 0


def make_steps(folder: Path) -> None:
    """Make a study's steps over what stands there: those that their receipts vouch for are not made
    again.
    """
    from positionbias.core.publish import atomic_folder
    from positionbias.experiments.step import Steps

    def make(place: Path) -> None:
        with atomic_folder(place, overwrite=True, owned=True) as partial:
            (partial / "text").write_text(place.name)

    steps = Steps(folder)
    for name in STEPS:
        steps.make(
            name, folder / name, {"a": 1}, {"b": "c"}, lambda place=folder / name: make(place)
        )


def _stopped(work: Callable[[], int]) -> None:
    """Kill the work in a fork when all is made and nothing has its name yet; a training, at its
    second save; clicks, while they have their draws.
    """

    def stopped() -> int:
        from positionbias.clicks import trainset
        from positionbias.core import publish
        from positionbias.core.publish import work_folder
        from positionbias.training import loop

        saves = iter(range(9))

        def save(*given: Any) -> None:
            kept(*given)
            if next(saves):
                os._exit(9)

        def put(made: Path, final: Path) -> None:
            resumed = (work_folder(final) / "job.json").is_file()
            os._exit(9) if resumed else putting(made, final)

        kept, putting = loop.save_state, publish._put
        leave = lambda *_, **__: os._exit(9)  # noqa: E731
        with (
            patch.object(publish, "_put", put),
            patch.object(trainset, "remove", leave),
            patch.object(loop, "save_state", save),
        ):
            return work()

    if (code := forked(stopped)) != 9:
        raise SystemExit(f"a work was to be stopped, and ended with {code}")


def adopt(work: Path) -> None:
    """Make a copied work folder one of this place: its job may name a collection by its path."""
    job = work / "job.json"
    if job.is_file():
        record = json.loads(job.read_text())
        if "collection" in record:
            record["collection"] = str(work.absolute().parent / "col")
            job.write_text(json.dumps(record, sort_keys=True))


def state(place: Path) -> str | None:
    """What an artefact is, as the next open finds it; times and machines left out."""
    from positionbias.core.publish import recover

    recover(place)
    if not place.exists():
        return None
    digest = hashlib.sha256()
    beside = place.with_name(f"{place.name}.manifest.json")
    found = (
        path
        for path in place.rglob("*")
        if path.is_file() and "cache" not in path.relative_to(place).parts
    )
    # a cache names the manifest's digest, and is no artefact
    files = sorted(found) if place.is_dir() else [place, beside]
    for path in files:
        if path.name == TIMES:
            continue
        data = path.read_bytes() if path.exists() else b""
        if path.name.endswith("manifest.json") and data:
            record = json.loads(data)
            for changing in ("provenance", "digest"):  # which goes over the former
                record.pop(changing, None)
            for each in [*(record.get("files") or ())]:
                # of results within, which has changing fields too
                if each == TIMES or each.endswith("/manifest.json"):
                    del record["files"][each]
            data = json.dumps(record, sort_keys=True).encode()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()
