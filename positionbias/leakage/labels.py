"""Label pairs of queries: whether both are on one topic, and how the training query reformulates
the test query.

The 5 labels are those of the leakage paper's Table 2b (reformulation types of Jansen, Booth, Spink
2009, and pairs of different topics). A pair leaks unless its label is "different topic". The
published annotations give several labels per pair, one for the topic's title and one for its
nearest variant: any "different topic" decides, else the title's type, else the variant's
[decision]. Counted this way, the published files give the paper's numbers for Robust04 (648 true,
93 false).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = [
    "DIFFERENT",
    "LABELS",
    "TYPES",
    "UNTYPED",
    "Label",
    "label_names",
    "parse_label",
    "parse_labels",
]

DIFFERENT = "different topic"
UNTYPED = "leak"  # a leak of unknown type
TYPES = ("identical", "generalization", "specialization", "reformulation")
LABELS = (*TYPES, UNTYPED, DIFFERENT)  # in the order of Table 2b
_FIELDS = ("", "title", "variant", "description")  # the field whose label counts, in this order
_ALSO = {
    "generalisation": "generalization",
    "specialisation": "specialization",
    "different": DIFFERENT,
    "no leak": DIFFERENT,
    "no": DIFFERENT,
    "false": DIFFERENT,
    "0": DIFFERENT,
    "yes": UNTYPED,
    "true": UNTYPED,
    "1": UNTYPED,
}


class Label(NamedTuple):
    """The label of a pair, one of ``LABELS``."""

    name: str

    @property
    def leaks(self) -> bool:
        """Return True if the pair is a leak."""
        return self.name != DIFFERENT


def label_names() -> str:
    """Return the known labels, for messages."""
    return f"{', '.join(LABELS)}, or yes and no"


def parse_label(text: str) -> Label | None:
    """Parse a sheet's label, in any case; None for an empty cell.

    >>> parse_label("Generalisation")
    Label(name='generalization')

    Raises:
        ValueError: an unknown label.
    """
    name = " ".join(text.casefold().replace("_", " ").split())
    name = _ALSO.get(name, name)
    if name and name not in LABELS:
        raise ValueError(f"the label {text!r}, none of {label_names()}")
    return Label(name) if name else None


def parse_labels(texts: Sequence[Any]) -> Label | None:
    """Combine several labels, each optionally after its field and a hyphen; None without any.

    >>> parse_labels(["Variant-Identical", "Title-Reformulation"])
    Label(name='reformulation')
    >>> parse_labels(["Variant-Identical", "Different Topic"])
    Label(name='different topic')

    Raises:
        ValueError: an unknown label.
    """
    found: dict[str, Label] = {}
    for text in map(str, texts):
        field, _, name = text.rpartition("-")
        if label := parse_label(name):
            found.setdefault(field.strip().casefold() if label.leaks else DIFFERENT, label)
    return next((found[place] for place in (DIFFERENT, *_FIELDS) if place in found), None)
