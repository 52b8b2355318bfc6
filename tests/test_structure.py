"""What is declared once stays so: options have their settings' defaults, and a new loss, measure or
model is one registration away.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import click
import pytest
import torch

from positionbias.cli.groups import LazyGroup
from positionbias.cli.main import posbias
from positionbias.core.settings import REQUIRED, setting
from positionbias.models import kinds, shapes
from positionbias.ops.operation import Command, command_for
from positionbias.training import config, losses

# what newer versions of click have until a command is called
UNSET = getattr(click.core, "UNSET", None)

# written by hand, not made of an operation
BY_HAND = {"completion"}


def entries(group: LazyGroup) -> Iterator[tuple[str, click.Command | Command]]:
    for name, (module, attribute, _) in group.commands_at.items():
        found = getattr(importlib.import_module(module), attribute)
        if isinstance(found, LazyGroup):
            yield from ((f"{name} {below}", one) for below, one in entries(found))
        elif isinstance(found, click.Command):
            yield name, found
        else:
            made = found(name) if group.family else found
            yield name, made if isinstance(made, Command) else command_for(made)


COMMANDS = dict(entries(posbias))  # type: ignore[arg-type]
GENERATED = {
    name: found for name, found in COMMANDS.items() if not isinstance(found, click.Command)
}


def test_those_written_by_hand_are_known() -> None:
    assert COMMANDS.keys() - GENERATED.keys() == BY_HAND
    assert len(GENERATED) >= 50


def read_as(kind: Any, value: object) -> object:
    return kind.parse(value) if isinstance(value, str) and hasattr(kind, "parse") else value


@pytest.mark.parametrize("name", GENERATED)
def test_every_option_has_the_default_of_its_setting(name: str) -> None:
    group: click.Command = posbias
    context = click.Context(group, info_name="posbias")
    for part in name.split():
        assert isinstance(group, click.Group)
        group = group.get_command(context, part)  # type: ignore[assignment]
        context = click.Context(group, parent=context, info_name=part)
    params = {param.name: param for param in group.params}
    declared = {one.name: one for one in GENERATED[name].parameters}
    added = {"as_json", "quiet", "assignments", "config", "print_config"}
    assert params.keys() - declared.keys() <= added
    settings = {one.name for one in declared.values() if not one.shown}
    assert declared.keys() - params.keys() <= settings
    optional = [declared[one] for one in declared.keys() & params.keys()]
    optional = [one for one in optional if one.default is not REQUIRED]
    for one in optional:
        param = params[one.name]
        found = param.process_value(context, param.get_default(context))
        found = None if found is UNSET else found
        read = (
            tuple(map(partial(read_as, one.type), found))
            if one.many and found is not None
            else read_as(one.type, found)
        )
        assert read == one.default or (read, one.default) == ((), None), f"{name} {one.flag}"


def test_a_loss_is_a_function_and_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config.LOSSES, "toy", config.LossKind())
    monkeypatch.setitem(losses.FUNCTIONS, "toy", lambda of, _: of.student[:, 1] - of.student[:, 0])
    settings = config.TrainConfig(loss="toy")
    assert losses.group_losses(losses.Scored(torch.tensor([[1.0, 3.0]])), settings).tolist() == [
        2.0
    ]


def test_a_model_is_a_module_and_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    @shapes.dataclass(frozen=True, slots=True)
    class ToyConfig(shapes._Shape):
        width: int = setting(4, "Of a toy.", least=1)

    class Toy:
        kind = "toy"

    module = ModuleType("positionbias.models.toy")
    module.Toy = Toy  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(
        shapes.KINDS,
        "toy",
        shapes.Kind("toy", "Toy", ToyConfig, "words", 1e-3, "A toy on COLLECTION."),
    )
    assert kinds.model_class("toy") is Toy
    assert kinds.config_class("toy")() == ToyConfig(width=4)
    assert kinds.begins_with("toy") == "words"
    assert not kinds.has_term_vectors("toy")
    assert "toy" in kinds.learning_rates()[1e-3]
