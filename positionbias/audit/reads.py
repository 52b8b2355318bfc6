"""Find the length limit of a system: as declared, by its tokenizer, or where its scores stop changing.

A length limit is not a preference: a verdict on preference uses texts that are read whole, and the cost of the limit is reported separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.filler import filler, known_words
from positionbias.audit.made_ids import made_id
from positionbias.audit.manipulate import Fits, Texts
from positionbias.audit.systems import System, Task
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order
from positionbias.models.protocols import PassageEncoder, TokenReader, token_reader
from positionbias.text.sentences import parts_of

__all__ = ["Reads", "everything", "reads_of"]

TRIED = 200
LEAST_EACH = 5
MOST_WRONG = 0.05
PADDING = 80  # words, at most
SAME = 1e-5  # of the scores' deviation: smaller changes are rounding


@dataclass(frozen=True, slots=True)
class Reads:
    """A system's length limit. ``words``: the limit in words, None if it is counted in tokens or none was found; ``found`` names its source."""

    fits: Fits
    words: float | None
    found: str


def reads_of(system: System, task: Task, *, declared: int | None, listwise: bool, seed: int) -> Reads:
    """Return the limit of a model: ``declared`` in words, else its tokenizer's, else the cliff in its scores (``cliff``), else none."""
    if declared is not None:
        return Reads(_by_words(declared), float(declared), "declared")
    if (reader := token_reader(system.model)) is not None:
        return Reads(_by_tokens(reader), None, "its tokenizer")
    if listwise or task.evidence.whole:
        why = "the scorer is listwise" if listwise else "no answer is located"
        return Reads(everything, None, f"not tried: {why}")
    words = cliff(system, task, seed)
    return Reads(everything, None, "no limit found") if words is None else Reads(_by_words(words), words, "its scores")


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    """Report every text as read whole, without a limit."""
    return [True] * len(texts)


def _by_words(limit: float) -> Fits:
    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) <= limit for text in texts]

    return fits


def _by_tokens(reader: TokenReader) -> Fits:
    """Limit by tokens. A text that just fills the limit counts as cut, as it may have been cut."""

    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        used = 0 if isinstance(reader, PassageEncoder) else len(reader.read_queries([query])[0])
        return [len(row) + used < reader.room for row in reader.read_passages(list(texts))]

    return fits


def cliff(system: System, task: Task, seed: int) -> float | None:
    """Find the number of words after which a scorer's scores stop changing; None if they never do.

    For up to 200 queries the evidence is placed before and after the passage's other sentences, at a drawn place between them, and after them and
    up to 80 words of filler; so is filler of as many words as the evidence. If evidence and filler score differently in front but alike at another
    place, that place was not read. A limit of L words is found if at least five texts with the evidence wholly after L were not read, at least five
    with it wholly before L were (else the limit may not be in words: a scorer of first sentences has none), and at most 5 % of the texts are on the
    wrong side: not read although wholly before L, or read although wholly after it. Of the L with the fewest such texts the smallest is taken, so
    that no cut text counts as read whole [decision].
    """
    known = known_words(task.collection, seed)
    made: dict[str, str] = {}
    lists, starts, ends = [], [], []
    queries = {query.query_id: query.text for query in task.queries}
    for query_id in drawn_order(task.query_ids, seed, "cliff")[:TRIED]:
        item = task.evidence.by_query[query_id]
        parts = parts_of(task.collection.texts([item.passage_id])[0], item.start, item.end)
        if isinstance(parts, str):
            continue
        evidence = parts.sentences[parts.own]
        others = [text for place, text in enumerate(parts.sentences) if place != parts.own]
        between = 1 + below(len(others) - 1, seed, "cliff", query_id, "between")
        avoided = " ".join([queries[query_id], *parts.sentences])
        blank = filler(avoided, known, seed, query_id, "blank", words=len(evidence.split()))
        more = 1 + below(PADDING, seed, "cliff", query_id, "padding")
        padding = filler(avoided, known, seed, query_id, "padding", words=more)
        before = [[], others, others[:between], [*others, padding]]
        behind = [others, [], others[between:], []]
        around = list(zip(before, behind, strict=True))
        versions = [" ".join([*left, one, *right]) for left, right in around for one in (evidence, blank)]
        names = [made_id(query_id, number) for number in range(len(versions))]
        made |= zip(names, versions, strict=True)
        lists.append((query_id, names))
        starts.append([len(" ".join(left).split()) for left in before[1:]])
        ends.append([words + len(evidence.split()) for words in starts[-1]])
    if not lists:
        return None
    run = Run("made", ((name, ids, -np.arange(len(ids))) for name, ids in lists))
    asked = [Query(name, queries[name]) for name, _ in lists]
    scored = system.scored(task, Texts(made, task.collection), run, f"{system.name}: how far does it read?", asked)
    rows = []
    for name, ids in lists:
        by_id = dict(zip(scored[name].passage_ids, scored[name].scores.astype(np.float64).tolist(), strict=True))
        rows.append([by_id[one] for one in ids])
    table = np.array(rows)
    same = SAME * float(table.std())
    matters = np.abs(table[:, 0] - table[:, 1]) > same
    unread = np.abs(table[:, 2::2] - table[:, 3::2]) <= same
    first, last = np.array(starts)[matters], np.array(ends)[matters]
    return _limit(first.ravel(), last.ravel(), unread[matters].ravel())


def _limit(starts: np.ndarray, ends: np.ndarray, unread: np.ndarray) -> float | None:
    """Return the limit L in words, from the evidence's starts and ends and whether it was ``unread``, ``(texts,)`` each; None without a limit."""
    if not len(starts):
        return None
    limits = np.arange(1, int(ends.max()) + 1)[:, None]
    wrong = (unread & (ends <= limits)).sum(axis=1) + (~unread & (starts >= limits)).sum(axis=1)
    behind = (unread & (starts >= limits)).sum(axis=1)
    before = (~unread & (ends <= limits)).sum(axis=1)
    allowed = (wrong <= MOST_WRONG * len(starts)) & (behind >= LEAST_EACH) & (before >= LEAST_EACH)
    if not allowed.any():
        return None
    best = limits[allowed & (wrong == wrong[allowed].min()), 0]
    return float(best.min())
