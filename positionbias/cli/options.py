"""Click's options made of the parameters of operations; settings by ``--set`` and ``--config``, and
the file that ``--print-config`` writes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from positionbias.core.errors import InputError, SettingError, or_closest
from positionbias.core.places import input_place
from positionbias.core.settings import REQUIRED, flag_of
from positionbias.ops.operation import Parameter

_PLACEHOLDERS: Mapping[Any, str] = {int: "N", float: "NUMBER"}


def option_of(parameter: Parameter, *, switch: bool = True) -> click.Parameter:
    """Return the click option or argument of a parameter; a ``switch`` takes no value."""
    setting, default, kind = parameter.setting, parameter.default, parameter.type
    required = default is REQUIRED
    if parameter.argument:
        return click.Argument(
            [parameter.name],
            type=setting.click_type(kind),
            required=required,
            nargs=-1 if parameter.many else 1,
            metavar=setting.metavar or None,
        )
    flags = [*(setting.flags or [flag_of(parameter.name)]), parameter.name]
    shown: dict[str, Any] = {"help": setting.help, "default": None if required else default}
    if kind is bool and switch:
        if default and setting.flags:  # which turn it off
            return click.Option(flags, is_flag=True, flag_value=False, **shown)
        if default:
            flags[0] += flag_of(f"/--no_{parameter.name}")[2:]
        return click.Option(flags, is_flag=True, show_default=default, **shown)
    return click.Option(
        flags,
        type=setting.click_type(kind),
        multiple=parameter.many,
        metavar=setting.metavar or _PLACEHOLDERS.get(kind),
        show_default=setting.absent or (default not in ((), "")),
        **shown,
    )


def assigned(texts: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``--set`` by name, those of a repeated one as a list.

    Raises:
        SettingError: no ``NAME=VALUE``.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"--set: wanted NAME=VALUE; found {text!r}")
        values.setdefault(name.strip().replace("-", "_"), []).append(value)
    return values


def configured(file: str) -> dict[str, Any]:
    """Return the values of a TOML file by name, those of a table as ``TABLE.NAME``.

    Raises:
        InputError: no such file, or no TOML.
    """
    place = input_place(file, flag="--config")
    try:
        content = tomllib.loads(place.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: wanted TOML; found {error}; fix it") from error
    return {
        name: value
        for key, item in content.items()
        for name, value in (
            {f"{key}.{below}": inner for below, inner in item.items()}
            if isinstance(item, dict)
            else {key: item}
        ).items()
    }


def unknown(name: str, known: Mapping[str, Parameter]) -> SettingError:
    """Return the refusal of a setting that a command has not."""
    return SettingError(
        f"--set, --config: wanted a setting of this command; found {name!r}; "
        f"{or_closest(name, known, 'see --help-all')}"
    )


def toml_lines(parameter: Parameter, value: Any) -> Iterator[str]:
    """Yield a setting below its help; what has no value is a comment."""
    absent = (
        f" [default: {parameter.setting.absent}]"
        if parameter.setting.absent and value is None
        else ""
    )
    yield f"# {parameter.setting.help}{absent}"
    yield f"# {parameter.key} =" if value is None else toml_line(parameter.key, value)


def toml_line(key: str, value: Any) -> str:
    """Return a setting as TOML, of which JSON's values are a part but for the delete character."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return f"{key} = {text}".replace("\x7f", "\\u007f")
