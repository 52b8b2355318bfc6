"""An operation's values: of the type and the range that its parameters declare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from positionbias.core.errors import SettingError
from positionbias.core.settings import Given, Setting, setting
from positionbias.core.shared_settings import Out
from positionbias.ops.operation import LeftOut, command_for, operation


@operation
def typed(
    *,
    seed: Annotated[int, Setting("A seed.")] = 1,
    to: Annotated[Literal["beir", "trec"], Setting("A form.")] = "trec",
    splits: Annotated[Sequence[str], Setting("Splits.")] = (),
    whole: Annotated[bool, Setting("All of it.")] = False,
) -> tuple[Any, ...]:
    """Return what was given."""
    return seed, to, splits, whole


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"seed": True}, "--seed: True is not a valid whole number"),
        ({"seed": 2.5}, r"--seed: 2\.5 is not a valid whole number"),
        ({"to": "xml"}, "--to: 'xml' is not one of 'beir', 'trec'"),
        ({"splits": "test"}, r"--splits: 'test' is not a list; give \['test'\]"),
        ({"whole": 1}, "--whole: 1 is not a valid boolean"),
        ({"whole": None}, "--whole: None is not a valid boolean"),
        ({"splits": 5}, r"--splits: 5 is not a list; give \[5\]"),
        ({"splits": [5]}, "--splits: 5 is not a valid text or path"),
    ],
)
def test_values_of_another_type_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        typed(**given)
    assert typed(seed=3, to="beir", splits=["test"], whole=True) == (3, "beir", ["test"], True)


@dataclass(frozen=True)
class Inner:
    """Settings within others, of which one has the name of their own field."""

    inner: int = setting(1, "A number.")
    read: str | None = setting(None, "A file.", place="read")


@dataclass(frozen=True)
class Outer:
    """Settings that hold others."""

    inner: Inner = field(default_factory=Inner)
    share: float = setting(0.5, "A share.", least=0, most=1)


@operation
def nested(*, outer: Outer = Outer(), out: Out) -> Outer:
    """Return the settings."""
    return outer


def test_values_in_settings_are_checked_however_deep_they_stand(tmp_path: Path) -> None:
    assert nested(outer=Outer(Inner(2, "in")), out="out").inner == Inner(2, "in")
    with pytest.raises(SettingError, match="--inner: True is not a valid whole number"):
        nested(outer=Outer(Inner(True)), out="out")
    with pytest.raises(SettingError, match=r"--share: 1\.5 is not in the range 0<=x<=1"):
        nested(outer=Outer(share=1.5), out="out")
    same = tmp_path / "same"
    same.touch()
    with pytest.raises(
        SettingError, match="--out: wanted a place apart from what is read; found .*same"
    ):
        nested(outer=Outer(Inner(1, str(same))), out=str(same))


@pytest.mark.parametrize("wrong", [None, 5, {}])
def test_settings_of_another_class_are_refused(wrong: Any) -> None:
    with pytest.raises(SettingError, match="outer: .* is no Outer of positionbias.settings"):
        nested(outer=wrong, out="out")


@operation
def narrow(*, outer: Annotated[Outer, LeftOut(("share",))] = Outer()) -> Outer:
    """Return what was given, always with the same share."""
    return outer


def test_a_command_leaves_a_field_at_its_default() -> None:
    command = command_for(narrow)
    assert [one.name for one in command.parameters] == ["inner", "read"]
    assert command.call(Given({"inner": 2, "read": None})) == Outer(Inner(2))


@operation
def listed(runs: Annotated[Sequence[str], Setting("Runs.", metavar="RUN...")]) -> tuple[str, ...]:
    """Return what was given."""
    return tuple(runs)


def test_what_can_be_read_once_is_checked_and_reaches_the_operation() -> None:
    assert listed(name for name in ("a", "b")) == ("a", "b")


@operation
def each(
    name: Annotated[str, Setting("A name.")], *others: Annotated[str, Setting("Others.")]
) -> tuple[str, ...]:
    """Return what was given."""
    return (name, *others)


def test_arguments_are_checked_by_their_names_however_many_they_are() -> None:
    assert each("a") == ("a",)
    assert each("a", "b", "c") == ("a", "b", "c")
    with pytest.raises(SettingError, match="name: 5 is not a valid text or path"):
        each(5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="others: None is not a valid text or path"):
        each("a", "b", None)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="runs: 'a' is not a list"):
        listed("a")


@pytest.mark.parametrize("nothing", [[], (), iter(())])
def test_none_of_what_is_required_is_one_line(nothing: Sequence[str]) -> None:
    with pytest.raises(SettingError, match="RUN: wanted one at least; found none; give it"):
        listed(nothing)
