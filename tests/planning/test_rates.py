"""Rates from the manifests of earlier artefacts, and from a number."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.computed import Computed, Spent, Stopwatch
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, read_manifest, write_manifest
from positionbias.planning.rates import artefact_of, given_rate, rate_of

CPU: dict[str, Any] = {"spent": Spent(100.0, 150.0, 10**9), "device": "cpu", "hardware": "a processor", "threads": 2}


def made(folder: Path, computed: Computed | None, *, command: str = "encode", kind: str = "vectors") -> Path:
    folder.mkdir()
    provenance = {"created": "2026-01-02T03:04:05Z", **(computed.facts() if computed else {})}
    write_manifest(folder / "manifest.json", Manifest(kind, folder.name, command, provenance=provenance))
    return folder


def test_workers_of_a_machine_share_its_rate(tmp_path: Path) -> None:
    """Two processes that spent 100 s together on 1,000 passages made a machine's 20 a second, on 3 processors' seconds a second."""
    place = made(tmp_path / "vectors", Computed(**CPU, workers=2, passages=1_000))
    found = rate_of(artefact_of("encode", place), place)
    assert (1 / found.passage, found.pair, found.product, found.device) == (pytest.approx(20), 0, 0, "cpu")
    assert (found.processor, found.memory, found.origin) == (3.0, 10**9, "measured")
    assert found.note == "vectors of 2026-01-02: 1,000 passages on a processor, 2 threads"


def test_a_gpu_has_the_rate_of_its_worker(tmp_path: Path) -> None:
    gpu = Computed(**{**CPU, "device": "cuda", "hardware": "a GPU"}, workers=None, passages=1_000)
    place = made(tmp_path / "vectors", gpu)
    found = rate_of(read_manifest(place), place)
    assert (1 / found.passage, found.device) == (pytest.approx(10), "cuda")


def test_pairs_count_where_no_passages_were_encoded(tmp_path: Path) -> None:
    both = made(tmp_path / "both", Computed(**CPU, passages=50, pairs=1_000))
    pairs = made(tmp_path / "pairs", Computed(**CPU, pairs=1_000))
    assert (rate_of(read_manifest(both), both).passage, rate_of(read_manifest(both), both).pair) == (2.0, 0.0)
    assert (rate_of(read_manifest(pairs), pairs).passage, rate_of(read_manifest(pairs), pairs).pair) == (0.0, 0.1)


@pytest.mark.parametrize(
    "computed",
    [None, Computed(**CPU, workers=None, passages=9), Computed(**CPU), Computed(**{**CPU, "spent": Spent()}, passages=9)],
    ids=["older version", "cluster of CPUs", "nothing computed", "no time"],
)
def test_a_manifest_that_tells_no_rate_is_refused(tmp_path: Path, computed: Computed | None) -> None:
    place = made(tmp_path / "vectors", computed)
    with pytest.raises(InputError, match="wanted a manifest that says what was computed.*make a small artefact here"):
        rate_of(read_manifest(place), place)


def test_another_step_and_a_damaged_record_are_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "run", Computed(**CPU, products=9), command="retrieve", kind="run")
    with pytest.raises(InputError, match="wanted an artefact of posbias rerank; found one of posbias retrieve; give another"):
        artefact_of("rerank", run)
    with pytest.raises(InputError, match="wanted a posbias vectors; found a run"):
        artefact_of("encode", run)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    record = {"computed": {**asdict(Computed(**CPU, passages=9)), "threads": "many"}}
    write_manifest(damaged / "manifest.json", Manifest("vectors", "damaged", "encode", provenance=record))
    with pytest.raises(InputError, match="threads"):
        rate_of(read_manifest(damaged), damaged)


def test_a_given_rate_is_of_the_step_s_unit() -> None:
    assert given_rate("encode", 50, gpu=True).passage == 0.02
    assert [given_rate(step, 50, gpu=False).pair for step in ("rerank", "teach")] == [0.02, 0.02]  # type: ignore[arg-type]
    assert given_rate("retrieve", 4, gpu=True).product == 0.25


def test_parts_of_what_was_spent_add_up() -> None:
    parts = [Spent(1.0, 2.0, 5), Spent(0.5, 0.5, None), Spent(0.25, 0.0, 9)]
    assert Spent.of(parts) == Spent(1.75, 2.5, 9)
    assert Spent.of([]) == Spent(0, 0, None)
    spent = Stopwatch().spent()
    assert 0 <= spent.seconds < 60
    assert spent.processor >= 0
