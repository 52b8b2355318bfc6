"""Every command and Python block of README and docs runs, page by page, on small files under the
names that the pages use.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from contextlib import chdir
from itertools import pairwise
from pathlib import Path

import pytest

import positionbias
from positionbias.cli.main import main
from positionbias.models import encoder_source
from tests.documentation.blocks import PAGES, codes
from tests.documentation.shelf import make_shelf

# What a page says -> the same at toy size, or under the name of what is there.
TOY = {
    r"--validation-queries \d+": "--validation-queries 12",
    r"--queries \d+ --passages \d+": "--queries 60 --passages 150",
    r"--workers \d+": "--workers 1",
    r"--triples 10M": "--triples 20",
    r"\bt5-base\b|castorini/\S+": "./t5",
    r"BAAI/\S+": "minilm",
    r"allenai/\S+": "./encoder",
    r"(posbias model trainset leaked .*)": r"\1 --size 8 --leaked-queries 2",
    r"(posbias study leakage .*)": r"\1 --size 8 --leaked-queries 2",
    r"(posbias train bert\w+ (?!.*--encoder).*)": r"\1 --encoder minilm",
    r"--epochs 1 ": "",
    r"(posbias train .*)": r"\1 --set max_steps=2 --set validate_every=1 --batch-size 4",
    r"(posbias leakage find (?!.*--encoder).*)": r"\1 --encoder minilm",
    r"(posbias (?:audit|check) .*?)(?: --queries \d+)?$": r"\1 --queries 9 --depth 8",
    r"(posbias model teach .*)": r"\1 --depth 4",
    # of which the small queries have some
    r"(posbias leakage overlap msmarco .*)": r"\1 --set ngram=5",
    "msmarco.dl19.passages": "msmarco.dl19.queries",
    "leakage label sheet.tsv --score of_test": "leakage label annotated.jsonl",  # filled in
    # of an encoder that nobody knows
    r"(posbias leakage (?:find|clean) (?!.*--remove).*)": r"\1 --threshold 0.99",
    # what an earlier section has written
    r"(posbias debias \w+(?: --workers \d)?)$": r"\1 --overwrite",
    r"(posbias study (?!.*--dry-run).*)": r"\1 --dry-run",
}
# What no test can run, and why.
ELSEWHERE = {
    "# positionbias/papers/toy": "files; tests/test_additions.py adds them",
    "posbias model push": "the Hub",
    "table hf:": "the Hub",
    "load_dataset(": "the Hub",
    "posbias import irds": "downloads",
    "RUN --out": "no name",
    "dataset.map": "no name",
    "openai:": "an endpoint",
    "rerank:": "an endpoint",
    "chat:": "an endpoint",
    "--set engine=ray": "a cluster",
    "posbias demo": "minutes; tests/papers run it",
    "debias -": "reads a pipe",
    "SentenceTransformerTrainer(": "a training of the reader's own",
    "pt.Experiment": "pipelines of the reader's own",
    "my_indexer": "pipelines of the reader's own",
    "pyterrier.Experiment": "pipelines of the reader's own",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    with chdir(folder):
        make_shelf(folder)
    return folder


@pytest.fixture
def there(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shelf as the working directory and $POSBIAS_HOME, where ``minilm`` is a small
    encoder.
    """
    folder = tmp_path / "here"
    shutil.copytree(shelf, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("POSBIAS_HOME", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(encoder_source, "_minilm_folder", lambda: folder / "minilm-files")
    return folder


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(codes(page))], ids=lambda page: page.name
)
def test_a_page_runs(
    page: Path, shelf: Path, there: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed, names = (
        [],
        {
            "positionbias": positionbias,
            "text": "one two three",
            "passage_id": "p1",
            "rows": [],
            "frame": None,
        },
    )
    at = 0
    for code, python, section in codes(page):
        if section > at:  # each begins with the files of the shelf
            restore(shelf, there)
            restore(shelf / "pages" / page.name, there)
            at = section
        if any(mark in code for mark in ELSEWHERE):
            continue
        try:
            if python:
                exec(code, names)
            else:
                run(code)
        except (Exception, SystemExit) as error:
            failed.append(f"{code}\n    {error!r}: {capsys.readouterr().err.strip()[-400:]}")
    assert not failed, "\n".join(failed)


def restore(shelf: Path, there: Path) -> None:
    """Give the shelf's names their own files back."""
    changed = [
        name
        for name in (shelf.iterdir() if shelf.is_dir() else ())
        if state(name) != state(there / name.name)
    ]
    for name in changed:
        remove(there / name.name)
    for name in changed:
        (shutil.copytree if name.is_dir() else shutil.copy2)(name, there / name.name)


def state(place: Path) -> list[tuple[str, int, int]]:
    """Return the files at a place, each with its size and the time when it was written."""
    files = [Path(folder, name) for folder, _, names in os.walk(place) for name in names]
    if place.is_file():
        files = [place]
    stats = [(path.relative_to(place).as_posix(), path.stat()) for path in files]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def run(command: str) -> None:
    """Run a command at toy size; what stands at its --out makes way."""
    for said, toy in TOY.items():
        command = re.sub(said, toy, command)
    arguments = shlex.split(command, comments=True)[1:]
    for name, out in pairwise(arguments):
        if name == "--out" and "--dry-run" not in arguments:
            remove(Path(out))
    try:
        main(arguments)
    except SystemExit as stop:
        if stop.code not in (0, 1, 3):  # check answers by 1 and 3
            raise


def remove(place: Path) -> None:
    for one in (place, place.with_name(f"{place.name}.manifest.json")):
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink(missing_ok=True)


def test_what_is_not_run_is_still_there() -> None:
    said = " ".join(code for page in PAGES for code, *_ in codes(page))
    assert [mark for mark in ELSEWHERE if mark not in said] == []
