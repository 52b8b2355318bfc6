"""``posbias audit``: what it prints, keeps and refuses, as a user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.files import home
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.rows import load as load_rows
from positionbias.core.rows import load_values
from positionbias.planted.generator import PlantedSettings

from ..dense.conftest import saved_dot
from ..tiny import candidates, collection_of, planted, saved_tk

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


@pytest.fixture
def posbias(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, output.out, output.err

    return run


def test_a_model_gets_verdict_tables_and_a_folder_for_the_report(
    posbias: Command, collection: Collection, tmp_path: Path
) -> None:
    more = ("--set", "needles=40")
    code, printed, said = posbias(
        "audit", collection.path, "--model", FRONT, *QUICK, *more, "--out", tmp_path / "found"
    )
    assert code == 0
    assert printed.startswith(f"{FRONT} prefers the front: end − front −")
    assert "Verdicts" in printed
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


def test_json_is_one_object_and_without_examples_no_text_is_in_it(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    arguments = (
        "audit",
        collection.path,
        "--model",
        FRONT,
        "--candidates",
        run_path,
        *QUICK,
        "--set",
        "needles=20",
    )
    code, printed, _ = posbias(*arguments, "--json", "--out", tmp_path / "found")
    assert code == 0
    found = json.loads(printed)
    assert set(found) == {"rows"}
    rows = found["rows"]
    answers = [row["measure"] for row in rows if row["statistic"] == "answer"]
    assert answers == ["position in the passage", "order in the list"]
    assert {row["measure"] for row in rows} >= {"evidence", "end − front"}
    assert not any(query.text in printed for query in collection.queries("test"))
    (before,) = (
        row["row"] for row in rows if (row["measure"], row["statistic"]) == ("nDCG@10", "as it is")
    )
    values = load_values(tmp_path / "found")
    asked = values[values["row"] == before]["item"].tolist()
    assert asked == sorted(query.query_id for query in collection.queries("test"))


def test_runs_need_no_model(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    code, printed, said = posbias(
        "audit", collection.path, run_path, *QUICK, "--out", tmp_path / "found"
    )
    assert code == 0
    assert "cannot tell from one run" in printed.splitlines()[0]
    assert "ranking by BM25" not in said


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


def test_what_cannot_retrieve_is_said_before_bm25_goes_through_the_collection(
    posbias: Command, collection: Collection, tmp_path: Path
) -> None:
    for name, seed in (("dot", 1), ("other", 2)):
        saved_dot(tmp_path / name, seed=seed)
        assert (
            posbias(
                "model",
                "encode",
                collection.path,
                "--model",
                tmp_path / name,
                "--out",
                tmp_path / f"of-{name}",
            )[0]
            == 0
        )
    one = ("--model", tmp_path / "dot")
    for arguments, message in (
        (
            ("--model", saved_tk(tmp_path / "tk", collection)),
            (
                "wanted a model with one vector a text (bert_dot, a bi-encoder, a function texts → "
                "array); found tk, of kind tk; give another\n"
            ),
        ),
        (
            (*one, "--set", f"vectors={tmp_path / 'of-other'}"),
            "of-other: wanted vectors by the model dot",
        ),
    ):
        code, printed, said = posbias("audit", collection.path, "--retrieve", *arguments)
        assert (code, printed, said.count("\n")) == (2, "", 1), said
        assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "wanted a model or a run; found neither"),
        (("--model", "tests.audit.scorers:broken"), "wanted finite scores"),
        (("--model", "tests.audit.scorers:short"), "wanted 6 scores"),
        (
            ("--model", "tests.audit.scorers:nobody"),
            "wanted 'nobody' in the module tests.audit.scorers",
        ),
        (("--model", BLIND, "--split", "dev"), "wanted split 'dev'"),
        (("--model", BLIND, "--candidates", "nowhere.run"), "nowhere.run"),
        (("--model", BLIND, "--retrieve"), "--model: wanted a model with one vector a text"),
        (
            ("--model", BLIND, "--set", "vectors=somewhere"),
            "vectors: wanted --retrieve beside it",
        ),
        (("--retrieve",), "wanted a model or a run; found neither"),
    ],
    ids=[
        "nothing",
        "broken",
        "short",
        "nobody",
        "split",
        "candidates",
        "no vectors",
        "vectors",
        "retrieve",
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


def test_a_run_of_another_collection_and_a_split_without_answers_are_refused(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    other = collection_of(tmp_path / "other", ["one text", "two texts"])
    code, _, said = posbias("audit", other.path, run_path)
    assert code == 2
    assert "wanted" in said
    foreign = tmp_path / "foreign.run"
    foreign.write_text("q-none Q0 p-none 1 1.0 foreign\n")
    code, _, said = posbias("audit", collection.path, foreign)
    assert code == 2
    assert "not in it" in said


def test_what_stands_there_is_kept_unless_told_otherwise(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "note.txt").write_text("mine")
    code, _, said = posbias("audit", collection.path, run_path, *QUICK, "--out", tmp_path / "there")
    assert code == 2
    assert "--overwrite" in said
    assert (tmp_path / "there" / "note.txt").read_text() == "mine"


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
