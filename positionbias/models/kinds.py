"""The kinds of models: class, shape and starting weights of each. The kinds are recorded in
``shapes``.

A kind's module, which imports torch, is imported on demand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.errors import SettingError, or_closest
from positionbias.core.settings import Setting
from positionbias.models.shapes import KINDS, Beginning, Kind

if TYPE_CHECKING:
    from positionbias.models.protocols import Ranker

ReadAs = Annotated[
    str | None,
    Setting(
        "What the model is, where its files do not say: bi-encoder for a plain encoder, mono_t5 "
        "for a T5. Of your own function, where its arguments do not tell: bi-encoder (texts → "
        "array) or cross-encoder ((query, passages) → scores).",
        choices=("cross-encoder", "bi-encoder", "multi-vector", "sparse", *KINDS),
        absent="what its files say",
        shown=False,
    ),
]


def kind_named(name: str) -> Kind:
    """Return a kind's record.

    Raises:
        SettingError: there is no such kind.
    """
    if name not in KINDS:
        raise SettingError(
            f"model: wanted one of {', '.join(KINDS)}; found {name!r}; "
            f"{or_closest(name, KINDS, 'give one of these')}"
        )
    return KINDS[name]


def learning_rates() -> dict[float, list[str]]:
    """Return the kinds by learning rate."""
    rates: dict[float, list[str]] = {}
    for name, kind in KINDS.items():
        rates.setdefault(kind.learning_rate, []).append(name)
    return rates


def model_class(kind: str) -> type[Ranker]:
    """Return the class of a kind.

    Raises:
        SettingError: there is no such kind.
    """
    found = kind_named(kind)
    made: type[Ranker] = getattr(import_module(f"positionbias.models.{found.module}"), found.model)
    return made


def config_class(kind: str) -> Any:
    """Return the dataclass of a kind's shape.

    Raises:
        SettingError: there is no such kind.
    """
    return kind_named(kind).shape


def model_over(kind: str, shape: Any, name: str) -> Ranker:
    """Make a new model of a kind over pretrained weights of an encoder or T5 (a folder, a hub id,
    ``minilm``).

    Raises:
        InputError: the weights cannot be used.
        SettingError: the shape needs more than they have.
    """
    return model_class(kind).over(shape, name)  # type: ignore[attr-defined,no-any-return]


def begins_with(kind: str) -> Beginning:
    """Return what a new model of a kind is made from; an encoder for unknown kinds."""
    return KINDS[kind].beginning if kind in KINDS else "encoder"


def has_term_vectors(kind: str) -> bool:
    """Return True if models of a kind are a ``TermEncoder``."""
    return kind in KINDS and hasattr(model_class(kind), "term_vectors")


def scores_log_probabilities(kind: str, shape: Any = None) -> bool:
    """Return True if a model scores by the log-probability of "relevant"; ``shape`` None is the
    kind's default.
    """
    return bool(
        getattr(config_class(kind)() if shape is None else shape, "log_probabilities", False)
    )
