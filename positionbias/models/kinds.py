"""The kinds of model there are, by name; a kind's module is imported when one is asked for."""

from __future__ import annotations

from importlib import import_module

from positionbias.core.errors import SettingError
from positionbias.models.protocols import Ranker

__all__ = ["KINDS", "model_class"]

KINDS = {
    "tk": "positionbias.models.tk:TK",
    "bert_cat": "positionbias.models.bert_cat:BertCat",
    "bert_dot": "positionbias.models.bert_dot:BertDot",
}


def model_class(kind: str) -> type[Ranker]:
    """The class of a kind.

    Raises:
        SettingError: there is no such kind.
    """
    if kind not in KINDS:
        raise SettingError(f"model: wanted one of {', '.join(KINDS)}; found {kind!r}; give one of these")
    module, name = KINDS[kind].split(":")
    return getattr(import_module(module), name)
