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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType, NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from positionbias.core.errors import SettingError, models_extra
from positionbias.core.inputs import CollectionLike
from positionbias.core.places import Place, input_place, output_place, refuse_inputs
from positionbias.core.settings import SEED_HELP, Setting, settings_of
from positionbias.core.steps import job_of, published_by

P = ParamSpec("P")
R = TypeVar("R")
REQUIRED = inspect.Parameter.empty
_KINDS: Mapping[type, tuple[Any, str]] = {  # what a value of a type may be, and its name
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    bool: (bool, "True or False"),
    str: (str | Path, "a text or path"),
}
# of themselves; judgements are a list of their own
_NEVER_READ = {bytes, list, tuple, set, dict, NoneType}

Source = Annotated[
    CollectionLike,
    Setting("A collection, its folder, or its name under $POSBIAS_HOME.", place="read"),
]
Sources = Annotated[
    Sequence[CollectionLike],
    Setting(
        "Collections, their folders, or their names under $POSBIAS_HOME.",
        metavar="COLLECTION…",
        place="read",
    ),
]
Seed = Annotated[int, Setting(SEED_HELP, least=0)]
Out = Annotated[
    Place, Setting("Where to write: a new folder or file.", metavar="PATH", place="written")
]
SavedTo = Annotated[
    Place | None,
    Setting(
        "Save the results as a folder, for posbias report.",
        metavar="DIR",
        place="written",
    ),
]
Overwrite = Annotated[bool, Setting("Replace what stands at --out.")]
WithTexts = Annotated[
    bool, Setting("Leave the texts of single queries out of the page.", flags=("--no-texts",))
]


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
    of: Setting
    argument: bool = False
    path: tuple[str, ...] = ()
    optional: bool = True
    shown: bool = True

    @property
    def flag(self) -> str:
        """Its name in errors: its last flag, or for an argument its metavar."""
        if self.argument:
            return self.of.metavar.strip("[]….") or self.name.upper()
        return self.of.flag(self.name)

    @property
    def key(self) -> str:
        """Its name in ``--set`` and in a file of settings: that of its flag, but for a switch that
        an option turns off and on.
        """
        if self.type is bool and not self.turns_off:
            return self.name
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def turns_off(self) -> bool:
        """True for a switch whose flag turns off what is on by default, as ``--no-rotation``."""
        return self.type is bool and self.default is True and bool(self.of.flags)

    def check(self, value: Any) -> None:
        """Refuse a value of another type or outside its range; None is in every range.

        Raises:
            SettingError: it is one of these.
        """
        if value is None:
            if not self.optional:
                raise SettingError(f"{self._named}: wanted {self._wanted()}; found None; give it")
            return
        if self.many and (isinstance(value, str | Path) or not isinstance(value, Iterable)):
            raise SettingError(f"{self._named}: wanted a list; found {value!r}; give [{value!r}]")
        if self.many and self.default is REQUIRED and not value:
            raise SettingError(f"{self.flag}: wanted one at least; found none; give it")
        for item in value if self.many else (value,):
            if not self._fits(item):
                raise SettingError(
                    f"{self._named}: wanted {self._wanted()}; found {item!r}; give another"
                )
            self.of.check(self.flag, item)

    @property
    def _named(self) -> str:
        """Its name where its type is wrong, as only values from Python can be: an argument has no
        flag there.
        """
        return self.name if self.argument else self.flag

    def _wanted(self) -> str:
        if get_args(self.type):
            return f"one of {', '.join(map(str, get_args(self.type)))}"
        return _KINDS[self.type][1] if self.type in _KINDS else "a value"

    def _fits(self, item: Any) -> bool:
        if get_origin(self.type) is Literal:
            return item in get_args(self.type)
        # also what is open: a collection, a model, a function
        if self.type is str and self.of.place == "read":
            return not isinstance(item, Real) and type(item) not in _NEVER_READ
        kind, _ = _KINDS.get(self.type, (object, ""))
        return isinstance(item, kind) and (
            self.type is bool or not isinstance(item, bool) or kind is object
        )


class LeftOut(tuple[str, ...]):
    """The fields of a settings dataclass, in whose annotation it stands, that an operation leaves
    at their defaults.
    """


class Given(dict[str, Any]):
    """Single values by their parameters' names; those ``stated`` were given by somebody and are no
    defaults.
    """

    def __init__(self, values: Mapping[str, Any], stated: Iterable[str] = ()) -> None:
        super().__init__(values)
        self.stated = frozenset(stated)


@dataclass(frozen=True, slots=True)
class Command:
    """The parts of a command: its help, its parameters in their order, and what it does with their
    values; ``further`` returns the settings that depend on the first argument.
    """

    help: str
    parameters: Sequence[Parameter]
    call: Callable[[Given], Any]
    further: Callable[[str], Sequence[Parameter]] = lambda argument: ()


def command_for(operation: Callable[..., Any]) -> Command:
    """Return the command that calls an operation."""

    def call(given: Given) -> Any:
        arguments = gathered(operation, given)
        kinds = inspect.signature(operation).parameters.values()
        several = [one.name for one in kinds if one.kind is inspect.Parameter.VAR_POSITIONAL]
        values = [value for name in several for value in arguments.pop(name)]
        return operation(*values, **arguments)

    return Command(inspect.getdoc(inspect.unwrap(operation)) or "", parameters_of(operation), call)


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
        hint, default = hints[name], parameter.default
        kind, of = (
            get_args(hint)[:2] if get_origin(hint) is Annotated else (_plain(hint), LeftOut())
        )
        if isinstance(of, Setting):
            argument = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                yield Parameter(name, "", _plain(kind), True, (), of, argument)
                continue
            yield Parameter(
                name,
                "",
                *_single(kind),
                default,
                of,
                argument,
                optional=_optional(kind),
                shown=of.shown is not False,
            )
        elif _holds_settings(kind):
            yield from (one for one in settings_parameters(kind, name) if one.name not in of)
        else:
            raise TypeError(
                f"{function.__name__}: parameter {name} has no Setting and is no settings dataclass"
            )


def _hints(function: Any, *, include_extras: bool = False) -> dict[str, Any]:
    """The types of the parameters; what is returned may be a type that nobody has imported."""
    annotations = {
        name: hint for name, hint in function.__annotations__.items() if name != "return"
    }
    return get_type_hints(
        SimpleNamespace(__annotations__=annotations),
        function.__globals__,
        include_extras=include_extras,
    )


def settings_parameters(kind: Any, owner: str, path: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Yield a parameter for each declared field of a settings dataclass, and of the settings in
    it.
    """
    declared, hints = settings_of(kind), get_type_hints(kind)
    for field in sorted(fields(kind), key=lambda field: field.name == "seed"):  # the seed is last
        of = declared.get(field.name)
        if of is not None and of.hidden:
            continue
        here = (*path, field.name)
        if _holds_settings(inner := hints[field.name]):
            yield from settings_parameters(inner, owner, here)
        elif of is not None:
            single, many = _single(inner)
            yield Parameter(
                field.name,
                owner,
                single,
                many,
                _default(field),
                of,
                path=here,
                optional=_optional(inner),
                shown=getattr(kind, "SHOWN", True) if of.shown is None else of.shown,
            )


def _holds_settings(kind: Any) -> bool:
    """Check that a type is a settings dataclass that is not parsed from one text."""
    return is_dataclass(kind) and not hasattr(kind, "parse")


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


def gathered(function: Callable[..., Any], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the operation's arguments made of single values: settings dataclasses take theirs by
    their fields' names.
    """
    hints = _hints(inspect.unwrap(function))
    return {name: _value(name, _plain(hint), given) for name, hint in hints.items()}


def made_of(kind: Any, given: Mapping[str, object], /, **fields: Any) -> Any:
    """Return settings of this kind made of single values by their fields' names; ``fields`` are
    those that declare no setting.
    """
    return _value("", kind, given, fields)


def _value(
    name: str,
    kind: Any,
    given: Mapping[str, object],
    fields: Mapping[str, object] = MappingProxyType({}),
) -> Any:
    if not _holds_settings(kind):
        single, many = _single(kind)
        value: Any = given[name]
        return (
            tuple(_read(single, item) for item in value)
            if many and value is not None
            else _read(single, value)
        )
    made: dict[str, Any] = {}
    declared = settings_of(kind)
    for field, hint in get_type_hints(kind).items():
        of = declared.get(field)
        if of is not None and of.hidden:
            continue
        if _holds_settings(hint):
            made[field] = _value(field, hint, given)
        elif of is not None and field in given:
            plain = _plain(hint)
            made[field] = (
                _pairs(of, field, given, get_args(plain)[1])
                if get_origin(plain) is Mapping
                else _value(field, plain, given)
            )
    return kind(**made, **fields)


def _pairs(of: Setting, name: str, given: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return values, paths or texts, by their keys, given as KEY=VALUE.

    Raises:
        SettingError: another form, or a key twice.
    """
    found: dict[str, Any] = {}
    for text in given[name]:
        key, _, value = text.partition("=")
        if not key or not value:
            raise SettingError(f"{of.flag(name)}: wanted {of.metavar}; found {text!r}; write it so")
        if key in found:
            raise SettingError(
                f"{of.flag(name)}: wanted each name once; found {key!r} twice; drop one"
            )
        found[key] = input_place(value) if kind is Path else value
    return found


def _read(kind: Any, value: Any) -> Any:
    return kind.parse(value) if isinstance(value, str) and hasattr(kind, "parse") else value


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
        args, kwargs = bound.args, bound.kwargs
        bound.apply_defaults()
        kind: Any
        for name, kind in _hints(function).items():
            if _holds_settings(kind) and not isinstance(value := bound.arguments[name], kind):
                raise SettingError(
                    f"{name}: wanted a {kind.__name__}; found {value!r}; give one of "
                    "positionbias.settings"
                )
        values = [(one, _given(one, bound.arguments)) for one in parameters_of(function)]
        for one, value in values:
            one.check(value)
        written = {one.flag: value for one, value in values if one.of.place == "written"}
        for value in written.values():
            if value is not None:
                output_place(value)
        refuse_inputs(written, (value for one, value in values if one.of.place == "read"))
        with models_extra(), _done_once(function, values):
            return function(*args, **kwargs)

    checked.__doc__ = _described(function)
    return checked


@contextmanager
def _done_once(
    function: Callable[..., Any], values: Sequence[tuple[Parameter, Any]]
) -> Iterator[None]:
    """Let the same command, given again, end as done before. Where it writes in several places,
    nothing is told.
    """
    written = [value for one, value in values if one.of.place == "written" and value is not None]
    if (
        len(written) != 1
        or not isinstance(written[0], str | Path)
        or not any(one.name == "out" for one, _ in values)
    ):
        yield
        return
    left_out = ("overwrite", "workers", "engine")
    asked = [
        (f"{one.owner}.{one.name}", value, one.of.place == "read")
        for one, value in values
        if one.name not in left_out
    ]
    with published_by(job_of(function.__name__, asked), output_place(written[0])):
        yield


def _given(parameter: Parameter, arguments: Mapping[str, object]) -> Any:
    """Return what was given for a parameter: an argument of its own, or a field of settings."""
    value: Any = arguments[parameter.owner or parameter.name]
    for name in parameter.path:
        value = getattr(value, name, None)
    return value


def _described(function: Callable[..., Any]) -> str:
    """Return the docstring with a section on arguments inserted before those on results and
    errors.
    """
    text = inspect.getdoc(function) or ""
    lines = []
    for name in inspect.signature(function).parameters:
        of = [one for one in parameters_of(function) if (one.owner or one.name) == name]
        told = (
            of[0].of.help
            if not of[0].owner
            else "; ".join(f"``{one.name}``: {one.of.help}" for one in of)
        )
        lines += textwrap.wrap(
            f"{name}: {told}", 128, initial_indent="    ", subsequent_indent="        "
        )
    head, section, tail = text.partition("\n\nReturns:")
    return f"{head}\n\nArgs:\n{chr(10).join(lines)}{section}{tail}"
