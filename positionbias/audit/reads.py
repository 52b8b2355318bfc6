"""How far into a text a system reads: by its tokenizer, by what the user says, or by where its scores stop to change.

What is not read is no preference: a verdict on preference is taken over texts that are read whole, and what the limit costs is said apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.manipulate import Fits, Texts
from positionbias.audit.perturb import parts_of
from positionbias.audit.systems import System, Task
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import key64
from positionbias.models.protocols import PassageEncoder, Ranker

__all__ = ["Reads", "reads_of"]

TRIED = 200
LEAST_UNREAD = 5
MOST_WRONG = 0.05
SAME = 1e-5  # of the scores' deviation: rounding


@dataclass(frozen=True, slots=True)
class Reads:
    """What a system reads. ``words``: its limit in words, None where it is counted in tokens or where none was found; ``found`` says how it is known."""

    fits: Fits
    words: float | None
    found: str


def reads_of(system: System, task: Task, *, declared: int | None, listwise: bool, seed: int) -> Reads:
    """The limit of a model: ``declared`` in words, else its tokenizer's, else the cliff in its scores (``cliff``), else none."""
    if declared is not None:
        return Reads(_by_words(declared), float(declared), "declared")
    model = system.model
    if isinstance(model, Ranker | PassageEncoder):
        return Reads(_by_tokens(model), None, "its tokenizer")
    if listwise:
        return Reads(_everything, None, "not tried: the scorer is listwise")
    words = cliff(system, task, seed)
    return Reads(_everything, None, "no limit found") if words is None else Reads(_by_words(words), words, "its scores")


def _everything(query: str, texts: Sequence[str]) -> list[bool]:
    return [True] * len(texts)


def _by_words(limit: float) -> Fits:
    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        return [len(text.split()) <= limit for text in texts]

    return fits


def _by_tokens(model: Ranker | PassageEncoder) -> Fits:
    """One that just fills the limit counts as cut: what was cut off cannot be seen from here."""

    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        used = 0 if isinstance(model, PassageEncoder) else len(model.read_queries([query])[0])
        return [len(row) + used < model.room for row in model.read_passages(list(texts))]

    return fits


def cliff(system: System, task: Task, seed: int) -> float | None:
    """The number of words after which a scorer's scores stop to change; None where they never do.

    For up to 200 queries the passage's other sentences are scored alone, with the evidence before them and with it behind. Where evidence before changes the score
    and evidence behind does not, it was not read. A limit is found where at least five texts were not read, and one number of words in front of the evidence parts read from unread
    with at most 5 % on the wrong side; it is put half-way between the longest that was read and the shortest that was not [decision].
    """
    made: dict[str, str] = {}
    lists, words = [], {}
    queries = {query.query_id: query.text for query in task.queries}
    for query_id in sorted(task.query_ids, key=lambda one: (key64(seed, "cliff", one), one))[:TRIED]:
        item = task.evidence.by_query[query_id]
        parts = parts_of(task.collection.texts([item.passage_id])[0], item.start, item.end)
        if isinstance(parts, str):
            continue
        evidence = parts.sentences[parts.own]
        rest = " ".join(text for place, text in enumerate(parts.sentences) if place != parts.own)
        versions = {"alone": rest, "front": f"{evidence} {rest}", "end": f"{rest} {evidence}"}
        made |= {f"{query_id}\x1f{what}": text for what, text in versions.items()}
        lists.append((query_id, [f"{query_id}\x1f{what}" for what in versions]))
        words[query_id] = len(rest.split())
    if not lists:
        return None
    run = Run("made", ((name, ids, -np.arange(len(ids))) for name, ids in lists))
    asked = [Query(name, queries[name]) for name, _ in lists]
    scored = system.scored(task, Texts(made, task.collection), run, f"{system.name}: how far does it read?", asked)
    of = {}
    for name, _ in lists:
        by_id = dict(zip(scored[name].passage_ids, scored[name].scores.astype(np.float64).tolist(), strict=True))
        of[name] = [by_id[f"{name}\x1f{what}"] for what in ("alone", "front", "end")]
    table = np.array(list(of.values()))
    same = SAME * float(table.std()) if table.std() > 0 else 0.0
    matters = np.abs(table[:, 1] - table[:, 0]) > same
    unread = np.abs(table[:, 2] - table[:, 0]) <= same
    return _limit(np.array([words[name] for name in of])[matters], unread[matters])


def _limit(words: np.ndarray, unread: np.ndarray) -> float | None:
    """The number of words that parts texts that were read from those that were not, ``(texts,)`` each; None where none does."""
    if unread.sum() < LEAST_UNREAD:
        return None
    order = np.argsort(words, kind="stable")
    words, unread = words[order], unread[order]
    # wrong[k]: the first k are taken for read, the others for unread
    wrong = np.concatenate([[0], np.cumsum(unread)]) + np.concatenate([np.cumsum((~unread)[::-1])[::-1], [0]])
    split = int(np.argmin(wrong))
    if wrong[split] > MOST_WRONG * len(words) or split == len(words):
        return None
    return float(words[0]) if split == 0 else float(words[split - 1] + words[split]) / 2
