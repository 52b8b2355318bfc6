"""``posbias audit``: what it prints, keeps and refuses, as a user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.files import home
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load as load_rows
from positionbias.ops.artefacts import load
from positionbias.planted.generator import PlantedSettings

from ..dense.conftest import saved_dot
from ..tiny import candidates, collection_of, planted, saved_tk

FRONT = "tests.audit.scorers:front_lover"
BLIND = "tests.audit.scorers:blind"
QUICK = (
    "--buckets 0,0.33,0.66,1 --minimum 3 --permutations 100 --draws 1 --depth 6 --describe".split()
)
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
    more = ("--needles", 40, "--segments", 0)
    code, printed, said = posbias(
        "audit", collection.path, "--model", FRONT, *QUICK, *more, "--out", tmp_path / "found"
    )
    assert code == 0
    assert printed.startswith(f"{FRONT} prefers the front: end − front −")
    assert printed.index("Verdicts: position in the passage") < printed.index(
        "Description: sensitivity to position"
    )
    assert "no --candidates: ranking by BM25 to depth 6" in said
    rows = load_rows(tmp_path / "found")
    assert set(rows.statistic) >= {"answer", "PSI"}
    assert set(rows.measure) >= {"position in the passage", "score by place", "manipulations"}
    assert "test=original" in set(rows.against)
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
        "--needles",
        20,
    )
    code, printed, _ = posbias(*arguments, "--json", "--out", tmp_path / "found")
    assert code == 0
    found = json.loads(printed)
    assert set(found) == {"rows"}
    rows = found["rows"]
    answers = [row["measure"] for row in rows if row["statistic"] == "answer"]
    assert answers == ["position in the passage", "order in the list"]
    assert {row["measure"] for row in rows} >= {"evidence", "gain in nDCG@10 over bm25"}
    assert not any(query.text in printed for query in collection.queries("test"))
    more = ("--json", "--per-query", "--out", tmp_path / "whole")
    whole = json.loads(posbias(*arguments, *more)[1])
    assert whole["rows"] == rows
    (before,) = (
        row["row"] for row in rows if (row["measure"], row["statistic"]) == ("nDCG@10", "as it is")
    )
    asked = [value["item"] for value in whole["values"] if value["row"] == before]
    assert asked == sorted(query.query_id for query in collection.queries("test"))


def test_runs_need_no_model(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    code, printed, said = posbias(
        "audit", collection.path, run_path, *QUICK, "--out", tmp_path / "found"
    )
    assert code == 0
    assert "cannot tell from one run" in printed.splitlines()[0]
    assert "Description: slopes beside position-blind scorers" in printed
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


def test_the_candidates_given_as_a_run_too_are_measured_once(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    code, printed, said = posbias(
        *("audit", collection.path, run_path, "--candidates", run_path, *QUICK, "--json"),
        *("--out", tmp_path / "found"),
    )
    assert code == 0
    assert "is what --candidates names: measured once" in said
    rows = json.loads(printed)["rows"]
    audited = {row["model"] for row in rows if row.get("role") != "position-blind scorers"}
    assert len(audited) == 1
    other = tmp_path / "other.run"  # of the same tag, and no copy
    other.write_text("".join(run_path.read_text().splitlines(keepends=True)[:-1]))
    code, _, said = posbias("audit", collection.path, other, "--candidates", run_path, *QUICK)
    assert code == 2
    assert "found 'bm25' twice" in said


def test_what_cannot_retrieve_is_said_before_bm25_goes_through_the_collection(
    posbias: Command, collection: Collection, tmp_path: Path
) -> None:
    for name, seed in (("dot", 1), ("other", 2)):
        saved_dot(tmp_path / name, seed=seed)
        assert (
            posbias(
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
        ((*one, "--vectors", tmp_path / "of-other"), "of-other: wanted vectors by the model dot"),
        (
            (*one, *("--vectors", tmp_path / "of-dot") * 2),
            "--vectors: wanted one of each model; found",
        ),
        ((*one, "--memory", "1e-9"), "--memory: wanted at least"),
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
        (("--model", BLIND, "--buckets", "0,x"), "--buckets: wanted numbers"),
        (("--model", BLIND, "--minimum", "1"), "--minimum: wanted at least 2"),
        (("--model", BLIND, "--candidates", "nowhere.run"), "nowhere.run"),
        (("--model", BLIND, "--retrieve"), "--model: wanted a model with one vector a text"),
        (("--model", BLIND, "--vectors", "somewhere"), "--vectors: wanted --retrieve beside it"),
        (("--model", BLIND, "--memory", "4"), "--memory: wanted --retrieve beside it; found none"),
        (("--retrieve",), "wanted a model or a run; found neither"),
    ],
    ids=[
        "nothing",
        "broken",
        "short",
        "nobody",
        "split",
        "buckets",
        "minimum",
        "candidates",
        "no vectors",
        "vectors",
        "memory",
        "retrieve",
    ],
)
def test_bad_input_is_one_line_with_code_2(
    posbias: Command, collection: Collection, arguments: tuple[str, ...], message: str
) -> None:
    code, printed, said = posbias("audit", collection.path, *arguments, "--depth", 6)
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


def test_a_collection_in_beir_s_form_has_no_answers_and_is_audited_still(
    posbias: Command,
    collection: Collection,
    run_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a user has of most collections: passages, queries, judgements."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    rows = [
        {"_id": passage.passage_id, "title": "", "text": passage.text}
        for passage in collection.passages()
    ]
    (tmp_path / "beir" / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    asked = [{"_id": query.query_id, "text": query.text} for query in collection.queries("test")]
    (tmp_path / "beir" / "queries.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in asked)
    )
    judged = [
        f"{one.query_id}\t{one.passage_id}\t{one.grade}\n" for one in collection.qrels("test")
    ]
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(judged)
    )
    assert posbias("import", "beir", "beir", "--out", "judged")[0] == 0

    code, printed, said = posbias(
        "audit",
        "judged",
        "--describe",
        "--model",
        FRONT,
        "--model",
        BLIND,
        "--depth",
        6,
        "--out",
        "found",
    )
    assert code == 0, said
    assert printed.startswith(f"{FRONT} is sensitive to the order of a passage's text: ")
    assert (
        f"{BLIND} is insensitive to the order of a passage's text: scores do not change when"
        in printed
    )
    assert "(--evidence terms)" in " ".join(printed.split())
    for table in ("Verdicts: order of a passage's text", "what rotation changes"):
        assert table in printed
    assert "sensitivity to position" not in printed
    assert (
        printed.count(
            "This split has no located answer, so these are not measured: moved sentences"
        )
        == 1
    )
    assert f"{load('found')}\n" == printed
    load("found").save("again")
    assert f"{load('again')}\n" == printed
    assert posbias("report", "found", "--out", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text()
    for words in (
        "s text matter?",
        "halves exchanged: size of change",
        "no located answer",
    ):
        assert words in page

    limits = ("--max-response", 1, "--max-order", 1, "--max-rotation-gap", 1)
    code, printed, said = posbias("check", "judged", "--model", BLIND, "--depth", 6, *limits)
    assert code == 3
    assert f"posbias check: {BLIND}: cannot tell about --max-response 1" in said
    assert "it needs answers" in said
    assert posbias("check", "judged", "--model", BLIND, "--depth", 6, *limits[2:])[0] == 0

    assert posbias("debias", "judged", "--out", "rotated")[0] == 0
    code, printed, said = posbias(
        "audit",
        "judged",
        "--describe",
        run_path,
        "--rotated",
        "rotated",
        run_path.with_name("test.run"),
    )
    assert (code, "wanted the run over the rotated collection" in said) == (2, True)
    other = tmp_path / "other.run"
    other.write_text(run_path.read_text() + "\n")
    code, printed, _ = posbias(
        *("audit", "judged", "--describe", run_path, "--rotated", "rotated", other),
        *("--out", "of-runs"),
    )
    assert code == 0
    assert (
        "cannot tell: this split has no located answer, so it is unknown where rotation moved "
        "the evidence"
    ) in " ".join(printed.split())
    assert "what rotation changes" in printed
