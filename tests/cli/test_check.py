"""``posbias check``: its exit codes and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.planted.generator import PlantedSettings

from ..audit.scorers import blind, end_lover
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
    return planted(tmp_path_factory.mktemp("check") / "planted", settings)


@pytest.fixture(scope="module")
def run_path(collection: Collection) -> Path:
    return candidates(collection, collection.path.parent)["test"]


@pytest.fixture
def check(
    capsys: pytest.CaptureFixture[str],
    collection: Collection,
    run_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """``posbias check`` of the collection, with its candidates unless told otherwise, in a wide
    terminal.
    """
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: object, given: bool = True) -> tuple[int, str, str]:
        fixed = ("check", collection.path, *(("--candidates", run_path) if given else ()), *QUICK)
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in (*fixed, *arguments)])
        output = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, output.out, output.err

    return run


def test_a_blind_model_passes_and_one_that_likes_the_front_fails(check: Command) -> None:
    code, printed, said = check("--model", BLIND, "--max-movement", 0.05)
    assert code == 0
    assert printed.startswith("Limits on position bias: pass (1 system).\n")
    assert "posbias check:" not in said
    code, printed, said = check("--model", FRONT, "--model", BLIND, "--max-movement", 0.05)
    assert code == 1
    assert printed.startswith("Limits on position bias: fail (2 systems: 1 pass, 1 fail).\n")
    assert (
        f"posbias check: {FRONT}: fails --max-movement 0.05 (rotated to the end − to the front: −0."
        in said
    )
    assert f"{BLIND}: passes" in printed
    assert f"posbias check: {BLIND}" not in said


def test_a_run_alone_cannot_tell(check: Command, run_path: Path) -> None:
    code, printed, _ = check(run_path, "--max-movement", 0.5, "--max-order", 5, given=False)
    assert code == 3
    assert printed.count("cannot tell") >= 2
    # the candidates' own file, which is the first stage then
    assert check(run_path, "--max-movement", 0.5)[0] == 3


def test_json_has_the_checks_beside_the_rows(check: Command) -> None:
    code, printed, _ = check("--model", FRONT, "--max-movement", 0.05, "--json")
    found = json.loads(printed)
    assert (code, found["outcome"]) == (1, "fail")
    assert [one["outcome"] for one in found["checks"]] == ["fail"]
    assert set(found["checks"][0]) == {
        "system", "limit", "at_most", "outcome", "contrast", "unit", "value", "low", "high",
        "queries", "wanted", "reason", "note",
    }  # fmt: skip
    assert set(found) == {"outcome", "checks", "rows"}
    measured = {(row["measure"], row["statistic"]) for row in found["rows"]}
    assert ("end − front", "nDCG@10") in measured


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "check: wanted a limit; found none; give one of --max-response, --max-movement"),
        (("--max-response", "nan"), "--max-response: wanted a number from 0; found nan"),
        (("--max-order", "-1"), "--max-order: wanted a number from 0; found -1.0"),
    ],
    ids=["none", "NaN", "negative"],
)
def test_a_limit_that_says_nothing_is_bad_input(
    check: Command, arguments: tuple[str, ...], message: str
) -> None:
    code, printed, said = check("--model", BLIND, *arguments, given=False)
    assert (code, printed) == (2, "")
    assert message in said


def test_a_check_that_does_not_pass_complains_of_each_system_last(check: Command) -> None:
    code, printed, said = check("--model", FRONT, "--max-movement", 0.0001)
    assert code in (1, 3)
    assert printed.startswith(
        ("Limits on position bias: fail", "Limits on position bias: cannot tell")
    )
    assert printed.count("Limits on position bias") == 1
    assert said.splitlines()[-1].startswith("posbias check: ")


def in_order(query: str, passages: Sequence[str]) -> list[float]:
    """A listwise scorer that keeps the list as it comes."""
    return [-float(place) for place in range(len(passages))]


def test_the_manipulations_are_held_to_limits(check: Command) -> None:
    limits = ("--max-response", 0.05, "--max-movement", 0.05, "--max-order", 1)
    code, printed, _ = check("--model", BLIND, *limits, "--json")
    assert code == 0, printed
    checks = {one["limit"]: one for one in json.loads(printed)["checks"]}
    assert {limit: one["outcome"] for limit, one in checks.items()} == dict.fromkeys(
        ("max-response", "max-movement", "max-order"), "pass"
    )
    assert (checks["max-response"]["low"], checks["max-response"]["high"]) == (0, 0)
    assert checks["max-order"]["reason"].startswith("scores each passage by itself")
    code, printed, _ = check("--model", FRONT, "--model", BLIND, *limits)
    assert code == 1
    assert "end − front: −0." in printed
    assert "rotated to the end − to the front: −0." in printed


def nearly_blind(query: str, passages: Sequence[str]) -> list[float]:
    """Counts words; equal counts are distinguished by which words a passage has, and the end is
    liked by too little to change a rank.
    """
    bags = ["".join(sorted(text)).encode() for text in passages]
    places = [
        later - same
        for later, same in zip(end_lover(query, passages), blind(query, passages), strict=True)
    ]
    return [
        score + crc32(bag) / 2**33 + place / 10_000
        for score, bag, place in zip(blind(query, passages), bags, places, strict=True)
    ]


def test_few_queries_cannot_tell_and_say_how_many_would_do(check: Command) -> None:
    # scores that do not change at all need no more queries
    assert check("--model", BLIND, "--max-response", 0.02, "--set", "needles=20")[0] == 0
    code, printed, said = check(
        "--model", f"{__name__}:nearly_blind", "--max-response", 0.02, "--set", "needles=20"
    )
    assert code == 3
    # all agree on 0 though scores change: ± 3 / 20, and (0.15 / 0.02)² times as many would do
    effect = "end − front: 0.000 nDCG@10 [−0.150,\xa0+0.150]; about 150 queries would do"
    assert effect in printed
    assert effect in said


def test_a_listwise_model_that_keeps_the_order_fails(check: Command) -> None:
    code, printed, said = check("--model", f"{__name__}:in_order", "--max-order", 1)
    assert code == 1, said
    # of six candidates, one place each
    assert "first to last place in the list: +5.000 ranks" in printed
