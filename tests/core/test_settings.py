"""Settings: a field's range is checked as it is declared, and its option says what the field
says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest

from positionbias.cli.generate import OperationCommand
from positionbias.core.errors import SettingError
from positionbias.core.settings import Setting, check_settings, setting
from positionbias.ops.operation import Command, made_of, settings_parameters


@dataclass(frozen=True, slots=True)
class Lamp:
    oil: int = setting(3, "Spoons of oil.", least=1)
    share: float = setting(0.5, "Of the wick.", above=0, most=1)
    width: float = setting(2.0, "Of the flame.", least=0)
    colour: str = setting("red", "Of the glass.", choices=("red", "green"))
    hours: int | None = setting(None, "Until it is put out.", least=1, absent="all night")
    lit: bool = setting(True, "Whether it burns.")
    wind: int = setting(0, "Outside.", least=0, flags=("--lamp-wind",), metavar="M/S")

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"oil": 0}, "--oil: 0 is not in the range x>=1."),
        ({"oil": 10**9 + 1}, "--oil: 1000000001 is not in the range x<=1000000000."),
        ({"share": 0.0}, "--share: 0.0 is not in the range 0<x<=1."),
        ({"share": 1.5}, "--share: 1.5 is not in the range 0<x<=1."),
        ({"width": float("inf")}, "--width: inf is not a finite number."),
        ({"width": float("nan")}, "--width: nan is not a finite number."),
        ({"colour": "blue"}, "--colour: 'blue' is not one of 'red', 'green'."),
        ({"hours": 0}, "--hours: 0 is not in the range x>=1."),
        ({"oil": "much"}, "--oil: 'much' is not a valid number."),
        ({"colour": []}, "--colour: [] is not one of 'red', 'green'."),
        ({"wind": -1}, "--lamp-wind: -1 is not in the range x>=0."),
    ],
)
def test_a_value_outside_its_range_is_one_line(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(SettingError) as caught:
        Lamp(**changes)  # type: ignore[arg-type]
    assert str(caught.value) == complaint


@pytest.mark.parametrize(
    ("flag", "most"),
    [("--oil", 10**9), ("--threads", 1_024), ("--workers", 1_024), ("--seed", 2**63 - 1)],
)
def test_the_most_that_a_whole_number_may_be(flag: str, most: int) -> None:
    Setting("A number.").check(flag, most)
    with pytest.raises(SettingError, match=f"^{flag}: {most + 1} is not in the range x<={most}.$"):
        Setting("A number.").check(flag, most + 1)


def given_to(settings: type, *arguments: str) -> tuple[str, Any]:
    """The help of a command with the options of these settings, and the settings that it makes of
    the arguments.
    """
    parameters = list(settings_parameters(settings, "settings"))
    made = OperationCommand(
        "light",
        Command("Light it.", parameters, lambda given: found.append(made_of(settings, given))),
    )
    found: list[Any] = []
    made.main(list(arguments), standalone_mode=False)
    return made.get_help(click.Context(made, terminal_width=200)), found[0]


def test_an_option_says_what_its_field_says() -> None:
    text, made = given_to(Lamp, "--colour", "green", "--no-lit", "--hours", "3", "--lamp-wind", "5")
    shown = [line.split("  ", 2)[-1].strip() for line in text.splitlines() if "--" in line]
    assert "--lamp-wind M/S" in text
    assert shown[:7] == [
        "Spoons of oil.  [default: 3; x>=1]",
        "Of the wick.  [default: 0.5; 0<x<=1]",
        "Of the flame.  [default: 2.0; x>=0]",
        "Of the glass.  [default: red]",
        "Until it is put out.  [default: (all night); x>=1]",
        "Whether it burns.  [default: lit]",
        "Outside.  [default: 0; x>=0]",
    ]
    assert made == Lamp(colour="green", hours=3, lit=False, wind=5)


@dataclass(frozen=True, slots=True)
class Lamps:
    oil: int = setting(3, "Spoons of oil.")
    hours: tuple[int, ...] = setting((1,), "Of each.", least=1)
    shades: Mapping[str, Path] = setting({}, "By lamp.", metavar="LAMP=SHADE")
    thrift: bool = setting(False, "Little oil, one hour.", implies={"oil": 1, "hours": (1,)})

    def __post_init__(self) -> None:
        check_settings(self)


def test_a_switch_gives_options_that_are_not_given_their_values() -> None:
    assert given_to(Lamps, "--hours", "4")[1] == Lamps(hours=(4,))
    assert given_to(Lamps, "--thrift", "--hours", "4")[1] == Lamps(oil=1, hours=(4,), thrift=True)
    assert given_to(Lamps, "--hours", "4", "--thrift", "--oil", "3")[1] == Lamps(
        oil=3, hours=(4,), thrift=True
    )


def test_a_mapping_is_an_option_of_keys_and_paths(tmp_path: Path) -> None:
    text, made = given_to(
        Lamps, "--shades", f"desk={tmp_path}", "--shades", f"hall={tmp_path / 'a=b'}"
    )
    assert "--shades LAMP=SHADE" in text
    assert made.shades["desk"] == tmp_path
    assert made.shades["hall"].name == "a=b"
    for wrong in ("desk", "=here", "desk="):
        with pytest.raises(
            SettingError, match=f"--shades: wanted LAMP=SHADE, each name once; found {wrong}"
        ):
            given_to(Lamps, "--shades", wrong)


@dataclass(frozen=True, slots=True)
class Room:
    lamp: Lamp = field(default_factory=Lamp)
    doors: tuple[int, ...] = setting((1,), "Their widths.")

    def __post_init__(self) -> None:
        check_settings(self)


def test_settings_and_lists_of_another_type_are_one_line() -> None:
    with pytest.raises(SettingError, match="^lamp: None is no Lamp of positionbias.settings"):
        Room(lamp=None)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"^doors: 3 is not a list; give \[3\]"):
        Room(doors=3)  # type: ignore[arg-type]


def test_each_of_several_values_is_in_the_range() -> None:
    with pytest.raises(SettingError, match="^--hours: 0 is not in the range x>=1"):
        Lamps(hours=(2, 0))
