"""A command given again, with the same inputs, says that it is done and leaves its output alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from positionbias.cli.generate import OperationCommand
from positionbias.cli.main import posbias
from tests import commands
from tests.golden.inputs import Inputs

RUNS = "--candidates {train} --validation-candidates {validation}"
TK = "--set max_steps=1 --set batch_size=4 --set dimension=8 --set layers=1"
POOL = "{pool}/runs {pool}/qrels.txt --systems {pool}/systems.tsv"
LINES = {
    "histogram": "{col} --split test",
    "audit": "{col} --model {tk} --candidates {test} --set needles=6",
    "debias": "{col}",
    "mats": "{col} --model {tk}",
    "train": f"tk {{col}} {RUNS} {TK}",
    "rerank": "{col} --model {tk} --candidates {test}",
    "retrieve": "{col} --split test --depth 6",
    "evaluate": "{test} --collection {col}",
    "import table": "{table}",
    "import planted": "--queries 30 --passages 120",
    "collection attach": "{col} --answers {table}",
    "collection merge": "a={col} b={clicked}",
    "collection sample": "{col} --queries 5 --passages 200",
    "collection select": "{col} --answers-in 0:0.9",
    "collection place": "{col} --density uniform",
    "collection export": "{col} --to beir",
    "model vectors": "{col} --encoder {encoder} --dimension 4",
    "model encode": "{col} --model {dot}",
    "model trainset leaked": (
        "{col} --target test --candidates {train} --leakage no --pairs {leaks} --size 20"
    ),
    "model trainset contaminated": "{col} --candidates {train}",
    "model trainset clicks": "{col} --candidates {train}",
    "model teach": "{col} --model {tk} --candidates {train}",
    "model remedy": "{tk} --remedy rotate:2",
    "model ensemble": "{test} {reversed}",
    "leakage find": "{col}:train {col}:test --detector lexical",
    "leakage overlap": "{col}:train --test {col}:test",
    "leakage clean": "{col} --pairs {leaks}",
    "pool coverage": POOL,
    "pool reliability": POOL,
    "pool verdict": (
        "{pool}/new.run {pool}/pool.txt --pool-runs {pool}/runs --systems {pool}/systems.tsv"
    ),
    "contamination suspect": "{col} --model {test} --model {fresh} --fresh fresh",
}
# of a study each step says it; what imports a release writes as what imports a table; a sheet to
# label is for a person to change
OTHERS = ("demo", "study ", "import ", "leakage label")


def leaves(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        elif command is not None:
            yield " ".join((*words, name)), command


def test_every_command_with_one_output_is_asked() -> None:
    asked = [
        words
        for words, command in leaves(posbias)
        if isinstance(command, OperationCommand)
        and [p.name for p in command.made.parameters if p.setting.place == "written"] == ["out"]
    ]
    assert {words for words in asked if not words.startswith(OTHERS)} <= {*LINES} <= {*asked}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("inputs"))


class Places(dict[str, object]):
    """What the lines name, each made when it is first named."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self.inputs = inputs

    def __missing__(self, name: str) -> object:
        inputs = self.inputs
        if name in ("train", "validation", "test", "fresh"):
            return inputs.runs[name]
        places = {
            "col": lambda: inputs.planted.path,
            "clicked": lambda: inputs.clicked.path,
            "reversed": lambda: inputs.reversed_run,
            "table": lambda: table(inputs),
            "tk": inputs.tk,
        }
        return places[name]() if name in places else getattr(inputs, name)


def table(inputs: Inputs) -> Path:
    """Rows of the planted collection, each with its passage's first word as a further answer."""
    place = inputs.folder / "rows.jsonl"
    frame = inputs.planted.to_pandas("test").query("label > 0")
    frame["answer"] = frame["passage"].str.split().str[0]
    columns = ["query_id", "query", "passage_id", "passage", "answer"]
    place.write_text("".join(f"{json.dumps(row)}\n" for row in frame[columns].to_dict("records")))
    return place


def files_in(folder: Path) -> dict[Path, tuple[int, int, int]]:
    states = ((path, path.stat()) for path in folder.rglob("*"))
    return {path: (state.st_ino, state.st_size, state.st_mtime_ns) for path, state in states}


@pytest.mark.parametrize("words", LINES)
def test_a_command_given_again_is_done_before(
    words: str,
    inputs: Inputs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = [
        *words.split(),
        *shlex.split(LINES[words].format_map(Places(inputs))),
        "--out",
        tmp_path / "made",
    ]
    code, _, err = commands.posbias(capsys, *line)
    assert code == 0, err
    before = files_in(tmp_path)
    code, _, err = commands.posbias(capsys, *line)
    assert code == 0, err
    assert "made: done before, by the same command from the same inputs" in err
    assert files_in(tmp_path) == before
