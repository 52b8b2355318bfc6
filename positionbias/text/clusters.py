"""Split what is written without spaces into extended grapheme clusters: Han, Kana, Thai, Lao,
Khmer, Myanmar and Tibetan.

Between spaces such text has a clause, not a word, so a cluster (what a reader takes for one
character) is its unit [decision]. All other text is left alone: it costs one look at whether it has
such characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regex import Pattern

_CHARACTERS = (
    "\u0e01-\u0e3a\u0e40-\u0e5b"  # Thai, without the currency sign
    "\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f"  # Lao, Tibetan, Myanmar
    "\u1780-\u17da\u17dc-\u17ff\u19e0-\u19ff"  # Khmer
    # Han: radicals, iteration marks, numerals
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b"
    # Kana
    "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f"
    "\U00016ff0-\U00016ff6\U0001aff0-\U0001b16f\U0001f200\U00020000-\U0003347f"
)
"""The characters of these scripts, as the inside of a character class: their blocks in Unicode."""

_UNSPACED = re.compile(f"[{_CHARACTERS}]")
# holds them all; faster, and without the quotation marks of other text
_NEAR = re.compile("[\u0e00-\u1fff\u2e80-\U0010ffff]")


def _regex() -> Any:
    """Return the package regex, which most texts never need."""
    import regex

    return regex


@cache
def _units() -> tuple[Pattern[str], Pattern[str]]:
    """Return patterns of a unit (a cluster, or what stands between clusters) and of a run of
    clusters of letters, digits and marks.
    """
    unit = rf"(?=[{_CHARACTERS}])\X|(?:(?![{_CHARACTERS}])\X)+"
    compiled = _regex().compile
    return compiled(unit), compiled(rf"(?:(?=[{_CHARACTERS}])(?=\w)\X)+")


def has_unspaced(text: str) -> bool:
    """Return True for a text with characters of scripts without spaces.

    >>> has_unspaced("naïve “text”"), has_unspaced("東 side")
    (False, True)
    """
    if text.isascii() or (near := _NEAR.search(text)) is None:
        return False
    return _UNSPACED.search(text, near.start()) is not None


def unspaced_characters() -> list[str]:
    """Return all characters of scripts without spaces."""
    return _UNSPACED.findall("".join(map(chr, [*range(0xE00, 0xD800), *range(0xE000, 0x33480)])))


def split_unspaced(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of words, those with characters of scripts without spaces split into
    clusters and what stands between them.

    >>> text = "go to 東京タワー2F now"
    >>> [
    ...     text[start:end]
    ...     for start, end in split_unspaced(text, [(0, 2), (3, 5), (6, 13), (14, 17)])
    ... ]
    ['go', 'to', '東', '京', 'タ', 'ワ', 'ー', '2F', 'now']
    """
    unit, _ = _units()
    found = []
    for (start, end), (following, _) in pairwise([*spans, (len(text), 0)]):
        if not _UNSPACED.search(text, start, end):
            found.append((start, end))
            continue
        found += [match.span() for match in unit.finditer(text, start, end)]
        # BlingFire leaves out some marks behind a letter
        if _UNSPACED.match(text, last := found[-1][0]):
            last_end = unit.match(text, last).end()  # type: ignore[union-attr]
            found[-1] = last, min(last_end, following)
    return found


def clusters(run: str) -> list[str]:
    """Return the extended grapheme clusters of a text.

    >>> clusters("ที่นี่")
    ['ที่', 'นี่']
    """
    return _regex().findall(r"\X", run)


def bigrams(run: str) -> list[str]:
    """Return each two neighbouring clusters of a run, or the one that it has: what Lucene's
    CJKAnalyzer indexes of Han and Kana.

    >>> bigrams("東京都"), bigrams("都")
    (['東京', '京都'], ['都'])
    """
    parts = clusters(run)
    return [one + other for one, other in pairwise(parts)] if len(parts) > 1 else parts


def with_clusters(text: str, word: re.Pattern[str], parts: Callable[[str], list[str]]) -> list[str]:
    """Return the matches of ``word`` in a text, and in their place the ``parts`` of each run in a
    script without spaces.

    >>> with_clusters("ab 東京都2024年", re.compile(r"\\w+"), bigrams)
    ['ab', '東京', '京都', '2024', '年']
    """
    if not has_unspaced(text):
        return word.findall(text)
    found, at = [], 0
    for run in _units()[1].finditer(text):
        found += [*word.findall(text, at, run.start()), *parts(run.group())]
        at = run.end()
    return found + word.findall(text, at)
