"""Commands made of operations: what they are given, what they print, and how they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click
import pytest

from positionbias.cli.generate import OperationCommand, print_outcome
from positionbias.cli.groups import LazyGroup
from positionbias.core.errors import InputError
from positionbias.core.json_text import JsonObject
from positionbias.core.outcome import Judgement
from positionbias.core.settings import Given, Setting
from positionbias.ops.operation import Command, Parameter

OIL = Parameter("oil", "", int, False, 3, Setting("Spoons of oil."))
WICK = Parameter("wick", "", int, False, 1, Setting("Of the wick."))
THRIFT = Parameter("thrift", "", bool, False, False, Setting("Little oil.", implies={"oil": 1}))
asked: list[str] = []


@dataclass(frozen=True)
class Lit(Judgement):
    """How a lamp burns, and all that a judgement may say beside it."""

    text: str = "it burns"
    piped: bool = False
    afterwards: str = ""
    complaints: Sequence[str] = ()
    exit_code: int = 0
    smoke: str = ""

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> JsonObject:
        return {"burns": self.text}

    def check(self) -> None:
        if self.smoke:
            raise InputError(self.smoke)


def lamp(name: str) -> Command:
    """A member of a family: the lamp of this colour."""
    asked.append(name)
    return Command(
        f"Light the {name} lamp.", (OIL,), lambda given: Lit(f"{name}, {given['oil']} spoons")
    )


def run(command: Command, *arguments: str) -> None:
    OperationCommand("light", command).main(list(arguments), standalone_mode=False)


def given_to(*arguments: str) -> Given:
    found: list[Given] = []
    run(Command("Light it.", (OIL, WICK, THRIFT), found.append), *arguments)
    return found[0]


@pytest.mark.parametrize(
    ("arguments", "values", "stated"),
    [
        ((), (3, 1, False), set()),
        (("--oil", "3"), (3, 1, False), {"oil"}),
        (("--thrift",), (1, 1, True), {"thrift"}),
        (("--wick", "2", "--thrift", "--oil", "3"), (3, 2, True), {"wick", "thrift", "oil"}),
    ],
)
def test_only_what_somebody_gave_is_stated(
    arguments: tuple[str, ...], values: tuple[object, ...], stated: set[str]
) -> None:
    given = given_to(*arguments)
    assert (given["oil"], given["wick"], given["thrift"]) == values
    assert given.stated == stated


def test_a_family_makes_the_member_that_is_called_and_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    members = {name: (__name__, "lamp", f"The {name} lamp.") for name in ("red", "green")}
    family = LazyGroup("lamps", commands_at=lambda: members, family=True)
    asked.clear()
    family.main(["green", "--oil", "2"], standalone_mode=False)
    assert capsys.readouterr().out == "green, 2 spoons\n"
    assert asked == ["green"]
    with pytest.raises(click.UsageError, match="No such command 'blue'"):
        family.main(["blue"], standalone_mode=False)


@pytest.mark.parametrize("as_json", [False, True])
def test_results_leave_standard_output_to_data(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    print_outcome(Lit(piped=True), as_json=as_json)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "it burns" in printed.err


def test_complaints_follow_the_results_and_the_exit_code_is_the_outcomes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dark = Lit(complaints=("no oil", "no wick"), exit_code=3)
    with pytest.raises(click.exceptions.Exit) as stop:
        print_outcome(dark, as_json=False)
    assert stop.value.exit_code == 3
    printed = capsys.readouterr()
    assert printed.out == "it burns\n"
    assert printed.err == "no oil\nno wick\n"


def test_what_an_outcome_refuses_is_printed_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="too much smoke"):
        print_outcome(replace(Lit(), smoke="too much smoke"), as_json=False)
    assert capsys.readouterr().out == "it burns\n"
