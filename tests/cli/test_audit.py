"""``posbias audit``: what it prints, keeps and refuses, as a user meets it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import home
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.rows import load as load_rows
from positionbias.planted.settings import PlantedSettings

from ..tiny import candidates, planted

FRONT = "tests.audit.scorers:front_lover"
BLIND = "tests.audit.scorers:blind"
QUICK = "--depth 6".split()
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=100, passages=200, test_share=0.6, validation_share=0.1, front_loading=0.9
    )
    return planted(tmp_path_factory.mktemp("audit") / "planted", settings)


@pytest.fixture(scope="module")
def run_path(collection: Collection) -> Path:
    return candidates(collection, collection.path.parent)["test"]


def test_a_model_gets_a_verdict_and_a_folder_for_the_report(
    posbias: Command, collection: Collection, tmp_path: Path
) -> None:
    more = ("--set", "needles=40")
    code, printed, said = posbias(
        "audit", collection.path, "--model", FRONT, *QUICK, *more, "--out", tmp_path / "found"
    )
    assert code == 0
    assert printed.startswith(f"{FRONT} prefers the front: end − front −")
    assert "no --candidates: ranking by BM25 to depth 6" in said
    rows = load_rows(tmp_path / "found")
    assert "answer" in set(rows.statistic)
    assert set(rows.measure) >= {"position in the passage", "manipulations"}
    assert "rotated once" in set(rows.statistic)
    manifest = read_manifest(tmp_path / "found", kind="results")
    assert manifest.name == f"Audit of {FRONT} on planted"
    assert [item.role for item in manifest.inputs] == ["collection", "model"]
    assert posbias("report", tmp_path / "found", "--out", tmp_path / "page.html")[0] == 0
    assert "prefers the front" in (tmp_path / "page.html").read_text()


def test_results_and_page_are_kept_without_out_and_a_second_run_replaces_them(
    posbias: Command, collection: Collection, run_path: Path
) -> None:
    place = home() / "audit-of-bm25-on-planted"
    counts = []
    for queries in (30, 20):
        code, _, said = posbias("audit", collection.path, run_path, *QUICK, "--queries", queries)
        assert code == 0
        assert f"results in {place.name}, the page is {place.name}.html" in said.replace(
            f"{home()}/", ""
        )
        rows = load_rows(place).query("statistic == 'queries audited'")
        counts += rows.value.tolist()
        assert "cannot tell from one run" in place.with_name(f"{place.name}.html").read_text()
    assert counts == [30, 20]
    # what is not ours stays, and the audit ends well
    shutil.rmtree(place)
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    code, printed, said = posbias("audit", collection.path, run_path, *QUICK, "--queries", 20)
    assert (code, "not kept: " in said) == (0, True)
    assert "cannot tell from one run" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "wanted a model or a run; found neither"),
        (
            ("--model", "tests.audit.scorers:nobody"),
            "wanted 'nobody' in the module tests.audit.scorers",
        ),
        (("--model", BLIND, "--split", "dev"), "wanted split 'dev'"),
    ],
    ids=[
        "nothing",
        "nobody",
        "split",
    ],
)
def test_bad_input_is_one_line_with_code_2(
    posbias: Command, collection: Collection, arguments: tuple[str, ...], message: str
) -> None:
    code, printed, said = posbias("audit", collection.path, *arguments, "--set", "depth=6")
    assert (code, printed) == (2, "")
    last = said.strip().splitlines()[-1]
    assert last.startswith("posbias: ")
    assert message in last


def test_a_split_without_answers_is_audited_by_a_rule(
    posbias: Command, collection: Collection, tmp_path: Path
) -> None:
    with create_collection(tmp_path / "judged") as writer:
        writer.add_passages(collection.passages())
        writer.add_split("test", collection.queries("test"), collection.qrels("test"))
        writer.finish(Manifest("collection", "judged", "a test", seed=1, licence="invented"))
    arguments = ("audit", tmp_path / "judged", "--model", FRONT, "--set", "depth=6")
    code, printed, said = posbias(*arguments)
    assert (code, printed) == (2, "")
    assert "--evidence terms" in said.splitlines()[-1]
    code, printed, _ = posbias(*arguments, "--evidence", "terms")
    assert code == 0
    assert "of moving the sentence chosen by query terms" in " ".join(printed.split())
