"""The leakage study: "How Train–Test Leakage Affects Zero-shot Retrieval" (SPIRE 2022), Tables 3 to
8 and Figure 2.
"""

from __future__ import annotations

from enum import StrEnum

NO = "no"  # the reference kind of training set
# kind of training set → its name in results
CONDITIONS = {NO: "no leakage", "msm": "MSM leakage", "test": "test leakage"}
MEASURES = ("nDCG@10", "MFR", "RR", "P@1")
LOWER_IS_BETTER = ("MFR",)
HEADLINE = MEASURES[0]
# Tables 6, 7 and 8
RANK, SCORE, OFFSET = (
    "rank of leaked relevant passages",
    "score of leaked relevant passages",
    "rank offset of leaked passages",
)
LEAKED = "topics with leaked queries"  # the subset of Figure 2


class Remembered(StrEnum):
    """The answer of the gap between leaked relevant and other passages."""

    YES = "the model remembers leaked passages"
    OPPOSITE = "the two are closer with leakage, the opposite of remembering"
    UNKNOWN = "these data do not show that leaked passages are remembered"
