"""``positionbias.settings`` offers the settings of every public function, study and kind of model,
and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import positionbias
from positionbias import settings
from positionbias.models.kinds import config_class
from positionbias.models.settings import EncoderSettings
from positionbias.models.shapes import KINDS
from positionbias.ops.operation import parameters_of
from positionbias.papers import PAPERS, command_of
from positionbias.training.plan import TrainPlan


def dataclasses_in(hint: Any) -> Iterator[type]:
    """Yield the dataclasses of the package that a type names, also within unions and sequences."""
    if (
        isinstance(hint, type)
        and is_dataclass(hint)
        and hint.__module__.startswith("positionbias.")
    ):
        yield hint
    for part in get_args(hint):
        yield from dataclasses_in(part)


def reached(kind: type, found: dict[str, type]) -> None:
    """Collect a settings class and those in its fields."""
    if kind.__name__ not in found:
        found[kind.__name__] = kind
        for hint in (get_type_hints(kind)[one.name] for one in fields(kind)):
            for inner in dataclasses_in(hint):
                reached(inner, found)


def test_it_has_the_settings_of_all_public_functions_studies_and_models() -> None:
    found: dict[str, type] = {}
    operations = [getattr(positionbias, name) for name in positionbias.__all__]
    for operation in operations:
        if inspect.isfunction(operation) and hasattr(operation, "__wrapped__"):
            parameters_of(operation)  # refuses a parameter that is declared by neither
            function = inspect.unwrap(operation)
            taken = {
                name: hint for name, hint in function.__annotations__.items() if name != "return"
            }
            for hint in get_type_hints(
                SimpleNamespace(__annotations__=taken), function.__globals__
            ).values():
                for kind in dataclasses_in(hint):
                    reached(kind, found)
    for kind in [
        TrainPlan,
        *(command_of(name).settings for name in PAPERS),
        *(config_class(name) for name in KINDS),
    ]:
        reached(kind, found)
    reached(EncoderSettings, found)  # of make_encoder, which is no command
    assert settings.__all__ == sorted(found)
    assert all(getattr(settings, name) is kind for name, kind in found.items())
