"""The texts before each query and passage: those that are given, else those that
sentence-transformers puts there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from torch import nn

from positionbias.core.errors import DependencyError, bad_input
from positionbias.core.progress import remark
from positionbias.models.libraries import sentence_transformers_library

_SHOWN = 4  # names of unused prompts


@dataclass(frozen=True, slots=True)
class Prompts:
    """The text before each query and before each passage; None: what the model's files say."""

    query: str | None = None
    passage: str | None = None

    @property
    def given(self) -> bool:
        """True if either is given."""
        return self.query is not None or self.passage is not None

    def or_else(self, query: Callable[[], str], passage: Callable[[], str]) -> Self:
        """Return both texts, each as given, else from a function."""
        return replace(
            self,
            query=query() if self.query is None else self.query,
            passage=passage() if self.passage is None else self.passage,
        )

    def note(self) -> str:
        """Return a sentence for a manifest."""
        if not (self.query or self.passage):
            return "no prompt stands before queries or passages"
        return (
            f"{self.query or ''!r} stands before each query, {self.passage or ''!r} before each "
            "passage"
        )


OWN = Prompts()  # a model's own


class _Heard(Exception):
    """The end of a call from which only its prompt is wanted."""


def heard_prompt(model: Any, call: Callable[..., Any], example: Any) -> str:
    """Return the prompt with which a call of a sentence-transformers model, as ``encode_query``,
    would read texts.

    The call is made with an example, up to the place where the library tokenizes it.
    """
    prompts: list[str] = []

    def preprocess(inputs: Any, prompt: str | None = None, **settings: Any) -> Any:
        prompts.append(prompt or "")
        raise _Heard

    model.preprocess = preprocess
    try:
        call([example], show_progress_bar=False)
    except _Heard:
        pass
    finally:
        del model.preprocess
    return prompts[0]


def prompts_of_files(place: Path, facts: Mapping[str, Any], prompts: Prompts) -> Prompts:
    """Return the prompts of a bi-encoder with the ``facts`` of the file ``place``, by the installed
    library's own calls.

    Raises:
        DependencyError: the files name prompts, not both are given, and sentence-transformers is
            not installed.
        InputError: the library refuses them.
    """
    named = facts.get("prompts") or {}
    if not any(named.values()) or None not in (prompts.query, prompts.passage):
        used = prompts.or_else(str, str)
        remark_prompts(place.parent.name, used)
        return used
    if find_spec("sentence_transformers") is None:
        raise DependencyError(
            f"{place} names prompts, and sentence-transformers, which chooses among them, is not "
            "installed: give --query-prompt and --passage-prompt, or run pip install "
            "'positionbias[sbert]'"
        )
    library = sentence_transformers_library()
    try:
        default = facts.get("default_prompt_name")
        model = library.SentenceTransformer(
            modules=[nn.Identity()], prompts=named, default_prompt_name=default, device="cpu"
        )
        used = prompts.or_else(
            lambda: heard_prompt(model, model.encode_query, "a"),
            lambda: heard_prompt(model, model.encode_document, "a"),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise bad_input(
            place,
            wanted="prompts by name",
            found=str(error),
            do="correct them, or fetch the model again",
        ) from error
    remark_prompts(place.parent.name, used, named)
    return used


def remark_prompts(
    name: str, used: Prompts, named: Mapping[str, str | None] = MappingProxyType({})
) -> None:
    """Remark which prompts a model is read with, and which of those that its files name go
    unused.
    """
    unused = [
        prompt for prompt, text in named.items() if text and text not in (used.query, used.passage)
    ]
    if not (used.query or used.passage or unused):
        return
    line = f"{name}: {used.note()}"
    if unused:
        more = f" and {len(unused) - _SHOWN} others" if len(unused) > _SHOWN else ""
        line += (
            "; of the prompts that its files name, sentence-transformers "
            f"{version('sentence-transformers')} leaves out "
            f"{', '.join(map(repr, unused[:_SHOWN]))}{more}: give --query-prompt or "
            "--passage-prompt to change that"
        )
    remark(line)
