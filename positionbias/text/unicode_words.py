"""Split texts into words and sentences by rules over Unicode's letters, digits and marks, on any
machine.

The rules follow BlingFire's published ones where they are short [decision]: marks of punctuation
are words, "U.S." and "3.5" are one, and English clitics ("'s", "n't") are split off. A change of
the rules changes their version in ``core.manifest``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

_LETTER = r"[^\W\d_]"
_APOSTROPHE = "['’]"
_ENDS = ".!?…。！？"
_CLOSING = "\"'”’»)\\]"
_OPENING = "\"'“‘«(\\["
_NOTE = r":\d[\d,–-]*|\[citation needed\]"  # a reference after the dot
_ABBREVIATIONS = (  # after which a sentence goes on; lower case, without the dot
    "adm|apr|aug|ave|brig|bros|capt|cf|co|col|corp|dec|dept|dr|etc|feb|fig|figs|ft|gen|gov|hon|inc|"
    "jan|jr|jul|jun|lt|ltd|maj|mar|messrs|mr|mrs|ms|mt|no|nos|nov|oct|op|pp|prof|rep|rev|sen|sep|"
    "sept|sgt|sr|st|ste|viz|vol|vols|vs"
)
_BREAK = re.compile(
    rf"(?P<end>[{_ENDS}]+[{_CLOSING}]*)(?:{_NOTE})*(?:\s+(?=[{_OPENING}]*(?P<next>\S))|\s*\Z)|"
    rf"\n\s*\n\s*|(?P<wide>[。！？]+[{_CLOSING}]*)"
)
_GOES_ON = re.compile(
    rf"(?:(?<!\w)(?:{_ABBREVIATIONS})|(?<![^\W_]){_LETTER}|(?<!\w)(?:{_LETTER}\.)+{_LETTER})\Z",
    re.IGNORECASE,
)
_LONGEST = 24  # characters before a dot that are looked at


@cache
def _words() -> re.Pattern[str]:
    """Return the pattern of a word; made where it is first used, as finding Unicode's marks takes a
    tenth of a second.
    """
    inside = rf"[\w{_marks()}\u200d]"
    return re.compile(
        rf"""
        (?:{_LETTER}\.){{2,}}(?!\w)              # U.S.
        | (?<!\w)\.\w+                           # .907
        | \w(?:\.\w)+(?!\w)                      # a.b.c
        | \d+(?:,\d{{3}})+(?:\.\d+)?(?!\w)       # 1,000.5
        | \d+(?:\.\d+)+\w*                       # 3.5, 2.4m
        | [A-Z]+&[A-Z]+\w*                       # R&D
        | (?<!{_APOSTROPHE})\b[DdLlOo]{_APOSTROPHE}(?={_LETTER}{{2}})   # O'Neill
        | (?i:can)(?=(?i:not)\b)
        | {inside}+?(?=[nN]{_APOSTROPHE}[tT]\b)        # does|n't
        | (?<=\w){_APOSTROPHE}(?i:s|d|ll|re|ve)\b
        | [nN]{_APOSTROPHE}[tT]\b
        | {_LETTER}\w*\++(?!\w)                  # C++
        | {inside}+
        | [^\s\x00-\x1f\x7f\u00ad\u200b-\u200f\u2060\ufeff]
        """,
        re.VERBOSE,
    )


def _marks() -> str:
    """Return the characters that belong to the letter before them, as ranges of a character
    class.
    """
    found = [
        number
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number))[0] == "M"
    ]
    firsts = [
        number for number, before in zip(found, [-1, *found], strict=False) if number != before + 1
    ]
    lasts = [
        number for number, after in zip(found, [*found[1:], -1], strict=True) if number + 1 != after
    ]
    return "".join(
        f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts, lasts, strict=True)
    )


def unicode_word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character span ``[start, end)`` of every word, in order, never overlapping.

    >>> text = "The U.S. doesn't pay 3.5%."
    >>> [text[start:end] for start, end in unicode_word_spans(text)]
    ['The', 'U.S.', 'does', "n't", 'pay', '3.5', '%', '.']
    """
    return [match.span() for match in _words().finditer(text)]


def unicode_sentence_starts(text: str) -> list[int]:
    """Return the character offset of each sentence.

    >>> unicode_sentence_starts("Dr. Hart came. J. A. Hobson left!  Why?")
    [0, 15, 35]
    """
    starts = [len(text) - len(text.lstrip())]
    starts.extend(match.end() for match in _BREAK.finditer(text) if _ends(text, match))
    return [start for start in starts if start < len(text)]


def _ends(text: str, match: re.Match[str]) -> bool:
    """Return True if a sentence ends here: not after an abbreviation or an initial, nor before a
    small letter.
    """
    end, following = match["end"], match["next"]
    if end is None or following is None:
        return True
    if following.islower():
        return False
    return not (
        end == "." and _GOES_ON.search(text[max(0, match.start() - _LONGEST) : match.start()])
    )
