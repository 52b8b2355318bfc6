"""Settings declared once: a field of a settings dataclass has its default, its range and its help.

Checks, command-line options and their help are made from it (``cli.settings_options``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import Any, Literal

from positionbias.core.errors import PositionBiasError, SettingError, or_closest

_KEY = "setting"
Implied = Mapping[str, object]
SEED_HELP = "Random seed."
_MOST = 10**9  # twice this fits in 32 bits, and the product of two in 64
# options that the command line gave; a default given by hand equals one that was not
_BY_HAND: ContextVar[frozenset[str]] = ContextVar("_BY_HAND", default=frozenset())
# at 2,048 threads torch crashes with a segmentation fault
_MOST_OF = {"--seed": 2**63 - 1, "--threads": 1_024, "--workers": 1_024}


@dataclass(frozen=True, slots=True)
class Setting:
    """A field's declaration: its ``help`` and the values it takes.

    ``least`` and ``most`` belong to the range, ``above`` and ``below`` do not. ``wanted`` describes
    the range in other words, and ``do`` the remedy for a value outside it. ``absent`` tells the
    help what None means. ``flags`` replace the flag made from its name; ``metavar`` is the
    placeholder for a value in the help. ``off`` is the flag that turns a switch off, without
    dashes; a ``hidden`` field has no option. ``implies`` are values of other options that are not
    given, where this switch is on, or a function of the first argument that returns them. ``place``
    marks the value as a path or name that is read or written; an output is never an input, nor
    inside one. ``shown`` makes it an option of the command line, else it is a setting
    of ``--set``; None: as ``SHOWN`` of its settings class says, and without one shown.
    """

    help: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Collection[str] = ()
    wanted: str = ""
    do: str = ""
    absent: str = ""
    flags: Sequence[str] = ()
    metavar: str = ""
    off: str = ""
    hidden: bool = False
    implies: Implied | Callable[[str], Implied] = field(default_factory=dict, hash=False)
    place: Literal["", "read", "written"] = ""
    shown: bool | None = None

    def flag(self, name: str) -> str:
        """Return the flag that errors name, where it belongs to a field called ``name``."""
        return self.flags[-1] if self.flags else flag_of(name)

    def check(self, flag: str, value: Any) -> None:
        """Refuse a value outside the range; None is in every range.

        Raises:
            SettingError: it is outside.
        """
        if value is None:
            return
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                known = self.wanted or f"one of {', '.join(self.choices)}"
                raise SettingError(
                    f"{flag}: wanted {known}; found {value!r}; "
                    f"{or_closest(value, self.choices, self.do or 'pick one')}"
                )
            return
        if isinstance(value, int):
            check_whole(flag, value)
        if self._bounded and not isinstance(value, Real):
            raise SettingError(f"{flag}: wanted a number; found {value!r}; give one")
        if not self._holds(value):
            raise SettingError(
                f"{flag}: wanted {self._range(value)}; found {value}; "
                f"{self.do or self._advice(value)}"
            )

    def _holds(self, value: float) -> bool:
        within = (self.least is None or value >= self.least) and (
            self.most is None or value <= self.most
        )
        apart = (self.above is None or value > self.above) and (
            self.below is None or value < self.below
        )
        return within and apart and (not self._bounded or math.isfinite(value))

    @property
    def _bounded(self) -> bool:
        return any(bound is not None for bound in (self.least, self.most, self.above, self.below))

    def _range(self, value: float) -> str:
        if self.wanted:
            return self.wanted
        if self.least is not None and self.most is None and self.below is None:
            return (
                f"at least {self.least}"
                if isinstance(value, int)
                else f"a number from {self.least}"
            )
        low = (
            f"from {self.least}"
            if self.least is not None
            else f"above {self.above}"
            if self.above is not None
            else ""
        )
        high = (
            f"to {self.most}"
            if self.most is not None
            else f"below {self.below}"
            if self.below is not None
            else ""
        )
        between = " " if high.startswith("to") else " and "
        return f"a number {between.join(filter(None, (low, high)))}"

    def _advice(self, value: float) -> str:
        only_low = self.most is None and self.below is None
        return "raise it" if only_low and isinstance(value, int) else "give another"


def check_whole(flag: str, value: int) -> None:
    """Refuse a whole number that libraries cannot hold, or more threads or processes than they can
    run.

    Raises:
        SettingError: it is too large.
    """
    if value > (most := _MOST_OF.get(flag, _MOST)):
        raise SettingError(f"{flag}: wanted a whole number up to {most:,}; found {value}; lower it")


def setting(default: Any, help: str, **of_it: Any) -> Any:
    """Return a dataclass field with a default, a help text, and the limits of ``Setting``."""
    return declared_setting(default, Setting(help, **of_it))


def declared_setting(default: Any, of: Setting) -> Any:
    """Return a dataclass field with a default and a declaration shared with another field."""
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata={_KEY: of})
    return field(default=default, metadata={_KEY: of})


def required_setting(help: str, **of_it: Any) -> Any:
    """Return a dataclass field without a default, with a help text and the limits of
    ``Setting``.
    """
    return field(metadata={_KEY: Setting(help, **of_it)})


def seed_setting() -> Any:
    """Return the field ``seed`` of settings with random draws."""
    return setting(1, SEED_HELP, least=0, shown=True)


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

    seed: int = seed_setting()


def settings_of(kind: type) -> Mapping[str, Setting]:
    """Return the declarations of a settings dataclass by field name; undeclared fields are left
    out.
    """
    return {one.name: one.metadata[_KEY] for one in fields(kind) if _KEY in one.metadata}


def check_settings(settings: Any) -> None:
    """Check every field of a settings dataclass against its range; that settings in it are
    settings, and lists lists.

    Raises:
        SettingError: a field is not; the message names the flag of the first.
    """
    for one in fields(settings):
        value, kind = getattr(settings, one.name), one.default_factory
        if isinstance(kind, type) and is_dataclass(kind) and not isinstance(value, kind):
            raise SettingError(
                f"{one.name}: wanted a {kind.__name__}; found {value!r}; give one of "
                "positionbias.settings"
            )
        if type(one.default) is tuple and (
            isinstance(value, str) or not isinstance(value, Iterable)
        ):
            raise SettingError(f"{one.name}: wanted a tuple; found {value!r}; give ({value!r},)")
    for name, declared in settings_of(type(settings)).items():
        value = getattr(settings, name)
        for one in value if isinstance(value, tuple) else (value,):
            declared.check(declared.flag(name), one)


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


@contextmanager
def given_by_hand(flags: Iterable[str]) -> Iterator[None]:
    """Have ``given_flags`` yield these flags of a command line even where their values are the
    defaults.
    """
    before = _BY_HAND.set(frozenset(flags))
    try:
        yield
    finally:
        _BY_HAND.reset(before)


def refuse_idle(flags: Iterable[str], *, wanted: str, found: str) -> None:
    """Refuse an option of the command line that would do nothing beside the others.

    Raises:
        SettingError: one of these was given.
    """
    for flag in flags:
        if flag in _BY_HAND.get():
            raise SettingError(
                f"{flag}: wanted {wanted}; found {found}, with which it does nothing; leave it out"
            )


def given_flags(settings: Any) -> Iterator[str]:
    """Yield the flag of each setting, nested ones included, that differs from its default or was
    given on the command line.
    """
    declared = settings_of(type(settings))
    for one in fields(settings):
        value = getattr(settings, one.name)
        if is_dataclass(value):
            yield from given_flags(value)
        elif one.name in declared:
            flag = declared[one.name].flag(one.name)
            by_hand = flag in _BY_HAND.get() and not declared[one.name].hidden
            if by_hand or value != one.default:
                yield flag


def flag_of(name: str) -> str:
    """Return the command-line flag of a field.

    >>> flag_of("batch_size")
    '--batch-size'
    """
    return f"--{name.replace('_', '-')}"
