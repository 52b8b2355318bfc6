"""Settings of training sets of clicks. Reading and checking them needs no numpy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from positionbias.core.errors import SettingError
from positionbias.core.settings import check_settings, seed_setting, setting

__all__ = ["ClickSettings", "parse_count"]

_COUNT = re.compile(r"([0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18}|[0-9]{1,6}(?:_[0-9]{1,6}){1,5})(\.[0-9]{1,18})?([kKmM]?)")


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
            f"--triples: wanted a whole number of triples such as 10000000, 10,000,000, 10M or 500k; found {text!r}; give one"
        )
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickSettings:
    """Settings of the draw: the split and its judgement set, the lowest grade of a positive, the numbers of negatives, candidates and triples.

    ``triples`` None keeps all; ``depth`` None draws from all candidates. ``form`` "ids" or "text" writes lines beside the training set.

    Raises:
        SettingError: one out of its range.
    """

    split: str = setting("train", "Whose queries and clicks.", metavar="SPLIT")
    qrels_name: str | None = setting(None, "Which of the split's further judgement sets has the positives.", metavar="NAME")
    relevant_from: int = setting(1, "Lowest grade of a positive.", least=1, metavar="GRADE")
    negatives: int = setting(20, "Negatives a positive, where there are as many.", least=1)
    depth: int | None = setting(None, "Candidates a query from which negatives are drawn.", least=1, absent="all")
    triples: int | None = setting(None, "How many of the shuffled triples to keep.", least=1, hidden=True)
    form: str | None = setting(
        None,
        "Also write OUT/triples.train.tsv: query, positive, negative, as ids or as texts.",
        flags=("--as",),
        choices=("ids", "text"),
    )
    seed: int = seed_setting()

    def __post_init__(self) -> None:
        check_settings(self)
