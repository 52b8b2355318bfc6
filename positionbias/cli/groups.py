"""Groups of commands, which are imported when they are called, so that no command pays for
another's libraries; their members are made of operations, as ``ops``, the kinds of models and the
papers register them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeAlias

import click

from positionbias import ops
from positionbias.cli.generate import OperationCommand, WideContext, add_quiet
from positionbias.ops.operation import Command, command_for
from positionbias.papers import PAPERS

# name -> (module, attribute, one line of help): there stands a command, or an operation of which
# one is made
Commands: TypeAlias = Mapping[str, tuple[str, str, str]]


class LazyGroup(click.Group):
    """A group whose ``commands_at`` is asked for its commands once they are needed.

    Of a ``family``, the function that stands there returns the member of a name: what its command
    is made of. ``headings`` part the list of commands in the help.
    """

    context_class = WideContext

    def __init__(
        self,
        *args: Any,
        commands_at: Callable[[], Commands],
        family: bool = False,
        headings: Mapping[str, Sequence[str]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._find, self.family, self._headings = commands_at, family, headings
        add_quiet(self)

    @property
    def headings(self) -> Mapping[str, Sequence[str]]:
        """The commands under each heading of the help."""
        return self._headings or {"Commands": list(self.commands_at)}

    @cached_property
    def commands_at(self) -> Commands:
        """The place of each command, and its help."""
        return self._find()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_at:
            return None
        module, attribute, _ = self.commands_at[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            if not isinstance(command, Command):
                command = command(cmd_name) if self.family else command_for(command)
            command = OperationCommand(cmd_name, command)
        add_quiet(command)
        return command  # type: ignore[no-any-return]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; click knows no others that may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            raise click.exceptions.NoSuchCommand(
                args[0], possibilities=self.commands_at, ctx=ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, then the options."""
        for heading, names in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands_at[name][2]) for name in names])
        click.Command.format_options(self, ctx, formatter)


# the words of a group -> (its name here, one line of help in the list of commands)
GROUPS = {
    "import": ("import_", ops.COMMANDS["import"][2]),
    "study": ("study", ops.COMMANDS["study"][2]),
    "collection": ("collection", "Look at, combine, cut, export and verify collections."),
    "model": ("model", "Make vectors, training sets, remedied and fused models."),
    "model trainset": ("trainset", "Draw training sets made to order."),
    "leakage": ("leakage", "Find and remove training queries that leak test queries."),
    "pool": ("pool", "Say which systems a pool of judgements can judge."),
    "contamination": ("contamination", "Say whether a model has seen the test set."),
}


def commands_below(words: str = "") -> Commands:
    """Return the commands and groups directly below a group; without words, those of ``posbias``.

    What depends on the kind of model (``train``) is a command of its own making.
    """
    rows: dict[str, tuple[str, str, str]] = {}
    start = f"{words} " if words else ""
    for command, (module, function, text) in ops.COMMANDS.items():
        if not command.startswith(start):
            continue
        name = command.removeprefix(start).partition(" ")[0]
        if (group := start + name) in GROUPS:
            rows[name] = (__name__, *GROUPS[group])
        elif command == "train":
            rows[name] = ("positionbias.ops.train_command", "TRAIN", text)
        else:
            rows[name] = (f"{ops.__name__}.{module}", function, text)
    return rows


def sources() -> Commands:
    """Return a command for each operation of ``ops.imports``, with the first sentence of its
    docstring.
    """
    from positionbias.ops import imports

    names = {
        function.removeprefix("import_").replace("_", "-"): function for function in imports.__all__
    }
    return {
        name: (imports.__name__, function, summary(getattr(imports, function)))
        for name, function in names.items()
    }


def studies() -> Commands:
    """Return a command for each study of a paper."""
    return {
        name: ("positionbias.ops.study_command", "study_command", text)
        for name, text in PAPERS.items()
    }


def summary(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a function's docstring as one line."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


@click.group("import", cls=LazyGroup, commands_at=sources)
def import_() -> None:
    """Bring a data set in as a collection."""


@click.group(cls=LazyGroup, commands_at=studies, family=True)
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was. --dry-run shows the steps
    and their time.
    """


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "collection"))
def collection() -> None:
    """Look at collections, combine them, cut them, and write them in published forms."""


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "model"))
def model() -> None:
    """Prepare trainings; remedy, fuse and push what they made."""


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "model trainset"))
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "leakage"))
def leakage() -> None:
    """Find training queries that near-duplicate test queries, check them by hand, remove them."""


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "pool"))
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what
    they do to scores.
    """


@click.group(cls=LazyGroup, commands_at=partial(commands_below, "contamination"))
def contamination() -> None:
    """Has a model, or its teacher, seen the test set that it is measured on?"""
