"""Does the length by place grid show what scorers of known behaviour do at every length, and what does MiniLM do?

    python benchmarks/length_grid.py COLLECTION STATE [--queries 60] [--model-queries 30]   # writes benchmarks/results/length_grid_HARDWARE_DATE.md

``COLLECTION`` is SQuAD, of ``posbias import squad``. Scorers of texts of 128 to 8,192 words, w(s) the share of the query's words, weighted by idf, in a sentence s:

- reads all: the best sentence, max w(s);
- reads 300: the same of a text's first 300 words;
- decays: max w(s) · 2^(−words before s / 200).

The expected effect of a place comes from the evidence alone, in closed form: 0; that its best sentence falls to the best one of the fillers; and that it decays, or falls to the
best of the fillers decayed. all-MiniLM-L6-v2 reads 254 word pieces as it is published, and 510 where its positions end.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from measuring import hardware, kept_part, result_place

from positionbias.audit.audit import make_task
from positionbias.audit.length_grid import length_grid, make_materials, sizes_of
from positionbias.audit.reads import reads_of
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.duration import duration_in_words
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.length_grid import PLACES
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.user_code import UserFunction
from positionbias.results.length_grid import LENGTHS as LENGTH_BY_PLACE
from positionbias.text.sentences import sentence_spans

LENGTHS = (128, 256, 512, 1_024, 2_048, 4_096, 8_192)
SETTINGS = AuditSettings(depth=30)
LIMIT, HALF = 300, 200
DRAWN = 200  # queries from which the grid's are taken
Weight = Callable[[int], float]  # of a sentence by the words before it


@lru_cache(maxsize=300_000)
def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip(".,;:?!\"'()").lower() for word in text.split())


class Best:
    """The best sentence of a text, each weighted by the words before it."""

    def __init__(self, collection: Collection) -> None:
        held: Counter[str] = Counter()
        for passage in collection.passages():
            held.update(set(words(passage.text)))
        self.idf = {word: math.log((1 + len(collection)) / number) for word, number in held.items()}
        self.starts = lru_cache(maxsize=200_000)(self._starts)

    @staticmethod
    def _starts(text: str) -> tuple[tuple[str, int], ...]:
        found, before = [], 0
        for start, end in sentence_spans(text):
            found.append((text[start:end], before))
            before += len(text[start:end].split())
        return tuple(found)

    def best(self, query: str, text: str, weight: Weight, limit: int | None = None) -> float:
        wanted = {word: self.idf.get(word, 0.0) for word in words(query)}
        total = sum(wanted.values()) or 1.0
        cut = text if limit is None else " ".join(text.split()[:limit])
        every = (
            weight(before) * sum(wanted[word] for word in wanted if word in set(words(one))) / total
            for one, before in self.starts(cut)
        )
        return max(every, default=0.0)

    def scorer(self, weight: Weight, limit: int | None = None) -> Callable[[str, Sequence[str]], list[float]]:
        return lambda query, passages: [self.best(query, text, weight, limit) for text in passages]


def always(before: int) -> float:
    return 1.0


def decay(before: int) -> float:
    return 2.0 ** (-before / HALF)


def grid(task: Task, system: System, lengths: Sequence[int], queries: int, limit: int | None = None) -> dict[str, Any]:
    """A grid as JSON has it, as an audit makes it."""
    sizes, unit = sizes_of(system)
    ids = drawn_order(task.query_ids, SETTINGS.seed, "needle")
    made, unmoved, apart = make_materials(task, ids, lengths, sizes, most=queries, seed=SETTINGS.seed, level=1)
    reads = reads_of(system, task, {}, declared=limit, listwise=True, seed=SETTINGS.seed)
    found = length_grid(system, task, made, lengths, reads, unmoved=unmoved, unit=unit, apart=apart, seed=SETTINGS.seed)
    assert found is not None
    return {"grid": system.result(task, LENGTH_BY_PLACE, found, value=None, count=len(made)).to_json()["payload"]}


def expected(task: Task, best: Best, weight: Weight, limit: int | None, queries: int) -> dict[str, list[list[float]]]:
    """The mean change of the score from place 0, of the evidence and the fillers each by itself, before it is divided by the deviation."""
    ids = drawn_order(task.query_ids, SETTINGS.seed, "needle")
    made, _, _ = make_materials(
        task, ids, LENGTHS, lambda texts: [len(text.split()) for text in texts], most=queries, seed=SETTINGS.seed, level=1
    )
    rows = []
    for length in LENGTHS:
        row = []
        for place in PLACES:
            scores = []
            for one in made:
                before, behind, start = one.split(one.piece, length, place)

                def seen(at: int) -> float:
                    return weight(at) if limit is None or at < limit else 0.0

                own = best.best(one.query.text, one.piece.text, lambda at, start=start: seen(start + at))
                fill = max(
                    best.best(one.query.text, " ".join(before), seen),
                    best.best(one.query.text, " ".join(behind), lambda at, start=start + one.piece.size: seen(start + at)),
                )
                scores.append(max(own, fill))
            row.append(sum(scores) / len(scores))
        rows.append(row)
    return {"scores": rows}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("collection", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--model-queries", type=int, default=30, help="questions that MiniLM is asked")
    given = parser.parse_args()
    collection = Collection(given.collection)
    task = make_task(
        collection, "test", lambda queries: retrieve(collection, queries, 30, Bm25Settings()), SETTINGS, queries=DRAWN
    )
    best = Best(collection)
    known = {"reads all": (always, None), f"reads {LIMIT}": (always, LIMIT), "decays": (decay, None)}
    parts: dict[str, dict[str, Any]] = {}
    for name, (weight, limit) in known.items():
        system = System(name, model=UserFunction(best.scorer(weight, limit)))
        part = kept_part(given.state / f"{name}.json", partial(grid, task, system, LENGTHS, given.queries, limit))
        truth = kept_part(given.state / f"{name} expected.json", partial(expected, task, best, weight, limit, given.queries))
        parts[name] = {**part, **truth}
    for pieces, lengths in ((256, (128, 256, 512)), (512, (128, 256, 508))):
        checkpoint = load_checkpoint("minilm")
        checkpoint.model.config = replace(checkpoint.model.config, passage_length=pieces)  # type: ignore[union-attr, misc]
        system = System.of(checkpoint, f"minilm, {pieces - 2}")
        name = f"minilm-{pieces}"
        parts[system.name] = kept_part(given.state / f"{name}.json", partial(grid, task, system, lengths, given.model_queries))
    result_place("length_grid").write_text(page(parts), encoding="utf-8")


def page(parts: dict[str, dict[str, Any]]) -> str:
    """The result file."""
    seconds = sum(part["seconds"] for part in parts.values())
    lines = ["# Evidence by length and place", "", f"{hardware()}; questions of SQuAD's development set; {duration_in_words(seconds)} of processor time.", "",
             "The lead over the competitors by place, then the effect of a place less the start, in deviations, with simultaneous 95 % intervals. *Not read* marks evidence that "
             "starts beyond what is read for half of the questions or more. *Expected*: the effect computed from the evidence and its fillers, without the audit."]  # fmt: skip
    for name, part in parts.items():
        payload = part["grid"]
        cells = {(cell["length"], cell["place"]): cell for cell in payload["cells"]}
        effects = {(one["length"], one["place"]): one for one in payload["effects"] if one["of"] == "place"}
        others = [one for one in payload["effects"] if one["of"] != "place"]
        lines += [
            "",
            f"## {name}: {payload['figures']['queries']} questions",
            "",
            f"| length in {payload['figures']['unit']} | start | ¼ | ½ | ¾ | end |",
            "|" + "---|" * 6,
        ]
        truths = dict(zip(LENGTHS, part["scores"], strict=True)) if "scores" in part else {}
        for length in payload["lengths"]:
            row = [f"{cells[length, 0.0]['score']:.2f}"]
            for place in PLACES[1:]:
                one, gone = effects[length, place], cells[length, place]["beyond"] >= 0.5
                text = f"{one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]{', not read' if gone else ''}"
                row.append(text)
            lines.append(f"| {length:,} | {' | '.join(row)} |")
            if truths:
                unit = payload["deviations"][payload["lengths"].index(length)]
                told = [f"{(score - truths[length][0]) / unit:+.3f}" for score in truths[length][1:]]
                lines.append(f"| expected | | {' | '.join(told)} |")
        lines.append("")
        for one in others:
            where = f" {one['length']:,}" if one["length"] else ""
            where += f", place {one['place']:g}" if one["of"] == "truncation" else ""
            lines.append(f"- {one['of']}{where}: {one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
