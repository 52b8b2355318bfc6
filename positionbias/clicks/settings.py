"""Settings of training sets from clicks; checking them needs no numpy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from positionbias.core.errors import SettingError
from positionbias.core.settings import Panel, check_settings, seed_setting, setting

__all__ = ["ClickSettings", "parse_count"]

_COUNT = re.compile(
    r"([0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18}|[0-9]{1,6}(?:_[0-9]{1,6}){1,5})(\.[0-9]{1,18})"
    r"?([kKmM]?)"
)


def parse_count(text: str) -> int:
    """Parse a number of triples: 10000000, 10,000,000, 10M or 500k.

    >>> parse_count("10M"), parse_count("4.1M"), parse_count("1,500"), parse_count("7")
    (10000000, 4100000, 1500, 7)

    Raises:
        SettingError: not such a number, or below 1.
    """
    value = Fraction(0)
    if found := _COUNT.fullmatch(text.strip()):
        digits = found[1].replace(",", "").replace("_", "") + (found[2] or "")
        value = Fraction(digits) * {"": 1, "k": 1_000, "m": 1_000_000}[found[3].lower()]
    if value < 1 or value.denominator != 1:
        raise SettingError(
            "--triples: wanted a whole number such as 10000000, 10,000,000, 10M or 500k; found "
            f"{text!r}; give such a number"
        )
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickSettings:
    """Settings of the draw: the split and its judgement set, the lowest grade of a positive, the
    numbers of negatives, candidates and triples.

    ``triples`` None keeps all; ``train_depth`` None draws from all candidates. ``form`` "ids" or
    "text" writes lines beside the training set.

    Raises:
        SettingError: a setting outside its range.
    """

    split: str = setting("train", "The split with the queries and clicks.", metavar="SPLIT")
    qrels_name: str | None = setting(
        None,
        "Another judgement set of the split, to take positives from.",
        metavar="NAME",
        panel=Panel.ADVANCED,
    )
    relevant_from: int = setting(
        1, "Lowest grade of a positive.", least=1, metavar="GRADE", panel=Panel.ADVANCED
    )
    negatives: int = setting(20, "Negatives per positive, if there are enough.", least=1)
    train_depth: int | None = setting(
        None,
        "Candidates per query to draw negatives from.",
        least=1,
        absent="all",
        panel=Panel.ADVANCED,
    )
    triples: int | None = setting(None, "Number of shuffled triples to keep.", least=1, hidden=True)
    form: str | None = setting(
        None,
        "Also write OUT/triples.train.tsv: query, positive, negative, as ids or as texts.",
        flags=("--as",),
        choices=("ids", "text"),
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
