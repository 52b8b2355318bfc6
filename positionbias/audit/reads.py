"""Find the length limit of a system, and which end it cuts off: as declared, by its tokenizer, or
where its scores stop changing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from positionbias.audit.manipulate import Fits, Texts
from positionbias.audit.systems import System, Task, made_id
from positionbias.audit.trials import Trial
from positionbias.core.seeds import below, drawn_order
from positionbias.models.protocols import PassageEncoder, TokenReader, cut_side, token_reader
from positionbias.text.filler import filler, known_words

TRIED = 200  # queries
LEAST_EACH = 5
MOST_WRONG = 0.05
SAME = 1e-5  # of the scores' deviation: smaller changes are rounding


@dataclass(frozen=True, slots=True)
class Reads:
    """A system's length limit in ``words``, None if it is counted in tokens or none was found;
    ``found`` names its source. ``from_end``: it reads the last words of a longer text.
    """

    fits: Fits
    words: float | None
    found: str
    from_end: bool = False


def reads_of(
    system: System,
    task: Task,
    longest: Mapping[str, int],
    *,
    declared: int | None,
    listwise: bool,
    seed: int,
) -> Reads:
    """Return the limit of a model: ``declared`` in words, else its tokenizer's, else the cliff in
    its scores, else none. ``longest`` has the words of each audited query's longest text.
    """
    from_end = cut_side(system.model) == "left"
    if declared is not None:
        return Reads(_by_words(declared), float(declared), "declared", from_end)
    if (reader := token_reader(system.model)) is not None:
        return Reads(_by_tokens(reader), None, "its tokenizer", from_end)
    if listwise:
        return Reads(everything, None, "not tried: the scorer is listwise")
    return cliff(system, task, longest, seed) or Reads(everything, None, "no limit found")


def longest_texts(trials: Iterable[Trial]) -> dict[str, int]:
    """Return the words of each query's longest text."""
    return {one.query_id: max(len(text.split()) for text in one.texts) for one in trials}


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    """Report every text as read whole, without a limit."""
    return [True] * len(texts)


def _by_words(limit: float) -> Fits:
    return lambda query, texts: [len(text.split()) <= limit for text in texts]


def _by_tokens(reader: TokenReader) -> Fits:
    """Limit by tokens. A text that just fills the limit counts as cut, as it may have been cut."""

    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        used = 0 if isinstance(reader, PassageEncoder) else len(reader.read_queries([query])[0])
        return [len(row) + used < reader.room for row in reader.read_passages(list(texts))]

    return fits


def cliff(system: System, task: Task, longest: Mapping[str, int], seed: int) -> Reads | None:
    """Find the number of words, from the front or from the end, beyond which a scorer's scores do
    not change; None if they always do.

    For up to 200 queries, half of them drawn and half with the longest texts, the evidence, and
    filler of as many words, stand in front of the other sentences, between or behind them, and
    apart from them by filler, up to beyond the ``longest`` text: if both score differently in front
    but alike at another place, that place was not read. L words are the limit if at least five
    texts with the evidence wholly after L were not read, five wholly before L were, and at most 5 %
    are on the wrong side; of the L with the fewest such texts it is the smallest [decision].
    """
    made: dict[str, str] = {}
    lists: dict[str, tuple[str, list[str]]] = {}
    places = []  # (queries, places): words before, of and behind the evidence
    queries, known = task.texts, known_words(task.collection, seed)
    drawn = drawn_order(longest, seed, "cliff")
    by_length = sorted(drawn[TRIED // 2 :], key=lambda query_id: -longest[query_id])
    for query_id in [*drawn[: TRIED // 2], *by_length][:TRIED]:
        parts = task.parts(query_id)
        if isinstance(parts, str):
            continue
        evidence = parts.sentences[parts.own]
        words = len(evidence.split())
        apart = longest[query_id] - sum(len(text.split()) for text in parts.sentences) + words
        some = 1 + below(apart, seed, "cliff", query_id, "padding")
        fill = partial(
            filler, " ".join([queries[query_id], *parts.sentences]), known, seed, query_id
        )
        others = [text for place, text in enumerate(parts.sentences) if place != parts.own]
        between = 1 + below(len(others) - 1, seed, "cliff", query_id, "between")
        padding = [fill("padding", words=each) for each in (some, apart)]
        around = [
            ([], others),
            (others[:between], others[between:]),
            (others, []),
            *(([*others, each], []) for each in padding),
            *(([], [each, *others]) for each in padding),
        ]
        names = [made_id(query_id, number) for number in range(2 * len(around))]
        pieces = (evidence, fill("blank", words=words))
        versions = product(around, pieces)
        texts = [" ".join([*before, piece, *behind]) for (before, behind), piece in versions]
        made |= zip(names, texts, strict=True)
        lists[query_id] = queries[query_id], names
        counts = [[len(" ".join(side).split()) for side in sides] for sides in around]
        places.append([(before, words, behind) for before, behind in counts])
    if not lists:
        return None
    description = f"{system.name}: how far does it read?"
    scored = system.scores(task, Texts(made, task.collection), lists, description)
    table = np.array([[scored[name][text] for text in ids] for name, (_, ids) in lists.items()])
    full = ~np.isnan(table).any(axis=1)  # missing scores change nothing and say nothing
    changes = np.abs(table[:, 0::2] - table[:, 1::2]) > SAME * float(
        table[full].std() if full.any() else 0
    )  # (queries, places)
    sizes, limits = np.array(places), []
    for from_end, first, columns in ((False, 0, [1, 2, 3, 4]), (True, 2, [0, 1, 5, 6])):
        matters = changes[:, first] & full
        starts, lengths = (sizes[matters][:, columns, part] for part in (2 if from_end else 0, 1))
        if len(starts):
            unread = ~changes[matters][:, columns]
            limit = _limit(starts.ravel(), (starts + lengths).ravel(), unread.ravel())
            limits += [(wrong, from_end, float(words)) for wrong, words in limit]
    if not limits:
        return None
    _, from_end, read = min(limits)
    return Reads(_by_words(read), read, "its scores", from_end)


def _limit(starts: np.ndarray, ends: np.ndarray, unread: np.ndarray) -> list[tuple[int, int]]:
    """Return the texts on the wrong side of the limit, and the limit, from the evidence's starts
    and ends and whether it was ``unread``, ``(texts,)`` each; nothing without a limit.
    """
    limits = np.arange(1, int(ends.max()) + 1)[:, None]
    after, before = starts >= limits, ends <= limits
    wrong = ((unread & before) | (~unread & after)).sum(axis=1)
    allowed = (
        (wrong <= MOST_WRONG * len(starts))
        & ((unread & after).sum(axis=1) >= LEAST_EACH)
        & ((~unread & before).sum(axis=1) >= LEAST_EACH)
    )
    pairs = zip(wrong[allowed].tolist(), limits[allowed, 0].tolist(), strict=True)
    return sorted(pairs)[:1]
