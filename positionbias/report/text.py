"""Results as text for a terminal, by one function for each kind of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from positionbias.core.screen import wrapped
from positionbias.results.result import Result

__all__ = ["TEXTS", "conclusions_of", "text_of"]

# first payload, or requested form (a command's last word) -> the module, and its function there
# that writes all of them
TEXTS: dict[str, tuple[str, str]] = {}


# first payload -> the module, and its function there that says in sentences what they conclude
VERDICTS: dict[str, tuple[str, str]] = {}


def text_of(results: Sequence[Result], form: str = "") -> str:
    """Return the results in words and tables, in the named form where there is one, else that of
    the first payload.
    """
    module, name = TEXTS[form if form in TEXTS else type(results[0].payload).__name__]
    text: str = getattr(import_module(f"positionbias.{module}"), name)(results)
    return text if name.endswith("_csv") else wrapped(text)


def conclusions_of(results: Sequence[Result]) -> list[str]:
    """Return what results conclude, a line for each sentence; none where they only measure."""
    at = VERDICTS.get(type(results[0].payload).__name__) if results else None
    return list(getattr(import_module(f"positionbias.{at[0]}"), at[1])(results)) if at else []
