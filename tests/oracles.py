"""References for tests: whether a planted text answers, and the share of a query's words in a
passage.
"""

from __future__ import annotations

import re
from functools import lru_cache

from positionbias.planted.grammar import ANSWERING, ATTRIBUTES, Thing
from positionbias.text.overlap import content_words


@lru_cache(maxsize=1)
def _patterns() -> list[re.Pattern[str]]:
    slots = {
        "thing": r"(?P<thing>\w+ \w+)",
        "attribute": r"(?P<attribute>\w+)",
        "value": r"(?P<value>\w+)",
    }
    patterns = []
    for template in ANSWERING:
        body = re.escape(template).replace(r"\{", "{").replace(r"\}", "}").replace(r"\ ", " ")
        patterns.append(re.compile(r"(?:(?<=\. )|^)" + body.format(**slots)))
    return patterns


def states_value(text: str, thing: Thing, attribute: str) -> bool:
    """Return True if a whole sentence of ``text`` answers (thing, attribute), as parsed by the
    grammar: the oracle.
    """
    found = (match for pattern in _patterns() for match in pattern.finditer(text))
    wanted = (str(thing), attribute)
    return any(
        (m["thing"], m["attribute"]) == wanted and m["value"] in ATTRIBUTES[attribute]
        for m in found
    )


def word_overlap(query: str, passage: str) -> float:
    """Return the share of the query's content words in the passage, in [0, 1]."""
    wanted = content_words(query)
    return len(wanted & content_words(passage)) / len(wanted) if wanted else 0.0
