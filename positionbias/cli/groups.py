"""Groups of commands whose members are all made of operations, as ``ops``, the kinds of models and
the papers register them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from positionbias import ops
from positionbias.cli.lazy import Commands, LazyGroup
from positionbias.papers import PAPERS

__all__ = [
    "FAMILIES",
    "GROUPS",
    "contamination",
    "import_",
    "leakage",
    "operations",
    "pool",
    "sources",
    "studies",
    "study",
    "trainset",
    "vectors",
]

# name -> one line of help in the list of commands
GROUPS = {
    "import": "Bring a data set in as a collection.",
    "vectors": "Make word vectors to start TK from.",
    "trainset": "Draw training sets made to order.",
    "leakage": "Find and remove training queries that leak test queries.",
    "pool": "Say which systems a pool of judgements can judge.",
    "contamination": "Say whether a model has seen the test set.",
}
# operations with a command for each study
FAMILIES = frozenset({"study"})


def operations(group: str) -> Commands:
    """Return the commands of a group that are registered below it."""
    rows = ((words.partition(" "), row) for words, row in ops.COMMANDS.items())
    return {
        name: (f"{ops.__name__}.{row[0]}", *row[1:])
        for (first, _, name), row in rows
        if first == group and name
    }


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


@click.group(cls=LazyGroup, commands_at=partial(operations, "contamination"))
def contamination() -> None:
    """Has a model, or its teacher, seen the test set that it is measured on?"""


@click.group("import", cls=LazyGroup, commands_at=sources)
def import_() -> None:
    """Bring a data set in as a collection."""


@click.group(cls=LazyGroup, commands_at=partial(operations, "leakage"))
def leakage() -> None:
    """Find training queries that near-duplicate test queries, check them by hand, remove them."""


@click.group(cls=LazyGroup, commands_at=partial(operations, "pool"))
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what
    they do to scores.
    """


@click.group(cls=LazyGroup, commands_at=studies, family=True)
def study() -> None:
    """A paper's study, end to end, on your collection.

    Finished steps are skipped; an interrupted study goes on where it was. --dry-run shows the steps
    and their time.
    """


@click.group(cls=LazyGroup, commands_at=partial(operations, "trainset"))
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""


@click.group(cls=LazyGroup, commands_at=partial(operations, "vectors"))
def vectors() -> None:
    """Word vectors to start TK from, without a download."""
