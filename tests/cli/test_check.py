"""``posbias check``: its exit codes and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.planted.settings import PlantedSettings
from tests.commands import posbias

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
        return posbias(capsys, *fixed, *arguments)

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "check: wanted a limit; found none; give one of --max-response, --max-movement"),
        (("--max-response", "nan"), "'--max-response': 'nan' is not a finite number"),
    ],
    ids=[
        "none",
        "NaN",
    ],
)
def test_a_limit_that_says_nothing_is_bad_input(
    check: Command, arguments: tuple[str, ...], message: str
) -> None:
    code, printed, said = check("--model", BLIND, *arguments, given=False)
    assert (code, printed) == (2, "")
    assert message in said


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
