"""The invented releases: their counts, and that the imports take them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from positionbias.formats.msmarco_qa import import_msmarco_qa
from positionbias.formats.orcas import import_orcas

PLACE = Path(__file__).parents[2] / "benchmarks" / "make_releases.py"
SHARE = 1e-4


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_releases", PLACE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_orcas_has_its_share_of_queries_and_clicks(script: ModuleType, tmp_path: Path) -> None:
    with open(tmp_path / "orcas.tsv", "w", encoding="utf-8", newline="\n") as out:
        script.write_orcas(out, SHARE)
    rows = [line.split("\t") for line in (tmp_path / "orcas.tsv").read_text("utf-8").splitlines()]
    assert (len(rows), len({row[0] for row in rows}), len({row[2] for row in rows})) == (1_882, 1_040, 142)
    made = import_orcas([tmp_path / "orcas.tsv"], tmp_path / "out")
    assert len(made.queries("orcas")) == 1_040
    assert len(made.qrels("orcas")) == len({(row[0], row[2]) for row in rows})


def test_qa_is_column_oriented_and_has_ten_passages_a_row(script: ModuleType, tmp_path: Path) -> None:
    with open(tmp_path / "qa.json", "w", encoding="utf-8", newline="\n") as out:
        script.write_qa(out, SHARE)
    made = import_msmarco_qa({"train": [tmp_path / "qa.json"]}, tmp_path / "out")
    assert (len(made), len(made.queries("train")), len(made.qrels("train"))) == (800, 80, 800)
    counts = made.manifest.content["source"]["splits"]["train"]
    assert counts["selected"] + counts["no_answer_present"] == 80
    assert len(made.answers("train")) == counts["selected"]
