"""What stands beside the counts: recall, precision from sheets, and meaning, in the folder that a search leaves."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.engine.choose import open_engine
from positionbias.leakage.sample import SampleSettings
from positionbias.overlap.find import find_overlap
from positionbias.overlap.settings import EvidenceSettings, OverlapSettings
from positionbias.overlap.sources import text_set
from positionbias.overlap.text import overlap_text
from positionbias.planted.generator import write_planted
from positionbias.results.overlap import ANY, CandidateFigures, OverlapFigures, RecallFigures
from positionbias.results.result import Result, load_results
from tests.overlap.encoders import Opened
from tests.tiny import PLANTED

QUERIES = OverlapSettings(units=("queries",), detectors=("exact", "near", "short"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of which 24 training queries repeat test queries."""
    place = tmp_path_factory.mktemp("evidence") / "planted"
    write_planted(place, replace(PLANTED, leaked_queries=24, passages=400))
    return place


def search(planted: Path, out: Path, settings: OverlapSettings = QUERIES, **evidence: Any) -> list[Result]:
    found = pb.overlap_leakage(
        [f"{planted}:train"], tests=[f"{planted}:test"], settings=settings, evidence=EvidenceSettings(**evidence), out=out
    )
    return list(found.results)


def figures(results: list[Result], detector: str) -> OverlapFigures:
    (found,) = (one.payload for one in results if isinstance(one.payload, OverlapFigures) and one.payload.detector == detector)
    return found


def fill(sheet: Path, label: str) -> None:
    """Give all rows of a sheet one label."""
    with open(sheet, newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    with open(sheet, "w", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows({**row, "label": label} for row in rows)


def test_a_sheet_drawn_from_a_detectors_pairs_gives_its_precision(planted: Path, tmp_path: Path) -> None:
    unknown = search(planted, tmp_path / "first")
    (pairs,) = (tmp_path / "first" / "pairs").iterdir()
    chosen = SampleSettings(8, 0.0, 2, "of_test", found_by="short")
    pb.sample_pairs(pairs, settings=chosen, out=tmp_path / "sheet.tsv")
    fill(tmp_path / "sheet.tsv", "yes")
    known = search(planted, tmp_path / "second", labelled=[tmp_path / "sheet.tsv"])
    assert figures(unknown, "short").precision is None
    assert figures(known, "short").precision == 1.0
    low = figures(known, "short").precision_low
    assert low is not None
    assert 0.5 < low < 1
    assert "1.00 (≥ 0." in overlap_text(known)
    assert (tmp_path / "second" / "pairs" / pairs.name).read_bytes() == pairs.read_bytes()
    read = load_results(tmp_path / "second")
    assert figures(list(read), "short") == figures(known, "short")


def test_a_sheet_of_another_search_is_refused_and_nothing_is_left(planted: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sheet.write_text("test_id\ttrain_id\tfound_by\tlabel\nq1\tq2\tnear\tyes\n")
    wanted = (
        r"sheet.tsv:2: wanted pairs that this search found, by the same detectors; found q2 and q1, by near; draw the sample"
    )
    with pytest.raises(InputError, match=wanted):
        search(planted, tmp_path / "out", labelled=[sheet])
    sheet.write_text("test_id\ttrain_id\tfound_by\tlabel\n")
    with pytest.raises(InputError, match=r"sheet.tsv: wanted labelled pairs; found none"):
        search(planted, tmp_path / "out", labelled=[sheet])
    assert not list(tmp_path.glob("*out*"))


def test_recall_stands_in_the_results_for_each_unit(planted: Path, tmp_path: Path) -> None:
    settings = OverlapSettings(units=("passages", "queries"))
    results = search(planted, tmp_path / "out", settings, recall=6)
    by = {(one.payload.unit, one.payload.detector): one for one in results if isinstance(one.payload, RecallFigures)}
    assert set(by) == {
        *(("passages", name) for name in ("exact", "ngram", "near", ANY)),  # no passage is short, no query long
        *(("queries", name) for name in ("exact", "short", ANY)),
    }
    of = by["passages", "exact"].payload
    assert isinstance(of, RecallFigures)
    assert of.tests == of.kinds["exact"].planted == of.kinds["exact"].found == 6
    assert list(load_results(tmp_path / "out")) == results
    with pytest.raises(SettingError, match="--recall: wanted"):
        EvidenceSettings(recall=-1)


def test_known_pairs_are_counted_by_their_label(planted: Path, tmp_path: Path) -> None:
    results = search(planted, tmp_path / "out", truth=planted)
    by = {of.detector: of.kinds for of in (one.payload for one in results) if isinstance(of, RecallFigures)}
    (pairs,) = (tmp_path / "out" / "pairs").iterdir()
    found = {(pair["train_id"], pair["test_id"]): pair["found_by"] for pair in map(json.loads, pairs.read_text().splitlines())}
    true = [json.loads(line) for line in (planted / "pairs.jsonl").read_text().splitlines()]
    for detector, kinds in by.items():
        for label, of in kinds.items():
            mine = [found.get((pair["train_id"], pair["test_id"]), []) for pair in true if pair["label"] == label]
            assert (of.planted, of.found) == (
                len(mine),
                sum(not QUERIES.counted(detector).isdisjoint(names) for names in mine),
            )
    assert sum(of.planted for of in by[ANY].values()) == 24
    assert by["short"]["specialization"].found > 0
    (tmp_path / "none.jsonl").write_text('{"train_id": "a", "test_id": "b", "label": "no"}\n')
    with pytest.raises(
        InputError, match="none.jsonl: wanted true pairs of a training and a test query; found none; check --truth"
    ):
        search(planted, tmp_path / "other", truth=tmp_path / "none.jsonl")


@pytest.mark.parametrize("looked_at", ["all", "candidates"])
def test_meaning_is_the_same_in_other_processes(planted: Path, tmp_path: Path, looked_at: str) -> None:
    settings = OverlapSettings(("queries",), ("near", "meaning"), threshold=0.99, encode=looked_at)
    sets = [[text_set(f"{planted}:{split}", settings, test=split == "test")] for split in ("train", "test")]
    for workers in (1, 2):
        with open_engine("local", workers) as map_shards:
            found, _ = find_overlap(
                tmp_path / f"{workers}",
                *sets,
                settings,
                lambda results, remarks: Manifest("results", "overlap", "a test"),
                evidence=EvidenceSettings(),
                encoder=Opened(),
                map_shards=map_shards,
            )
    one, two = (sorted(path for path in (tmp_path / name).rglob("*") if path.suffix == ".jsonl") for name in "12")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    pairs = [json.loads(line) for line in one[0].read_text().splitlines()]
    assert any("meaning" in pair["found_by"] and pair["cosine"] >= 0.99 for pair in pairs)
    measured = [one.payload for one in found if isinstance(one.payload, CandidateFigures)]
    assert len(measured) == (looked_at == "candidates")
    for one_unit in measured:
        assert 0 < one_unit.candidates <= one_unit.drawn
        assert one_unit.found <= one_unit.pairs


def test_an_encoder_without_a_labelled_threshold_needs_one(planted: Path, tmp_path: Path) -> None:
    from positionbias.ops.query_encoder import Encoder
    from tests.tiny import tiny_encoder

    encoder = Encoder(str(tiny_encoder(tmp_path / "encoder")), kind="bi-encoder", device="cpu")
    sets = {"training": [f"{planted}:train"], "tests": [f"{planted}:test"], "out": tmp_path / "out"}
    with pytest.raises(SettingError, match="--threshold: wanted a cosine for the encoder"):
        pb.overlap_leakage(**sets, settings=OverlapSettings(("queries",), ("meaning",)), encoder=encoder)
    assert not (tmp_path / "out").exists()
    found = pb.overlap_leakage(
        **sets,
        settings=OverlapSettings(("queries",), ("meaning",), threshold=0.98),
        encoder=encoder,
        evidence=EvidenceSettings(recall=3),
    )
    assert "By meaning: cosine from 0.98 (encoder), as given: precision unknown." in str(found)
    assert figures(list(found.results), "meaning").items == 18


def test_options_of_meaning_without_it_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    from positionbias.cli.main import main

    with pytest.raises(SystemExit):
        main(["leakage", "overlap", "a", "--test", "b", "--encoder", "minilm", "--out", "./c"])
    assert "--encoder: wanted --detector meaning, which it is for; found --detector exact and ngram" in capsys.readouterr().err
