"""Overlap of real data whose sets are known to have none, or little."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.overlap.settings import OverlapSettings

from .sets import pairs_in

pytestmark = pytest.mark.realdata


def test_msmarcos_training_passages_hold_parts_of_those_relevant_for_dl19_and_dl20(
    tmp_path: Path,
    posbias_data: Path,
) -> None:
    """Training and test queries share the corpus. Those found and read are passages of one page."""
    data = posbias_data / "msmarco_mini"
    named = ("titled", "titled.tsv"), ("dl19", "dl19.txt"), ("dl20", "dl20.txt")
    attached = [
        (name, data / f"queries.{name}.tsv", data / f"qrels.{qrels}") for name, qrels in named
    ]
    files = [data / name for name in ("collection.tsv", "queries.train.tsv", "qrels.train.tsv")]
    pb.import_msmarco(files, release=MsmarcoSettings(attach=attached), out=tmp_path / "mini")
    training = [f"{name}={tmp_path / 'mini'}:{name}" for name in ("train", "titled")]
    tests = [f"{name}={tmp_path / 'mini'}:{name}" for name in ("dl19", "dl20")]
    settings = OverlapSettings(relevant_from=2)
    pb.overlap_leakage(training, tests=tests, settings=settings, out=tmp_path / "out")
    found = {name: pairs_in(tmp_path / "out", f"{name}.passages") for name in ("dl19", "dl20")}
    assert {pair["found_by"][0] for pairs in found.values() for pair in pairs} == {"ngram"}
    counts = Counter((name, pair["source"]) for name, pairs in found.items() for pair in pairs)
    assert counts == {("dl19", "titled"): 7, ("dl20", "titled"): 5, ("dl20", "train"): 2}
