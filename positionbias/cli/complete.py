"""What a shell may complete a value to: names of artefacts, splits of the collection on the line,
measures, models, else paths.

It is asked at each press of a key, so it reads manifests only and imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from positionbias.core.found import names_of, splits_of
from positionbias.core.operation import Parameter
from positionbias.models.shapes import KINDS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Completer: TypeAlias = Callable[
    [click.Context, click.Parameter, str], "Sequence[CompletionItem[Any]]"
]
# those that are asked for most; others are typed
MEASURES = (
    "nDCG@10",
    "nDCG@20",
    "nDCG",
    "RR@10",
    "RR",
    "R@10",
    "R@100",
    "R@1000",
    "AP",
    "P@1",
    "P@10",
    "Judged@10",
    "Success@10",
)
_COLLECTIONS = ("collection", "collections", "source", "target")  # names of arguments
_MINILM = "minilm"  # of models.encoder_source, whose module is heavy
# what stands for a value -> the kinds of artefacts that it may be
_ARTEFACTS = {
    "COLLECTION": ("collection",),
    "RUN": ("run",),
    "VECTORS": ("vectors",),
    "CHECKPOINT": ("checkpoint",),
}
_BY_NAME = {"trainset": ("trainset",), "folders": ("results", "study"), "results": ("results",)}


def completer_of(parameter: Parameter) -> Completer | None:
    """Return what completes a parameter's value; None: its choices, or nothing."""
    of, name = parameter.of, parameter.name
    named = of.metavar.strip("[]….") or (parameter.flag if parameter.argument else "")
    if of.choices:
        return partial(_names, lambda _: of.choices) if parameter.argument else None
    if of.place == "written":
        return _paths
    if parameter.argument and name in _COLLECTIONS:
        return partial(_names, lambda _: names_of("collection"))
    if named == "MEASURE" or parameter.flag == "--measure":
        return partial(_names, lambda _: MEASURES)
    if named == "SPLIT":
        return partial(_names, _splits)
    if parameter.flag == "--models":
        return partial(_names, lambda _: KINDS)
    if name in ("model", "models", "controls", "checkpoint"):
        return partial(_names, lambda _: [_MINILM, *names_of("checkpoint")])
    if name in ("encoder", "teacher_encoder"):
        return partial(_names, lambda _: [_MINILM, *names_of("encoder", "checkpoint")])
    if kinds := _BY_NAME.get(name) or _ARTEFACTS.get(named):
        return partial(_names, lambda _: names_of(*kinds))
    return _paths if of.place or named in ("FILE", "DIR") else None


def _names(
    known: Callable[[click.Context], Iterable[str]],
    context: click.Context,
    _: click.Parameter,
    begun: str,
) -> Any:
    """Return the known names that begin so in any case and that a line can hold; where none does,
    the shell looks for paths.
    """
    fitting = (
        name
        for name in known(context)
        if name.isprintable() and name.casefold().startswith(begun.casefold())
    )
    found = [CompletionItem(name) for name in fitting]
    return found or _paths(context, _, begun)


def _paths(_context: click.Context, _: click.Parameter, begun: str) -> Any:
    return [CompletionItem(begun, type="file")]


def _splits(context: click.Context) -> list[str]:
    """Return the splits of the collections that the line has so far."""
    given = [context.params.get(name) for name in _COLLECTIONS]
    # where an option has no value yet, click leaves arguments there
    given.append(tuple(context.args))
    places = [
        place
        for one in given
        for place in (one if isinstance(one, tuple) else (one,))
        if isinstance(place, str)
    ]
    return list(dict.fromkeys(split for place in places for split in splits_of(place)))
