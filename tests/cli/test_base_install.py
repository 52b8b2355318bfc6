"""The base install, which has no package of models: what works without them, and how what needs
them says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.errors import MODELS
from positionbias.core.qrels import Qrels
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from tests.pooling.simulated import Simulation, simulated_qrels, simulated_runs

from .test_main import commands

ABSENT = (*MODELS, "datasets", "faiss", "httpx2", "sentence_transformers", "statsmodels")
ASKED = (
    "posbias: models: wanted the package torch; found none; run: pip install 'positionbias[models]'"
)

NEEDED_BY = {  # by how a command begins, what needs a model, and what does without
    "train ": ("a training", ""),
    "demo": ("the demo's trainings", ""),
    "study ": ("the study's models", ""),
    "leakage find": ("--detector semantic, or both", ", or give --detector lexical"),
}


def asked(line: str) -> str:
    """What a command without the packages of models tells."""
    needed_by, instead = next(
        (told for begins, told in NEEDED_BY.items() if line.startswith(begins)), ("models", "")
    )
    return ASKED.replace("models:", f"{needed_by}:", 1) + instead


# Runs each line of the standard input as a command, in one process, and prints its exit code and
# what it told as JSON.
SCRIPT = f"""
import io, json, shlex, sys
from contextlib import redirect_stderr, redirect_stdout
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from positionbias.cli.main import main
for line in sys.stdin:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as told:
        try:
            main(shlex.split(line))
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([code, told.getvalue()]))
"""

NEEDS_NO_MODEL = """
import squad --train lamp.json --out squad
collection export squad --to squad --out squad-files
collection export planted --to msmarco --out msmarco-files
import msmarco msmarco-files --out msmarco
collection show planted
histogram planted
debias planted --workers 1 --out rotated
retrieve planted --split train --depth 20 --out train.run
retrieve planted --depth 20 --out test.run
retrieve rotated --depth 20 --out rotated.run
evaluate test.run rotated.run --collection planted --out evaluated
retrieve planted --depth 20 --set k1=2 --name other --out other.run
model ensemble test.run other.run --out both.run
audit planted test.run --rotated rotated rotated.run --out audited
audit planted test.run --evidence terms
collection sample planted --queries 10 --passages 100 --out small
collection place planted --density uniform --out placed
collection select planted --answers-in 0:0.5 --out front
collection merge A=planted B=clicked --out merged
collection export planted --to beir --out beir
import beir beir --out again
leakage find planted:train planted:test --detector lexical --out leaks
leakage overlap planted:train --test planted:test --out overlap
leakage clean planted --pairs overlap --remove queries --out overlap-clean
evaluate test.run rotated.run --collection planted --leaked overlap
leakage label leaks --score jaccard --above 0 --per-test 5 --out sheet.tsv
leakage clean planted --pairs leaks --lexical --out clean
model trainset clicks clicked --candidates clicked.run --out triples
pool coverage runs qrels.txt --systems systems.tsv --depth 5 --out covered
pool reliability runs qrels.txt --systems systems.tsv --pools 4 --out pools
pool verdict new.run qrels.txt --pool-runs runs --systems systems.tsv --out verdict
retrieve planted --split fresh --depth 20 --set k1=2 --name other --out other-fresh.run
contamination suspect planted --model other.run --model other-fresh.run --control test.run \
--control fresh.run --fresh fresh --out suspected
report evaluated --out report.html
collection verify planted leaks
"""

NEEDS_MODELS = """
train tk planted --candidates train.run --out model
train bert_cat planted --candidates train.run --encoder minilm --out model
rerank planted --model model --candidates test.run --out again.run
retrieve planted --model minilm --vectors vectors --out dense.run
model encode planted --model minilm --out vectors
audit planted --model minilm
audit planted test.run --evidence minilm
check planted --model minilm --max-response 0.02
leakage find planted:train planted:test --encoder minilm --out near
model teach planted --model minilm --candidates train.run --out taught
contamination suspect planted --model model --control other --candidates test.run --fresh fresh
model vectors planted --encoder minilm --out word-vectors
mats planted --curve --model model
mats planted --model model
study position-bias planted --out study
study leakage planted --target test --source train --pairs leaks --out study
study contamination planted --target test --encoder minilm --out study
study tripclick clicked --test-split test --encoder minilm --out study
demo --out demo
"""


def answers(folder: Path, commands: str) -> dict[str, tuple[int, list[str]]]:
    """The exit code of each command, and what it told, line by line."""
    lines = commands.strip().splitlines()
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env={**os.environ, "POSBIAS_HOME": "."},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in made.stdout.splitlines()]
    return {
        line: (code, told.splitlines()) for line, (code, told) in zip(lines, found, strict=True)
    }


ANSWER = {"text": "green oil", "answer_start": 19}
QUESTION = {"id": "q1", "question": "What does the lamp burn?", "answers": [ANSWER]}
PARAGRAPH = {"context": "The old lamp burns green oil. It hangs in the hall.", "qas": [QUESTION]}
SQUAD = {"version": "1.1", "data": [{"title": "Lamps", "paragraphs": [PARAGRAPH]}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of data sets, planted collections, and simulated runs with their judgements."""
    tmp_path = tmp_path_factory.mktemp("base")
    planted = PlantedSettings(
        queries=60,
        passages=240,
        test_share=0.3,
        validation_share=0.2,
        leaked_queries=20,
        fresh_queries=10,
    )
    write_planted(tmp_path / "planted", planted, name="planted")
    write_planted(
        tmp_path / "clicked",
        replace(planted, leaked_queries=0, fresh_queries=0, answers_each=3),
        name="clicked",
    )
    simulation = Simulation(rate=0.5, queries=6, groups=3)
    systems = list(simulated_runs(simulation))
    for system, run in systems:
        run.save(tmp_path / "runs" / f"{system.run}.run")
    lines = ["run\tgroup\tkind", *("\t".join(system) for system, _ in systems)]
    (tmp_path / "systems.tsv").write_text("\n".join(lines) + "\n")
    Qrels(simulated_qrels(simulation)).save(tmp_path / "qrels.txt")
    (tmp_path / "lamp.json").write_text(json.dumps(SQUAD))
    list(simulated_runs(replace(simulation, seed=9)))[-1][1].save(tmp_path / "new.run")
    return tmp_path


@pytest.mark.slow
def test_what_needs_no_model_runs(folder: Path) -> None:
    first = (
        "retrieve clicked --split train --depth 20 --out clicked.run\nretrieve planted --split "
        "fresh --depth 20 --out fresh.run"
    )
    found = answers(folder, f"{first}\n{NEEDS_NO_MODEL.strip()}")
    assert {line: told for line, (code, told) in found.items() if code} == {}
    outs = {line: line.partition(" --out ")[2].split() for line in found}
    assert {
        line: found[line][1]
        for line, out in outs.items()
        if out and not any(map(said_where(out[0]), found[line][1]))
    } == {}


def said_where(out: str) -> Callable[[str], bool]:
    """Whether a line says that this was written, as the next command takes it."""
    return lambda line: (
        f"written to {out}"
        in re.split("[;,] ", line.partition("written to ")[1] + line.partition("written to ")[2])
    )


def test_what_needs_models_names_the_extra_in_one_line_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    found = answers(folder, NEEDS_MODELS)
    assert {line: told for line, told in found.items() if told != (2, [asked(line)])} == {}
    assert sorted(folder.rglob("*")) == before


def test_every_command_shows_its_help(tmp_path: Path) -> None:
    found = answers(tmp_path, "\n".join(["--help", *(f"{words} --help" for words in commands())]))
    assert {line: told for line, told in found.items() if told != (0, [])} == {}
