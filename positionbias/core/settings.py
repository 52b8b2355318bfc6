"""Settings declared once: a field of a settings dataclass has its default, its range and its help.

Command-line options, files of settings and checks in Python are made from it (``ops.operation``,
``cli.options``); click parses the values and words what is wrong with one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from inspect import Parameter
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from positionbias.core.errors import PositionBiasError, SettingError

_KEY = "setting"
Implied = Mapping[str, object]
REQUIRED = Parameter.empty  # instead of a default
BY_HAND = f"{__name__}.by_hand"  # in click's context: the flags of what the user gave
_MOST = 10**9  # twice this fits in 32 bits, and the product of two in 64
# at 2,048 threads torch crashes with a segmentation fault
_MOST_OF = {"--seed": 2**63 - 1, "--threads": 1_024, "--workers": 1_024}


class Whole(click.IntRange):
    """A whole number in a range."""

    name = "whole number"


class Number(click.FloatRange):
    """A finite number in a range."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class Setting:
    """A field's declaration: its ``help`` and the values it takes.

    ``least`` and ``most`` belong to the range, ``above`` and ``below`` do not. ``absent`` tells the
    help what None means. ``flags`` replace the flag made from its name; ``metavar`` is the
    placeholder for a value in the help. ``implies`` are values of other options that are not given,
    where this switch is on, or a function of the first argument that returns them. ``place`` marks
    the value as a path or name that is read or written; an output is never an input, nor inside
    one. ``shown`` makes it an option of the command line, else it is a setting of ``--set``; None:
    as ``SHOWN`` of its settings class says, and without one shown.
    """

    help: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Collection[str] = ()
    absent: str = ""
    flags: Sequence[str] = ()
    metavar: str = ""
    implies: Implied | Callable[[str], Implied] = field(default_factory=dict, hash=False)
    place: Literal["", "read", "written"] = ""
    shown: bool | None = None

    def flag(self, name: str) -> str:
        """Return the flag that errors name, where it belongs to a field called ``name``."""
        return self.flags[-1] if self.flags else flag_of(name)

    def click_type(self, kind: Any) -> click.ParamType[Any]:
        """Return what parses a text as a ``kind`` in the range."""
        if choices := self._choices(kind):
            return click.Choice(choices)
        if get_origin(kind) is tuple:
            return click.Tuple([self.click_type(part) for part in get_args(kind)])
        if hasattr(kind, "_fields") and not hasattr(kind, "parse"):  # a named tuple
            return click.Tuple([self.click_type(part) for part in get_type_hints(kind).values()])
        if kind is int:
            return Whole(*self._bounds, *self._open) if self._bounded else click.INT
        if kind is float:
            return Number(*self._bounds, *self._open) if self._bounded else click.FLOAT
        if kind is bool:
            return click.BOOL
        return click.Path() if self.place else click.STRING

    def check(self, flag: str, value: Any, kind: Any = None) -> None:
        """Refuse a value that is no choice or outside the range; None is in every range.

        Raises:
            SettingError: it is so.
        """
        if value is None:
            return
        try:
            if choices := self._choices(kind):
                if value not in choices:
                    raise click.BadParameter(
                        click.Choice(choices).get_invalid_choice_message(value, None)
                    )
            elif isinstance(value, Integral):
                Whole(max=_MOST_OF.get(flag, _MOST)).convert(int(value), None, None)
                self.click_type(int).convert(value, None, None)
            elif self._bounded:
                self.click_type(float).convert(value, None, None)
        except click.BadParameter as error:
            raise SettingError(f"{flag}: {error.message}") from error

    def _choices(self, kind: Any) -> tuple[Any, ...]:
        return tuple(self.choices or (get_args(kind) if get_origin(kind) is Literal else ()))

    @property
    def _bounds(self) -> tuple[Any, Any]:
        return (
            self.above if self.least is None else self.least,
            self.below if self.most is None else self.most,
        )

    @property
    def _bounded(self) -> bool:
        return self._bounds != (None, None)

    @property
    def _open(self) -> tuple[bool, bool]:
        return self.above is not None, self.below is not None


def setting(default: Any, declaration: str | Setting, **limits: Any) -> Any:
    """Return a dataclass field with a default, or ``REQUIRED``, and a help text with the limits of
    ``Setting``, or a declaration shared with another field.
    """
    if isinstance(declaration, str):
        declaration = Setting(declaration, **limits)
    metadata = {_KEY: declaration}
    if default is REQUIRED:
        return field(metadata=metadata)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


Seed = Annotated[int, Setting("Random seed.", least=0, shown=True)]


class Settings:
    """Settings whose fields are checked when they are made.

    Raises:
        SettingError: a field is outside its range; the message names its flag.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded(Settings):
    """Settings of what draws at random."""

    seed: Seed = 1


def settings_of(kind: type) -> Mapping[str, Setting]:
    """Return the declarations of a settings dataclass by field name, made by ``setting`` or shared
    as a type; undeclared fields are left out.
    """
    return _declared(kind)


@cache
def _declared(kind: Any) -> Mapping[str, Setting]:
    hints = get_type_hints(kind, include_extras=True)
    declared = {
        each.name: each.metadata.get(_KEY) or getattr(hints[each.name], "__metadata__", (None,))[0]
        for each in fields(kind)
    }
    return {name: each for name, each in declared.items() if isinstance(each, Setting)}


def check_settings(settings: Any) -> None:
    """Check every field of a settings dataclass against its range; that settings in it are
    settings, and lists lists.

    Raises:
        SettingError: a field is not; the message names the flag of the first.
    """
    declared = settings_of(type(settings))
    for each in fields(settings):
        value, kind = getattr(settings, each.name), each.default_factory
        if isinstance(kind, type) and is_dataclass(kind):
            check_kind(each.name, value, kind)
        if type(each.default) is tuple:
            check_several(each.name, value)
        if (setting := declared.get(each.name)) is not None:
            for item in value if isinstance(value, tuple) else (value,):
                setting.check(setting.flag(each.name), item)


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse what is no settings of this class.

    Raises:
        SettingError: it is something else.
    """
    if not isinstance(value, kind):
        raise SettingError(f"{name}: {value!r} is no {kind.__name__} of positionbias.settings")


def check_several(name: str, value: object) -> None:
    """Refuse one value where several may be given.

    Raises:
        SettingError: it is no list.
    """
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        raise SettingError(f"{name}: {value!r} is not a list; give [{value!r}]")


def check_once(listed: Mapping[str, Sequence[Any]]) -> None:
    """Check that each flag has a value, and none twice.

    Raises:
        SettingError: the first that has not.
    """
    for flag, values in listed.items():
        if not values or len(set(values)) < len(values):
            found = ", ".join(map(str, values)) or "none"
            raise SettingError(
                f"{flag}: wanted at least one, each once; found {found}; give each once"
            )


@contextmanager
def flags_as(names: Mapping[str, str]) -> Iterator[None]:
    """Have errors name each flag as the command at hand calls it.

    >>> with flags_as({"--size": "--source-size"}):
    ...     raise SettingError("--size: wanted 2; found 1; give --size 2")
    Traceback (most recent call last):
    ...
    positionbias.core.errors.SettingError: --source-size: wanted 2; found 1; give --source-size 2
    """
    try:
        yield
    except PositionBiasError as error:
        named = re.sub(
            r"--[a-z][a-z0-9-]*", lambda found: names.get(found[0], found[0]), str(error)
        )
        if named == str(error):
            raise
        raise type(error)(named) from error


class Given(dict[str, Any]):
    """Single values by their parameters' names; those ``stated`` were given by somebody and are no
    defaults.
    """

    def __init__(self, values: Mapping[str, Any], stated: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.stated = set(stated)


def _by_hand() -> Collection[str]:
    """Return the flags that the user gave on the command line, even with a default's value."""
    context = click.get_current_context(silent=True)
    return context.meta.get(BY_HAND, ()) if context else ()


def refuse_idle(flags: Iterable[str], *, wanted: str, found: str) -> None:
    """Refuse an option of the command line that would do nothing beside the others.

    Raises:
        SettingError: one of these was given.
    """
    for flag in flags:
        if flag in _by_hand():
            raise SettingError(
                f"{flag}: wanted {wanted}; found {found}, with which it does nothing; leave it out"
            )


def given_flags(settings: Any) -> Iterator[str]:
    """Yield the flag of each setting, nested ones included, that differs from its default or was
    given on the command line.
    """
    declared = settings_of(type(settings))
    for each in fields(settings):
        value = getattr(settings, each.name)
        if is_dataclass(value):
            yield from given_flags(value)
        elif each.name in declared:
            flag = declared[each.name].flag(each.name)
            if flag in _by_hand() or value != each.default:
                yield flag


def flag_of(name: str) -> str:
    """Return the command-line flag of a field.

    >>> flag_of("batch_size")
    '--batch-size'
    """
    return f"--{name.replace('_', '-')}"
