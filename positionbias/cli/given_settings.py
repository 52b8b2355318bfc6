"""Settings that are no options of their own: ``--set NAME=VALUE``, ``--config FILE`` and what
``--print-config`` writes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin

import msgspec

from positionbias.core.errors import InputError, SettingError, or_closest
from positionbias.core.operation import Parameter
from positionbias.core.places import input_place


def from_texts(
    parameters: Mapping[str, Parameter], texts: Sequence[str], *, inner: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of ``--set`` by parameter; ``parameters`` are by the names used there. With
    ``inner``, also return the texts of other names, which are settings of a study's models.

    Raises:
        SettingError: another form, an unknown name, or a value of another type.
    """
    values: dict[str, Any] = {}
    others = []
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if name in parameters and equals:
            parameter = parameters[name]
            typed = _typed(parameter, value)
            name = parameter.name
            values[name] = (*values.get(name, ()), typed) if parameter.many else typed
        elif inner:
            others.append(text)
        else:
            raise SettingError(
                f"--set: wanted NAME=VALUE; found {text!r}; "
                f"{or_closest(name, parameters, 'see --help-all')}"
            )
    return values, others


def from_config(
    parameters: Mapping[str, Parameter], file: str, *, inner: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a TOML file by parameter; with ``inner``, also settings of models as
    texts of ``--set``.

    Raises:
        InputError: no such file, or no TOML.
        SettingError: an unknown name, or a value of another type.
    """
    place = input_place(file, flag="--config")
    try:
        content = tomllib.loads(place.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: wanted TOML; found {error}; fix it") from error
    values: dict[str, Any] = {}
    others = []
    for name, value in content.items():
        if isinstance(value, dict) and inner:
            others += [f"{name}.{key}={_plain(item)}" for key, item in value.items()]
        elif name not in parameters:
            if not inner:
                raise SettingError(
                    f"{place}: wanted settings of this command; found {name!r}; "
                    f"{or_closest(name, parameters, 'see --help-all')}"
                )
            others.append(f"{name}={_plain(value)}")
        else:
            parameter = parameters[name]
            if isinstance(value, list) != parameter.many:
                wanted = "a list" if parameter.many else "one value"
                raise SettingError(
                    f"{place}: {name}: wanted {wanted}; found {value!r}; write it so"
                )
            typed = [_typed(parameter, item) for item in (value if parameter.many else [value])]
            values[parameter.name] = tuple(typed) if parameter.many else typed[0]
    return values, others


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(parameter: Parameter, value: Any) -> Any:
    """Return a value in its parameter's type.

    Raises:
        SettingError: it is of another.
    """
    kind = parameter.type
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(map(_plain, value))
    if not isinstance(value, str | int | float):
        raise SettingError(f"{parameter.key}: wanted one value; found {value!r}; write it so")
    if kind not in (int, float, bool):
        return _plain(value)
    if value == "none" and parameter.optional:
        return None
    try:
        typed = msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        words = {int: "a whole number", float: "a number", bool: "true or false"}
        raise SettingError(
            f"{parameter.key}: wanted {words[kind]}; found {value!r}; give another"
        ) from error
    return not typed if parameter.turns_off else typed


def as_toml(
    parameters: Sequence[Parameter], values: Mapping[str, Any], others: Sequence[str] = ()
) -> str:
    """Return settings as TOML, each below its help; what has no value is a comment. ``others`` are
    texts of ``--set`` for a study's models.
    """
    lines = [line for one in parameters for line in _toml_lines(one, values[one.name])]
    for text in others:
        name, _, value = text.partition("=")
        lines.append(f"{name.strip().replace('-', '_')} = {_toml(value.strip())}")
    return "\n".join(lines)


def _toml_lines(parameter: Parameter, value: Any) -> Iterator[str]:
    absent = f" [default: {parameter.of.absent}]" if parameter.of.absent and value is None else ""
    yield f"# {parameter.of.help}{absent}"
    if value is None:
        yield f"# {parameter.key} ="
    else:
        yield f"{parameter.key} = {_toml(not value if parameter.turns_off else value)}"


def _toml(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, Path) or not isinstance(value, list | tuple | range):
        # a delete character may not stand in TOML, unlike in JSON
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(_toml, value))}]"
