"""Precision from sheets, in the folder that a search leaves."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.core.errors import InputError
from positionbias.leakage.sample import SampleSettings
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.text import overlap_text
from positionbias.planted.generator import write_planted
from positionbias.results.overlap import OverlapFigures
from positionbias.results.result import Result, load_results
from tests.tiny import PLANTED

QUERIES = OverlapSettings(units=("queries",), n=5)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of which 24 training queries repeat test queries."""
    place = tmp_path_factory.mktemp("evidence") / "planted"
    write_planted(place, replace(PLANTED, leaked_queries=24, passages=400))
    return place


def search(planted: Path, out: Path, labelled: Sequence[Path] = ()) -> list[Result]:
    found = pb.overlap_leakage(
        [f"{planted}:train"],
        tests=[f"{planted}:test"],
        settings=QUERIES,
        labelled=labelled,
        out=out,
    )
    return list(found.results)


def figures(results: list[Result], detector: str) -> OverlapFigures:
    (found,) = (
        one.payload
        for one in results
        if isinstance(one.payload, OverlapFigures) and one.payload.detector == detector
    )
    return found


def fill(sheet: Path, label: str) -> None:
    """Give all rows of a sheet one label."""
    with open(sheet, newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    with open(sheet, "w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows({**row, "label": label} for row in rows)


def test_a_sheet_drawn_from_a_detectors_pairs_gives_its_precision(
    planted: Path, tmp_path: Path
) -> None:
    unknown = search(planted, tmp_path / "first")
    (pairs,) = (tmp_path / "first" / "pairs").iterdir()
    chosen = SampleSettings(8, 0.0, 2, "of_test", found_by="ngram")
    pb.sample_pairs(pairs, settings=chosen, out=tmp_path / "sheet.tsv")
    fill(tmp_path / "sheet.tsv", "yes")
    known = search(planted, tmp_path / "second", labelled=[tmp_path / "sheet.tsv"])
    assert figures(unknown, "ngram").precision is None
    assert figures(known, "ngram").precision == 1.0
    low = figures(known, "ngram").precision_low
    assert low is not None
    assert 0.5 < low < 1
    assert "1.00 (≥ 0." in overlap_text(known)
    assert (tmp_path / "second" / "pairs" / pairs.name).read_bytes() == pairs.read_bytes()
    read = load_results(tmp_path / "second")
    assert figures(list(read), "ngram") == figures(known, "ngram")


def test_a_sheet_of_another_search_is_refused_and_nothing_is_left(
    planted: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("test_id\ttrain_id\tfound_by\tlabel\nq1\tq2\texact\tyes\n")
    wanted = (
        r"sheet.tsv:2: wanted pairs that this search found, by the same detectors; found q2 and "
        r"q1, by exact; draw the sample"
    )
    with pytest.raises(InputError, match=wanted):
        search(planted, tmp_path / "out", labelled=[sheet])
    sheet.write_text("test_id\ttrain_id\tfound_by\tlabel\n")
    with pytest.raises(InputError, match=r"sheet.tsv: wanted labelled pairs; found none"):
        search(planted, tmp_path / "out", labelled=[sheet])
    assert not list(tmp_path.glob("*out*"))
