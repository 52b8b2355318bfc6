"""Command-line options made of the parameters of operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from positionbias.cli.complete import completer_of
from positionbias.core.operation import REQUIRED, Parameter
from positionbias.core.settings import flag_of

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_LONGEST_CHOICES = 18  # characters, between bars
_SHORT: Mapping[Any, str] = {int: "N", float: "NUMBER"}


class _Ranged(click.IntRange):
    """An integer whose range the help shows; the setting itself refuses what is outside, in its own
    words.
    """

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return click.INT.convert(value, param, ctx)


class OneOf(click.Choice[str]):
    """Names that the help and a shell show; another is refused by its parameter."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


def option_of(parameter: Parameter) -> Decorator:
    """Return the click option or argument of a parameter."""
    of, default, kind = parameter.of, parameter.default, parameter.type
    required = default is REQUIRED
    if parameter.argument:
        many: dict[str, Any] = {"nargs": -1} if parameter.many else {}
        complete = completer_of(parameter)
        return click.argument(
            parameter.name,
            required=required,
            metavar=of.metavar or None,
            shell_complete=complete,
            **many,
        )
    option = partial(click.option, help=_told(parameter))
    flags = (*(of.flags or (flag_of(parameter.name),)), parameter.name)
    if kind is bool and default is True and of.flags:
        return option(*flags, is_flag=True, flag_value=False, default=True)
    if kind is bool and not default and not of.off:
        return option(*flags, is_flag=True)
    shown: dict[str, Any] = (
        {}
        if default is None or required
        else {"default": default, "show_default": default not in ((), "")}
    )
    if kind is bool:
        return option(f"{flags[0]}/--{of.off or flag_of(f'no_{parameter.name}')[2:]}", **shown)
    if parameter.many and default is None:
        shown = {"callback": lambda _context, _option, several: several or None}
    return option(
        *flags,
        type=_click_type(kind, of),
        multiple=parameter.many,
        metavar=_metavar(parameter),
        shell_complete=completer_of(parameter) if not _choices(parameter) else None,
        **shown,
    )


def _told(parameter: Parameter) -> str:
    """Return the help of an option: the choices too where its placeholder has no room for them, and
    what None means.
    """
    of, told = parameter.of, parameter.of.help
    if _named(parameter) and not all(
        re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", told) for one in _choices(parameter)
    ):
        told = f"{told} One of: {', '.join(_choices(parameter))}."
    return f"{told} [default: {of.absent}]" if of.absent and parameter.default is None else told


def _choices(parameter: Parameter) -> Sequence[str]:
    return tuple(
        map(
            str,
            parameter.of.choices
            or (get_args(parameter.type) if get_origin(parameter.type) is Literal else ()),
        )
    )


def _named(parameter: Parameter) -> bool:
    """Return whether a name stands for the choices, which are too long for the column of flags."""
    return not parameter.of.metavar and len("|".join(_choices(parameter))) > _LONGEST_CHOICES


def _metavar(parameter: Parameter) -> str | None:
    if parameter.of.metavar:
        return parameter.of.metavar
    if _named(parameter):
        return parameter.of.flag(parameter.name).rpartition("-")[2].upper()
    return _SHORT.get(parameter.type) if not _choices(parameter) else None


def _click_type(kind: Any, of: Any) -> Any:
    if of.choices or get_origin(kind) is Literal:
        return OneOf(of.choices or get_args(kind))
    if get_origin(kind) is tuple:
        return tuple(_click_type(one, of) for one in get_args(kind))
    # a named tuple that is no text of its own
    if hasattr(kind, "_fields") and not hasattr(kind, "parse"):
        return tuple(_click_type(one, of) for one in get_type_hints(kind).values())
    if kind is int and of.least is not None:
        return _Ranged(min=int(of.least), max=None if of.most is None else int(of.most))
    return kind if kind in (int, float) else str
