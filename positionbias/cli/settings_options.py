"""Command-line options made of what the fields of a settings dataclass say of themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

import click

from positionbias.core.settings import Setting, flag_of, settings_of

__all__ = ["Decorator", "all_of", "settings_options"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def all_of(*options: Decorator) -> Decorator:
    """Several options as one, in this order in the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def settings_options(kind: type, *names: str, **defaults: Any) -> Decorator:
    """Return options for the named fields (all that declare a setting where none is named), in this order in the help.

    ``defaults`` are this command's own, where they differ from the field's.
    """
    declared, types = settings_of(kind), get_type_hints(kind)
    given = {field.name: field.default for field in fields(kind)} | defaults
    return all_of(
        *(_option(name, types[name], given[name], declared[name]) for name in names or declared if not declared[name].hidden)
    )


def _option(name: str, hint: Any, default: Any, of: Setting) -> Decorator:
    told = f"{of.help} [default: {of.absent}]" if default is None and of.absent else of.help
    shown: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    flag = of.flag or flag_of(name)
    if hint is bool and not default and not of.off:
        return click.option(flag, name, is_flag=True, help=told)
    if hint is bool:
        return click.option(f"{flag}/--{of.off or flag_of(f'no_{name}')[2:]}", name, **shown, help=told)
    (type_,) = (part for part in get_args(hint) or (hint,) if part is not NoneType) if not of.choices else (None,)
    type_ = click.Choice(list(of.choices)) if of.choices else type_
    return click.option(flag, name, type=type_, metavar=of.metavar, **shown, help=told)
