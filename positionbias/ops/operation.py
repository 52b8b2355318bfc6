"""Public operations: one function each, called from Python directly and from the command line
through options made of its parameters.

A parameter is declared like a field of settings, ``Annotated[int, Setting(…)]``, or is a settings
dataclass, whose fields become options. Parameters before the ``*`` are the command's arguments; a
``Mapping`` of paths or texts is an option KEY=VALUE. ``operation`` checks all values, from Python
and the command line alike.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from positionbias.core.errors import SettingError, models_extra
from positionbias.core.places import input_place, output_place, refuse_inputs
from positionbias.core.settings import (
    REQUIRED,
    Given,
    Setting,
    check_kind,
    check_several,
    settings_of,
)
from positionbias.core.steps import job_of, published_by

P = ParamSpec("P")
R = TypeVar("R")
_KINDS: Mapping[Any, tuple[Any, str]] = {  # what a value of a type may be, and its name
    int: (Integral, "whole number"),
    float: (Real, "number"),
    bool: (bool, "boolean"),
    str: (str | Path, "text or path"),
}
# of themselves; judgements are a list of their own
_NEVER_READ = {bytes, list, tuple, set, dict, NoneType}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument or option: of the operation itself (``owner`` is empty), or of the settings in
    its parameter ``owner``.

    ``type`` is that of one value, without None; ``many`` allows several. ``path`` leads to its
    field from the settings of its owner, which may hold settings themselves. ``optional`` says
    whether None is a value, ``shown`` whether it is an option; else it is a setting of ``--set``.
    """

    name: str
    owner: str
    type: Any
    many: bool
    default: Any
    setting: Setting
    argument: bool = False
    path: tuple[str, ...] = ()
    optional: bool = True
    shown: bool = True

    @property
    def flag(self) -> str:
        """Its name in errors: its last flag, or for an argument its metavar."""
        if self.argument:
            return self.setting.metavar.strip("[]….") or self.name.upper()
        return self.setting.flag(self.name)

    @property
    def key(self) -> str:
        """Its name in ``--set`` and in a file of settings: that of its flag, of a switch that of
        its field.
        """
        return self.name if self.type is bool else self.flag.lstrip("-").replace("-", "_")

    def read(self, value: Any, named: str = "") -> Any:
        """Return the value of ``--set`` or of a file of settings in its type; errors name it by its
        key, or as ``named``.

        Raises:
            SettingError: it is of another, or out of range.
        """
        if value == "none" and self.optional and self.type in (int, float):
            return None
        kind = self.setting.click_type(self.type)
        if self.many != isinstance(value, list) and not kind.is_composite:
            shape = "a list" if self.many else "one value"
            raise SettingError(f"{named or self.key}: {value!r} is not {shape}.")
        try:
            if self.many:
                return tuple(kind(item if kind.is_composite else str(item)) for item in value)
            return kind(value if kind.is_composite else str(value))
        except click.BadParameter as error:
            raise SettingError(f"{named or self.key}: {error.message}") from error

    def check(self, value: Any) -> None:
        """Refuse a value of another type or outside its range; None is in every range.

        Raises:
            SettingError: it is one of these.
        """
        # only values from Python can be of another type, where an argument has no flag
        named = self.name if self.argument else self.flag
        if value is None and self.optional:
            return
        if self.many:
            check_several(named, value)
            if self.default is REQUIRED and not value:
                raise SettingError(f"{self.flag}: wanted one at least; found none; give it")
        for item in value if self.many else (value,):
            if not self._fits(item):
                _, kind = _KINDS.get(self.type, (object, "value"))
                raise SettingError(f"{named}: {item!r} is not a valid {kind}.")
            self.setting.check(self.flag, item, self.type)

    def value_in(self, arguments: Mapping[str, Any]) -> Any:
        """Return its value among the arguments of a call: one of them, or a field of settings."""
        value = arguments[self.owner or self.name]
        for name in self.path:
            value = getattr(value, name, None)
        return value

    def _fits(self, item: Any) -> bool:
        # also what is open: a collection, a model, a function
        if self.type is str and self.setting.place == "read":
            return not isinstance(item, Real) and type(item) not in _NEVER_READ
        kind, _ = _KINDS.get(self.type, (object, ""))
        return isinstance(item, kind) and (kind in (bool, object) or not isinstance(item, bool))


class LeftOut(tuple[str, ...]):
    """The fields of a settings dataclass, in whose annotation it stands, that an operation leaves
    at their defaults.
    """


@dataclass(frozen=True, slots=True)
class Command:
    """The parts of a command: its help, its parameters in their order, and what it does with their
    values; ``further`` returns the settings that depend on the first argument.
    """

    help: str
    parameters: Sequence[Parameter]
    call: Callable[[Given], Any]
    further: Callable[[str], Sequence[Parameter]] = lambda argument: ()


@cache
def parameters_of(function: Callable[..., Any]) -> Sequence[Parameter]:
    """Return the arguments and options of an operation, in the order of its signature.

    Raises:
        TypeError: a parameter without a declaration.
    """
    return tuple(_parameters(inspect.unwrap(function)))


def _parameters(function: Any) -> Iterator[Parameter]:
    hints = _hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        annotated = get_origin(hint) is Annotated
        kind, setting = get_args(hint)[:2] if annotated else (_plain(hint), LeftOut())
        if isinstance(setting, Setting):
            rest = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            single, many = (_plain(kind), True) if rest else _single(kind)
            yield Parameter(
                name,
                "",
                single,
                many,
                () if rest else parameter.default,
                setting,
                argument=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
                optional=_optional(kind),
                shown=setting.shown is not False,
            )
        elif _holds_settings(kind):
            fields_of = settings_parameters(kind, name)
            yield from (field for field in fields_of if field.name not in setting)
        else:
            raise TypeError(
                f"{function.__name__}: parameter {name} has no Setting and is no settings dataclass"
            )


def _hints(function: Any, *, include_extras: bool = False) -> dict[str, Any]:
    """The types of the parameters; what is returned may be a type that nobody has imported."""
    taken = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(
        SimpleNamespace(__annotations__=taken),
        function.__globals__,
        include_extras=include_extras,
    )


def settings_parameters(kind: Any, owner: str, path: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Yield a parameter for each declared field of a settings dataclass, and of the settings in
    it.
    """
    declared, hints = settings_of(kind), get_type_hints(kind)
    for field in sorted(fields(kind), key=lambda field: field.name == "seed"):  # the seed is last
        here, hint = (*path, field.name), hints[field.name]
        if (setting := declared.get(field.name)) is not None:
            yield Parameter(
                field.name,
                owner,
                *_single(hint),
                _default(field),
                setting,
                path=here,
                optional=_optional(hint),
                shown=getattr(kind, "SHOWN", True) if setting.shown is None else setting.shown,
            )
        elif _holds_settings(hint):
            yield from settings_parameters(hint, owner, here)


def _holds_settings(kind: Any) -> bool:
    """Check that a type is a settings dataclass, but for one that declares nothing, which its
    command makes, and one that is parsed from a text.
    """
    declares = isinstance(kind, type) and is_dataclass(kind) and settings_of(kind)
    return bool(declares) and not hasattr(kind, "parse")


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory() or ()  # of a mapping: no KEY=PATH
    return REQUIRED if field.default is MISSING else field.default


def _plain(hint: Any) -> Any:
    """Return a type without None; of a text or path a text, of other unions any value, which their
    settings check.
    """
    if get_origin(hint) in (Union, UnionType):
        left = [part for part in get_args(hint) if part is not NoneType]
        return left[0] if len(left) == 1 else str if {*left} <= {str, Path} else object
    return hint


def _optional(hint: Any) -> bool:
    return hint is Any or NoneType in get_args(hint)


def _single(hint: Any) -> tuple[Any, bool]:
    """Return the type of one value, and whether several may be given; a mapping's values are given
    as KEY=VALUE.
    """
    plain = _plain(hint)
    if get_origin(plain) is Mapping:
        return str, True
    if get_origin(plain) is Sequence or (get_origin(plain) is tuple and get_args(plain)[-1] is ...):
        return _plain(get_args(plain)[0]), True
    return plain, False


# -- a call made of single values ------------------------------------------------------------------


def command_for(operation: Callable[..., Any]) -> Command:
    """Return the command that calls an operation."""

    def call(given: Given) -> Any:
        hints = _hints(inspect.unwrap(operation))
        arguments = {name: _value(name, _plain(hint), given) for name, hint in hints.items()}
        several: list[Any] = []
        for name, parameter in inspect.signature(operation).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                several += arguments.pop(name)
        return operation(*several, **arguments)

    return Command(inspect.getdoc(inspect.unwrap(operation)) or "", parameters_of(operation), call)


def made_of(kind: Any, given: Mapping[str, Any], /, **fields: Any) -> Any:
    """Return settings of this kind made of single values by their fields' names; ``fields`` are
    those that declare no setting.
    """
    declared, made = settings_of(kind), dict(fields)
    for name, hint in get_type_hints(kind).items():
        if name in fields or (name not in given if name in declared else not _holds_settings(hint)):
            continue
        if get_origin(hint) is Mapping:
            made[name] = _pairs(name, declared[name], given[name], get_args(hint)[1])
        else:
            made[name] = _value(name, _plain(hint), given)
    return kind(**made)


def _pairs(name: str, setting: Setting, texts: Sequence[str], kind: type) -> dict[str, Any]:
    """Return values, paths or texts, by their keys, given as KEY=VALUE.

    Raises:
        SettingError: another form, or a key twice.
    """
    pairs = [text.partition("=") for text in texts]
    keys = {key for key, _, value in pairs if key and value}
    if len(keys) < len(pairs):
        raise SettingError(
            f"{setting.flag(name)}: wanted {setting.metavar}, each name once; found "
            f"{', '.join(texts)}"
        )
    return {key: input_place(value) if kind is Path else value for key, _, value in pairs}


def _value(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    if _holds_settings(kind):
        return made_of(kind, given)
    value, (single, many) = given[name], _single(kind)
    if many and value is not None:
        return tuple(_read(single, item) for item in value)
    return _read(single, value)


def _read(kind: Any, value: Any) -> Any:
    return kind.parse(value) if isinstance(value, str) and hasattr(kind, "parse") else value


# -- a call from Python ----------------------------------------------------------------------------


def operation(function: Callable[P, R]) -> Callable[P, R]:
    """Check a public function's arguments before it runs: each value against its type and setting,
    and that no output is an input.

    A missing package of the extra ``models`` becomes a ``DependencyError``. The parameters are
    described in its docstring.
    """

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        bound = inspect.signature(function).bind(*given, **named)
        for name, value in bound.arguments.items():
            if isinstance(value, Iterator):  # which the checks would use up
                bound.arguments[name] = tuple(value)
        bound.apply_defaults()
        for name, kind in _hints(function).items():
            if _holds_settings(kind):
                check_kind(name, bound.arguments[name], kind)
        values = [
            (parameter, parameter.value_in(bound.arguments))
            for parameter in parameters_of(function)
        ]
        for parameter, value in values:
            parameter.check(value)
        written = {
            parameter.flag: value
            for parameter, value in values
            if parameter.setting.place == "written" and value is not None
        }
        for value in written.values():
            output_place(value)
        refuse_inputs(
            written, (value for parameter, value in values if parameter.setting.place == "read")
        )
        # where it writes in several places, nothing tells that it was done before
        once: AbstractContextManager[None] = nullcontext()
        out = bound.arguments.get("out")
        if isinstance(out, str | Path) and len(written) == 1:
            once = published_by(_job(function, values), output_place(out))
        with models_extra(), once:
            return function(*bound.args, **bound.kwargs)

    checked.__doc__ = _described(function)
    return checked


def _job(function: Callable[..., Any], values: Sequence[tuple[Parameter, Any]]) -> str | None:
    """Return the digest of a call: the same one, given again, ends as done before."""
    asked = [
        (f"{parameter.owner}.{parameter.name}", value, parameter.setting.place == "read")
        for parameter, value in values
        if parameter.name not in ("overwrite", "workers", "engine")
    ]
    return job_of(function.__name__, asked)


def _described(function: Callable[..., Any]) -> str:
    """Return the docstring with a section on arguments inserted before those on results and
    errors.
    """
    lines = []
    for name in inspect.signature(function).parameters:
        declared = [
            parameter
            for parameter in parameters_of(function)
            if (parameter.owner or parameter.name) == name
        ]
        helps = (
            f"``{parameter.name}``: {parameter.setting.help}"
            if parameter.owner
            else parameter.setting.help
            for parameter in declared
        )
        lines += textwrap.wrap(
            f"{name}: {'; '.join(helps)}", 96, initial_indent=" " * 4, subsequent_indent=" " * 8
        )
    head, section, tail = (inspect.getdoc(function) or "").partition("\n\nReturns:")
    return f"{head}\n\nArgs:\n{chr(10).join(lines)}{section}{tail}"
