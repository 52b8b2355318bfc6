"""Cards of overlap: what they hold, that they repeat, and what differs when data change."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import positionbias
from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.overlap.card import card_of, read_card
from positionbias.overlap.card_text import card_markdown
from positionbias.overlap.folder import OverlapFolder
from positionbias.overlap.settings import OverlapSettings

from .small import SETTINGS, TEST, TEST_PASSAGES, both, collection, searched


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    both(tmp_path)
    searched(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(folder: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    with pytest.raises(SystemExit) as stop:
        main(["leakage", "check-card", *words, "--json"])
    out = capsys.readouterr().out
    return int(stop.value.code or 0), json.loads(out) if out else {}


def test_a_card_holds_sets_counts_thresholds_and_the_command(folder: Path) -> None:
    written = positionbias.leakage_card(["overlap"], out="card.md")
    assert str(written).splitlines()[0].startswith("1 of 3 queries of bench (33.3%) have a relevant passage in train")
    record = json.loads((folder / "card.json").read_text("utf-8"))
    assert record["kind"] == "overlap card"
    (overlap,) = record["overlaps"]
    train, bench = Collection(folder / "train"), Collection(folder / "bench")
    assert overlap["training"] == [{"name": "train", "split": "train", "checksum": train.checksum, "given": "train:train"}]
    assert overlap["tests"] == [{"name": "bench", "split": "test", "checksum": bench.checksum, "given": "bench:test"}]
    assert (overlap["settings"]["n"], overlap["settings"]["containment"]) == (13, 0.5)
    (ngram,) = (row for row in overlap["found"] if (row["unit"], row["detector"]) == ("passages", "ngram"))
    assert (ngram["leaked"], ngram["pairs"], ngram["too_short"], ngram["precision"]) == (1, 2, 2, None)
    assert read_card(folder / "card.json") == card_of([OverlapFolder("overlap")])
    markdown = (folder / "card.md").read_text("utf-8")
    assert f"| training | train | train | `{train.checksum}` |" in markdown
    assert "| bench | passages | train | ngram | 3 | 2 | 1 | 1 | 1 | 2 | unknown |" in markdown
    assert "- ngram: at least 50 % of one text's runs of 13 words stand in the other." in markdown


def test_the_command_on_the_card_makes_the_same_card(folder: Path) -> None:
    settings = OverlapSettings(units=("passages",), detectors=("ngram",), n=7, containment=0.25)
    named = ["my_set=train:train"], ["bench"]
    positionbias.overlap_leakage(named[0], tests=named[1], settings=settings, out="first")
    card = card_of([OverlapFolder("first")])
    words = shlex.split(card.overlaps[0].command)
    assert words[:3] == ["posbias", "leakage", "overlap"]
    with pytest.raises(SystemExit) as stop:
        main([*words[1:-1], "second"])
    assert stop.value.code in (None, 0)
    assert card_of([OverlapFolder("second")]) == card
    assert card.overlaps[0].command == (
        "posbias leakage overlap my_set=train:train --test bench:test --unit passages --detector ngram --ngram 7 --containment 0.25 --out overlap"
    )


def test_a_card_agrees_with_its_own_data_and_not_with_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    code, said = check(folder, "card.json", "train=train", "--test", "bench=bench", capsys=capsys)
    assert (code, said["outcome"]) == (0, "pass")
    assert len(said["facts"]) == 2 + 1 + 3 * 4  # checksums; the command; units and detectors with any
    collection(folder / "other", [*TEST_PASSAGES[1:], TEST_PASSAGES[0]._replace(text="none of it")], TEST)
    code, said = check(folder, "card.json", "train=train", "--test", "bench=other", capsys=capsys)
    differing = {fact["what"]: (fact["card"], fact["found"]) for fact in said["facts"] if fact["outcome"] == "fail"}
    assert (code, said["outcome"]) == (1, "fail")
    assert "test set bench, checksum" in differing
    assert differing["passages of bench in train, exact"] == (
        "items 3, leaked 1, leaked queries 1, pairs 1",
        "items 3, leaked 0, leaked queries 0, pairs 0",
    )
    assert "queries of bench in train, exact" not in differing
    code, said = check(folder, "card.json", "train=train", capsys=capsys)
    assert (code, said["outcome"]) == (3, "cannot tell")
    assert sum(fact["found"] == "not given" for fact in said["facts"]) == 13


def test_a_card_that_somebody_changed_differs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    path = folder / "card.json"
    record = json.loads(path.read_text("utf-8"))
    record["overlaps"][0]["found"][0]["leaked"] = 0
    path.write_text(json.dumps(record))
    code, said = check(folder, "card.json", "train=train", "--test", "bench=bench", capsys=capsys)
    assert code == 1
    assert [fact["what"] for fact in said["facts"] if fact["outcome"] == "fail"] == ["passages of bench in train, exact"]


def _without_leaks(overlap: dict[str, Any]) -> None:
    overlap["found"] = [row for row in overlap["found"] if not row["leaked"]]


def _again(overlap: dict[str, Any], **changed: str) -> None:
    """Claim what nobody searched for."""
    overlap["found"].append({**overlap["found"][0], **changed})


@pytest.mark.parametrize(
    ("change", "code", "what"),
    [
        (_without_leaks, 1, "passages of bench in train, exact"),
        (lambda overlap: overlap.update(found=[]), 1, "queries of bench in train, any"),
        (lambda overlap: overlap.update(command="posbias leakage overlap other --out overlap"), 1, "the command"),
        (lambda overlap: overlap["training"][0].update(split="dev"), 1, "training set train, split"),
        (lambda overlap: overlap["found"][0].update(precision=1.0), 3, "precision, passages of bench in train, exact"),
        (lambda overlap: _again(overlap, detector="meaning"), 1, "passages of bench in train, meaning"),
        (lambda overlap: _again(overlap, test="other"), 1, "passages of other in train, exact"),
    ],
)
def test_what_somebody_left_out_or_added_is_noticed(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], None], code: int, what: str
) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    path = folder / "card.json"
    record = json.loads(path.read_text("utf-8"))
    change(record["overlaps"][0])
    path.write_text(json.dumps(record))
    found, said = check(folder, "card.json", "train=train", "--test", "bench=bench", capsys=capsys)
    assert found == code
    assert what in [fact["what"] for fact in said["facts"] if fact["outcome"] != "pass"]


def test_sets_of_one_name_in_two_searches_are_all_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection(folder / "other", [*TEST_PASSAGES[1:], TEST_PASSAGES[0]._replace(text="none of it")], TEST)
    positionbias.overlap_leakage(["train=train"], tests=["bench=other"], settings=SETTINGS, out="second")
    positionbias.leakage_card(["overlap", "second"], out="card.md")
    code, said = check(folder, "card.json", "train=train", "--test", "bench=bench", capsys=capsys)
    facts = [fact["outcome"] for fact in said["facts"] if fact["what"] == "test set bench, checksum"]
    assert (code, facts) == (1, ["pass", "fail"])


def test_a_set_that_is_given_twice_is_refused(folder: Path) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    with pytest.raises(SettingError, match="wanted each training set once; found train again"):
        positionbias.check_leakage_card("card.json", ["train=bench:test", "train=train"], tests=["bench=bench"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "wanted an overlap card; found other JSON"),
        ({"format_version": 2}, "wanted card format 1; found format 2"),
        ({"overlaps": "none"}, "wanted fields as posbias writes them"),
        ({"more": 1}, "wanted fields as posbias writes them; found the unknown field `more`"),
    ],
)
def test_what_is_no_card_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], message: str
) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    record = json.loads((folder / "card.json").read_text("utf-8"))
    (folder / "card.json").write_text(json.dumps({**record, **change}))
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["leakage", "check-card", "card.json", "train=train", "--test", "bench=bench"])
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("posbias: card.json: ")
    assert message in err
    assert err.count("\n") == 1


def test_more_bad_input(folder: Path) -> None:
    with pytest.raises(InputError, match=r"train: wanted a posbias results; found a collection"):
        positionbias.leakage_card(["train"], out="card.md")
    with pytest.raises(SettingError, match=r"--out: wanted a Markdown file, beside which the JSON goes"):
        positionbias.leakage_card(["overlap"], out="card.json")
    positionbias.leakage_card(["overlap"], out="card.md")
    with pytest.raises(OutputExistsError):
        positionbias.leakage_card(["overlap"], out="card.md")
    with pytest.raises(InputError, match=r"wanted a training set of train; found train.train; name it so: NAME=PLACE"):
        positionbias.check_leakage_card("card.json", ["train"], tests=["bench=bench"])


def test_names_on_a_card_are_no_markup(folder: Path) -> None:
    positionbias.overlap_leakage(
        ["_a_=train"], tests=["b_c=bench"], settings=OverlapSettings(detectors=("exact",)), out="marked"
    )
    markdown = card_markdown(card_of([OverlapFolder("marked")]))
    assert "| training | \\_a\\_ | train |" in markdown
    assert "| test | b\\_c | test |" in markdown


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(overlaps=[]),
        lambda record: record["overlaps"][0].update(tests=[]),
        lambda record: record["overlaps"][0].update(training=[]),
    ],
)
def test_a_card_without_a_search_is_refused(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    positionbias.leakage_card(["overlap"], out="card.md")
    path = folder / "card.json"
    record = json.loads(path.read_text("utf-8"))
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match="wanted searches with training and test sets; found one without, or none"):
        positionbias.check_leakage_card(path, ["train"], tests=["bench"])


def test_rows_of_a_set_that_was_not_given_are_not_compared(folder: Path) -> None:
    positionbias.overlap_leakage(["train", "more=train"], tests=["bench"], settings=SETTINGS, out="two")
    positionbias.leakage_card(["two"], out="card.md")
    checked = positionbias.check_leakage_card("card.json", ["train"], tests=["bench"])
    assert checked.exit_code == 3
    unknown = {one.what for one in checked.agreements if one.found == "not given"}
    assert "training set more, checksum" in unknown
    assert {what.split(" in ")[1].split(",")[0] for what in unknown if " in " in what} == {"more", "all training sets"}
