"""Guess from terms how a training query reformulates a test query.

The leakage paper's types (section 3, after Jansen, Booth, Spink 2009): *identical*, "differences
only in inflection or word order"; *generalization*, a "subset of words"; *specialization*, a
"superset of words"; *reformulation*, "some synonymous terms"; or a *different topic*. Words are the
terms of ``lexical`` [decision]. Terms ignore synonyms: a pair that shares some terms but not all
counts as a reformulation, and a pair that shares none as a different topic, unless the semantic
detector found it.
"""

from __future__ import annotations

from positionbias.leakage.labels import DIFFERENT
from positionbias.leakage.lexical import TextTerms

__all__ = ["guess_type"]


def guess_type(train: TextTerms, test: TextTerms, *, same_meaning: bool = False) -> str:
    """Return one of ``labels.TYPES`` or ``labels.DIFFERENT``; ``same_meaning``: the cosine of the
    pair reached the threshold.

    >>> from positionbias.leakage.lexical import read_terms as of
    >>> (
    ...     guess_type(of("the disease of Lyme"), of("Lyme diseases")),
    ...     guess_type(of("lyme disease in dogs"), of("lyme disease")),
    ... )
    ('identical', 'specialization')
    """
    first, second = train.terms, test.terms
    if train.normalised == test.normalised or (first and first == second):
        return "identical"
    if first and first < second:
        return "generalization"
    if second and first > second:
        return "specialization"
    return "reformulation" if first & second or same_meaning else DIFFERENT
