"""How often does an audit accuse a scorer that is blind to places, and how often can it not tell?
On planted queries, where the truth is known.

    python benchmarks/audit_false_alarms.py check STATE
        # that this is what audit() itself finds
    python benchmarks/audit_false_alarms.py audit STATE [--first N] [--collections 600]
        # one receipt a collection; a stopped call goes on
    python benchmarks/audit_false_alarms.py squad|spans STATE --data FILE                # real text
    python benchmarks/audit_false_alarms.py depths STATE --data FILE
        # verdicts at several depths: benchmarks/results/audit_depths_HARDWARE_DATE.md
    python benchmarks/audit_false_alarms.py keep STATE --name NAME
        # the receipts' counts: benchmarks/results/audit_false_alarms_NAME.json
    python benchmarks/audit_false_alarms.py table
        # of all kept counts: benchmarks/results/audit_false_alarms_HARDWARE_DATE.md

A collection has 200 queries of its own seed, and one audit. Exchanges, placebos, strangers, rotated
texts, the numbers of orders, the intervals and the answer are the audit's own; only scores are
taken from arrays (``blind_scorers``), and first held to ``audit()`` itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from blind_scorers import EDGED, PLAIN, Block, Instance, Vocabulary, score_all
from false_alarm_counts import (
    CONDITIONS,
    FIRST_SEED,
    MARGIN,
    MENTIONS,
    QUERIES,
    REAL_SIZES,
    SCORERS,
    SIZES,
    STRANGERS,
    Condition,
    Counts,
    table,
)
from measuring import hardware, kept_part, result_place

from positionbias.audit.answers import WORTH, Contrast, Question, Verdict
from positionbias.audit.audit import ORDERS, PILOT, audit, make_task, orders_wanted
from positionbias.audit.manipulate import ROUNDED, Measured, mean_unit
from positionbias.audit.measured import given_in
from positionbias.audit.reads import Reads, everything
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import exchanges, placebo_query, placebos, replaced, stranger, turned
from positionbias.audit.verdict import passage_verdict
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import choose, key64
from positionbias.models.user_code import UserFunction
from positionbias.planted.generator import _Builder, plan_queries
from positionbias.planted.grammar import (
    ATTRIBUTES,
    FIRST_NAMES,
    SECOND_NAMES,
    PlantedQuery,
    Thing,
    question,
)
from positionbias.planted.settings import PlantedSettings
from positionbias.text.filler import filler, known_words
from positionbias.text.sentences import Parts, has_end, parts_of

RESULTS = Path(__file__).parent / "results"
PER_PASSAGE = 5
EDGED_IN = 60  # collections of each condition
CHUNK = 200


@dataclass(frozen=True)
class Asked:
    """A query with its passage, its evidence in it and its candidates' texts."""

    query_id: str
    query: str
    passage_id: str
    text: str
    start: int
    end: int
    candidates: list[str]

    @cached_property
    def parts(self) -> Parts | None:
        """The passage in sentences; None where there is no trial of the query."""
        found = parts_of(self.text, self.start, self.end)
        return None if isinstance(found, str) or not placebos(found) else found


def planted(condition: Condition, seed: int, queries: int = QUERIES) -> list[Asked]:
    """So many queries that have a trial, those of a passage together."""
    clustered = condition.clustered
    sentences = (PER_PASSAGE, PER_PASSAGE + 1) if clustered else (3, 5)
    planned = max(20, int(queries * (0.5 if clustered else 1.3)))
    settings = PlantedSettings(
        condition.front_loading, planned, 2 * planned, sentences=sentences, seed=seed
    )
    plan, background = plan_queries(settings)
    builder = _Builder(settings, background)
    found: list[Asked] = []
    mention = 0
    for query in plan:
        passage, evidence = builder.relevant(query)
        assert evidence.start is not None
        assert evidence.end is not None
        if clustered:
            group = list(_questions(query, passage.text, (evidence.start, evidence.end), seed))
        else:
            group = [(query, evidence.start, evidence.end)]
        asked = [
            Asked(q.query_id, q.text, passage.passage_id, passage.text, start, end, [])
            for q, start, end in group
        ]
        kept = [
            (one, q) for one, (q, _, _) in zip(asked, group, strict=True) if one.parts is not None
        ][:PER_PASSAGE]
        if len(kept) < (PER_PASSAGE if clustered else 1):
            continue
        for one, q in kept:
            one.candidates.extend(
                builder.mention(mention + number, q).text for number in range(MENTIONS)
            )
            mention += MENTIONS
        found += [one for one, _ in kept]
        if len(found) >= queries:
            break
    assert len(found) == queries, f"{len(found)} of {queries} queries"
    for place, one in enumerate(found):  # strangers: passages of queries further on
        one.candidates.extend(
            found[(place + (number + 1) * 11) % queries].text for number in range(STRANGERS)
        )
    return found


def _questions(
    query: PlantedQuery, text: str, own: tuple[int, int], seed: int
) -> Iterator[tuple[PlantedQuery, int, int]]:
    """The query, and one about each other whole sentence of its passage."""
    yield query, *own
    place = 0
    parts = parts_of(text, *own)
    asked = {(query.thing, query.attribute)}
    for number, sentence in enumerate([] if isinstance(parts, str) else parts.sentences):
        place = text.index(sentence, place)
        about = _about(sentence)
        if about is None or about in asked or (place, place + len(sentence)) == own:
            continue
        asked.add(about)
        query_id = f"{query.query_id}-{number}"
        random = Random(key64(seed, "another question", query_id))
        yield (
            PlantedQuery(query_id, question(random, *about), "test", *about),
            place,
            place + len(sentence),
        )


_FIRST, _SECOND = frozenset(FIRST_NAMES), frozenset(SECOND_NAMES)


def _about(sentence: str) -> tuple[Thing, str] | None:
    """The thing and the attribute that a whole sentence speaks of; None of a fragment."""
    if not sentence[:1].isupper() or not sentence.endswith("."):
        return None
    words = [word.strip(".,") for word in sentence.split()]
    things = [Thing(a, b) for a, b in pairwise(words) if a in _FIRST and b in _SECOND]
    attributes = [word for word in words if word in ATTRIBUTES]
    return (things[0], attributes[0]) if len(things) == len(attributes) == 1 else None


class Passages(list[str]):
    """The texts of the collection that ``_task`` makes of these queries, in its order."""

    @staticmethod
    def of(asked: Sequence[Asked]) -> Passages:
        """All passages, by id."""
        found = Passages([text for text, _ in _passage_ids(asked)])
        found.ids = [name for _, name in _passage_ids(asked)]
        return found

    ids: list[str]

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """The texts of these rows."""
        return [self[row] for row in rows]

    def passage_ids_at(self, rows: np.ndarray) -> list[str]:
        """The ids of these rows."""
        return [self.ids[row] for row in rows]

    def strangers(self, asked: Sequence[Asked], seed: int) -> list[str]:
        """The sentence that replaces each query's evidence."""
        task = cast(
            Task,
            SimpleNamespace(
                collection=self,
                evidence=SimpleNamespace(by_query={one.query_id: one for one in asked}),
            ),
        )
        return [
            stranger(task, one.query_id, one.parts, {one.passage_id}, seed)
            for one in asked
            if one.parts is not None
        ]


def _passage_ids(asked: Sequence[Asked]) -> list[tuple[str, str]]:
    """The texts of all passages and candidates with their ids, ordered by id."""
    ids = {one.text: one.passage_id for one in asked}
    for one in asked:
        for text in one.candidates:
            ids.setdefault(text, f"m{len(ids):06d}")
    return sorted(ids.items(), key=lambda item: item[1])


class Laid(NamedTuple):
    """A trial as rows of blocks: the exchanges' texts, ``(before, after)`` one after another by
    order, the two rotated ones, and the two of the worth.
    """

    ends: list[list[int]]
    middle: list[list[int]]
    rotated: list[list[int]]
    worth: list[list[int]]


def laid(
    one: Asked, seed: int, known: Sequence[str], orders: int, other: str
) -> tuple[list[str], Laid]:
    """The pieces of the texts that the audit makes of a query, and these texts as rows of their
    numbers: asked for with placeholders that begin and end like the sentences. Pieces are the
    sentences, the filler, the stranger, and once more with a full stop what has no end, as it
    stands before another."""
    parts = one.parts
    assert parts is not None
    fill = filler(" ".join([one.query, *parts.sentences]), known, seed, one.query_id)
    pieces, marks = (
        [*parts.sentences, fill],
        [_placeholder(text, number) for number, text in enumerate(parts.sentences)],
    )
    mark_of_filler, mark_of_other = "F.", _placeholder(other, len(pieces))
    pieces.append(other)
    numbers = {mark: number for number, mark in enumerate([*marks, mark_of_filler, mark_of_other])}
    for mark, text in zip([*marks, mark_of_other], [*parts.sentences, other], strict=True):
        if not mark.endswith("."):
            numbers[f"{mark}."] = len(pieces)
            pieces.append(f"{text}.")
    hidden = Parts(marks, parts.own)

    def drawn(count: int, size: int, purpose: str) -> list[int]:
        return choose(count, size, seed, "moved sentence", one.query_id, purpose)

    def row(text: str) -> list[int]:
        return [numbers[mark] for mark in text.split(" ")]

    made = exchanges(hidden, mark_of_filler, orders, drawn)
    rows: tuple[list[list[int]], list[list[int]]] = ([], [])
    for contrast, before, after in made:
        rows[contrast == Contrast.MIDDLE].extend((row(before), row(after)))
    return pieces, Laid(
        *rows,
        [row(text) for text in turned(hidden)],
        [row(text) for text in replaced(hidden, mark_of_other)],
    )


def _placeholder(sentence: str, number: int) -> str:
    """A mark that ``placebos`` takes for the sentence."""
    return f"{'a' if sentence[:1].islower() else 'A'}§{number}{'.' if has_end(sentence) else ''}"


@dataclass(frozen=True, slots=True)
class Scored:
    """What one scorer made of a collection's queries: changes by order ``(queries, 8)`` of the ends
    and of the middle, of rotation ``(queries,)``, the placebo query's ``(queries, sizes)``, and the
    worth ``(queries,)``."""

    ends: np.ndarray
    middle: np.ndarray
    rotation: np.ndarray
    placebo: np.ndarray
    worth: np.ndarray


def scored(
    asked: Sequence[Asked],
    others: Sequence[Sequence[str]],
    seed: int,
    passages: Passages,
    *,
    orders: int = ORDERS[-1],
    edged: bool = False,
) -> dict[str, Scored]:
    """All scorers' changes; ``others[q]`` are the texts of query q's placebo queries, one for each
    size of audit.
    """
    vocabulary, known = Vocabulary(), known_words(passages, seed)
    chunks = [
        _chunk(
            asked[first : first + CHUNK],
            others[first : first + CHUNK],
            seed,
            vocabulary,
            known,
            passages,
            orders,
            edged,
        )
        for first in range(0, len(asked), CHUNK)
    ]
    return {
        name: Scored(
            *(
                np.concatenate([getattr(chunk[name], field) for chunk in chunks])
                for field in Scored.__slots__
            )
        )
        for name in (*SCORERS, *(EDGED if edged else ()))
    }


def _chunk(
    asked: Sequence[Asked],
    others: Sequence[Sequence[str]],
    seed: int,
    vocabulary: Vocabulary,
    known: Sequence[str],
    passages: Passages,
    orders: int,
    edged: bool,
) -> dict[str, Scored]:
    instances, sizes = [], []
    for one, placebo, other in zip(asked, others, passages.strangers(asked, seed), strict=True):
        pieces, rows = laid(one, seed, known, orders, other)
        own = [Block.of(text, vocabulary) for text in pieces]
        instances.append(
            Instance(one.query, own, [*rows.worth, *rows.ends, *rows.middle, *rows.rotated])
        )
        instances.extend(Instance(query, own, rows.rotated) for query in placebo)
        sizes.append((len(rows.worth), len(rows.ends), len(rows.middle)))
    counts = np.array(sizes)
    placebos_each = len(others[0]) if len(others) else 0
    width = counts.sum(axis=1) + 2 + 2 * placebos_each
    start = np.cumsum(width) - width
    scores = score_all(instances, vocabulary, edged=edged)
    columns = start[:, None]
    has_middle = counts[:, 2] > 0
    after = start + counts.sum(axis=1)
    found = {}
    for name, values in scores.items():
        ends = values[columns + 2 + np.arange(2 * orders)].reshape(len(asked), -1, 2)
        middle_scores = np.full((len(asked), orders, 2), np.nan)
        places = columns[has_middle] + 2 + 2 * orders + np.arange(2 * orders)
        middle_scores[has_middle] = values[places].reshape(len(places), -1, 2)
        rotated = values[after[:, None] + np.arange(2 + 2 * placebos_each)].reshape(
            len(asked), -1, 2
        )
        change = rotated[:, :, 1] - rotated[:, :, 0]
        found[name] = Scored(
            ends[:, :, 1] - ends[:, :, 0],
            middle_scores[:, :, 1] - middle_scores[:, :, 0],
            change[:, 0],
            change[:, 1:],
            values[start + 1] - values[start],
        )
    return found


def audits(
    asked: Sequence[Asked], sizes: Sequence[int], seed: int
) -> list[tuple[int, int, np.ndarray]]:
    """(number of the size, queries, places of its queries in the order of the audit's draw) of each
    audit: disjoint parts of each size.
    """
    found = []
    for number, size in enumerate(sizes):
        for first in range(0, len(asked) - size + 1, size):
            drawn = sorted(
                range(first, first + size),
                key=lambda place: key64(seed, "needle", asked[place].query_id),
            )
            found.append((number, size, np.array(drawn)))
    return found


def placebo_queries(asked: Sequence[Asked], sizes: Sequence[int], seed: int) -> list[list[str]]:
    """The texts of each query's placebo queries, one for each size of audit."""
    texts = {one.query_id: one.query for one in asked}
    by_query = {one.query_id: one for one in asked}
    found: list[list[str]] = [[] for _ in asked]
    for _, _, places in audits(asked, sizes, seed):
        own = [asked[place] for place in places]
        task = SimpleNamespace(
            query_ids=sorted(one.query_id for one in own),
            evidence=SimpleNamespace(by_query=by_query),
        )
        for place in places:
            drawn = placebo_query(cast(Task, task), asked[place].query_id, seed)
            found[place].append(texts[drawn])
    return found


def measured(
    asked: Sequence[Asked], of: Scored, places: np.ndarray, size: int, orders: int
) -> Measured:
    """What ``manipulate.measure`` makes of these queries, in the score alone."""
    rotation = of.rotation[places] - of.placebo[places, size]
    moved = [of.ends[places, :orders].mean(axis=1), of.middle[places, :orders].mean(axis=1)]
    score = np.column_stack([*moved, rotation, of.worth[places]])
    worth = mean_unit(score[:, -1])
    if worth > 0:
        score = np.round(score / worth, ROUNDED) * worth
    none = np.full_like(score, np.nan)
    return Measured(
        query_ids=[asked[place].query_id for place in places],
        clusters=[asked[place].passage_id for place in places],
        by_unit={"score": score, "ranks": none, "nDCG@10": none},
        whole=np.ones(score.shape, bool),
        within=float(of.ends[places, :orders].var(axis=1, ddof=1).mean()),
    )


def verdict_of(asked: Sequence[Asked], of: Scored, places: np.ndarray, size: int) -> dict[str, Any]:
    """One audit: its preference, the number of orders, and each contrast with its interval, in
    shares of the worth.
    """
    pilot = measured(asked, of, places[:PILOT], size, ORDERS[0])
    orders = orders_wanted(pilot, len(places), MARGIN)
    verdict = passage_verdict(
        measured(asked, of, places, size, orders),
        "nDCG@10",
        MARGIN,
        Reads(everything, None, ""),
        {},
    )
    return {
        "preference": str(verdict.preference),
        "by": str(verdict.effects[0].contrast),
        "orders": orders,
        "effects": shares(verdict),
    }


def shares(verdict: Verdict) -> dict[str, list[float | None]]:
    """Each contrast with its interval, in shares of the worth."""
    return {
        str(one.contrast): [one.value, one.low, one.high]
        for one in verdict.effects
        if one.unit == WORTH
    }


def most_orders(
    asked: Sequence[Asked],
    others: Sequence[Sequence[str]],
    seed: int,
    passages: Passages,
    sizes: Sequence[int],
) -> int:
    """The most orders that the audit of any scorer takes: from the pilot of a single audit, which
    is far cheaper than all orders of all queries.
    """
    drawn = audits(asked, sizes, seed)
    if len(drawn) > 1:
        return ORDERS[-1]
    ((number, size, places),) = drawn
    few = places[:PILOT]
    own = [asked[place] for place in few]
    all_scored = scored(own, [others[place] for place in few], seed, passages, orders=ORDERS[0])
    pilots = (
        measured(own, of, np.arange(len(few)), number, ORDERS[0]) for of in all_scored.values()
    )
    return max(orders_wanted(pilot, size, MARGIN) for pilot in pilots)


def collection(
    condition: Condition,
    seed: int,
    queries: int = QUERIES,
    sizes: Sequence[int] = SIZES,
    *,
    edged: bool = False,
) -> dict[str, Any]:
    """All audits of one collection, by scorer and size."""
    asked = planted(condition, seed, queries)
    others, passages = placebo_queries(asked, sizes, seed), Passages.of(asked)
    all_scored = scored(
        asked,
        others,
        seed,
        passages,
        orders=most_orders(asked, others, seed, passages, sizes),
        edged=edged,
    )
    found: dict[str, dict[str, list[Any]]] = {}
    for name, of in all_scored.items():
        by_size: dict[str, list[Any]] = {str(size): [] for size in sizes}
        for number, size, places in audits(asked, sizes, seed):
            by_size[str(size)].append(verdict_of(asked, of, places, number))
        found[name] = by_size
    return {
        "condition": condition.name,
        "seed": seed,
        "queries": queries,
        "worths": {name: float(of.worth.mean()) for name, of in all_scored.items()},
        "audits": found,
    }


def squad(path: Path) -> list[list[Asked]]:
    """The questions of each article that have a trial; candidates are other paragraphs of the
    article.
    """
    articles = []
    for article in json.loads(path.read_text())["data"]:
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        asked = []
        for number, paragraph in enumerate(article["paragraphs"]):
            for question_of in paragraph["qas"]:
                first = min(question_of["answers"], key=lambda one: one["answer_start"])
                start, end = first["answer_start"], first["answer_start"] + len(first["text"])
                others = choose(
                    len(contexts) - 1,
                    MENTIONS + STRANGERS,
                    1,
                    "other paragraphs",
                    question_of["id"],
                )
                texts = [contexts[other + (other >= number)] for other in others]
                one = Asked(
                    question_of["id"],
                    question_of["question"],
                    f"{article['title']}-{number}",
                    contexts[number],
                    start,
                    end,
                    texts,
                )
                if one.parts is not None:
                    asked.append(one)
        articles.append(asked)
    return articles


def spans(path: Path) -> list[Asked]:
    """The questions whose answer stands word for word in a selected passage; candidates are other
    questions' passages.
    """
    asked = []
    for line in path.read_text().split("\n"):
        if not line:
            continue
        row = json.loads(line)
        places = [
            (passage["passage_text"], passage["passage_text"].find(text), len(text))
            for passage in row["passages"] if passage["is_selected"] for text in row["answers"]
            if text and text in passage["passage_text"]
        ]  # fmt: skip
        if places and len(row["query"].split()):
            text, start, length = places[0]
            asked.append(
                Asked(str(row["query_id"]), row["query"], text, text, start, start + length, [])
            )
    asked = [one for one in asked if one.parts is not None]
    for place, one in enumerate(asked):
        others = choose(len(asked) - 1, MENTIONS + STRANGERS, 1, "other passages", one.query_id)
        one.candidates.extend(asked[other + (other >= place)].text for other in others)
    return asked


def samples(articles: Sequence[Sequence[Asked]], size: int) -> list[list[Asked]]:
    """The first so many queries of each run of articles that has them."""
    found, open_one = [], list[Asked]()
    for article in articles:
        open_one += article
        if len(open_one) >= size:
            found.append(open_one[:size])
            open_one = []
    return found


def audit_samples(what: str, drawn: Sequence[Sequence[Asked]], state: Path) -> None:
    """One receipt a sample: its one audit by scorer."""
    for number, asked in enumerate(drawn):
        receipt = state / f"{what}-{len(asked)}-{number:03d}.json"
        kept_part(receipt, partial(_sample, what, asked))


def _sample(what: str, asked: Sequence[Asked]) -> dict[str, Any]:
    size = len(asked)
    all_scored = scored(
        asked, placebo_queries(asked, (size,), 1), 1, Passages.of(asked), edged=True
    )
    ((_, _, places),) = audits(asked, (size,), 1)
    rows = {name: verdict_of(asked, of, places, 0) for name, of in all_scored.items()}
    return {"what": what, "queries": size, "audits": rows}


DEPTHS, DEPTH_QUERIES = (10, 30, 100), 100
PLACED = ("overlap", "noise 0.3", "front")  # scorers at several depths


def front_loving(query: str, text: str) -> float:
    """Word overlap, and up to 0.3 more for each of the query's words the nearer it first stands to
    the front.
    """
    words = text.split()
    first = [words.index(word) for word in set(query.split()) if word in words]
    return PLAIN["overlap"](query, text) + 0.3 * sum(1 - place / len(words) for place in first)


def depths(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The audits of some scorers on 150 questions at three depths of two first stages, each a
    row.
    """
    asked = list({one.passage_id: one for article in squad(path) for one in article}.values())[
        :DEPTH_QUERIES
    ]
    task = _task(folder, asked, 1)
    scorers = {**PLAIN, "front": front_loving}
    texts = dict(_passage_ids(asked))
    rows = []
    for stage in ("overlap", "best sentence"):
        ranked = {
            one.query_id: sorted(texts, key=lambda text, one=one: -PLAIN[stage](one.query, text))
            for one in asked
        }
        for depth in DEPTHS:
            lists = [
                (name, [texts[text] for text in ids[:depth]], -np.arange(len(ids[:depth])))
                for name, ids in ranked.items()
            ]
            own = replace(task, candidates=Run(stage, lists))
            settings = AuditSettings(
                rotation=False,
                needles=DEPTH_QUERIES,
                depth=depth,
            )
            systems = [System(name, model=UserFunction(_listed(scorers[name]))) for name in PLACED]
            for result in given_in(audit(own, systems, settings).rows):
                verdict = result.verdict
                if verdict.question is Question.PASSAGE:
                    effects = {
                        one.unit: [one.value, one.low, one.high]
                        for one in verdict.effects
                        if one.contrast is Contrast.ENDS
                    }
                    spread = [
                        np.std(
                            [
                                scorers[result.system](one.query, text)
                                for text in ranked[one.query_id][:depth]
                                if text != one.text
                            ]
                        )
                        for one in asked
                    ]
                    row = {
                        "scorer": result.system,
                        "stage": stage,
                        "depth": depth,
                        "spread": float(np.mean(spread)),
                    }
                    rows.append(
                        {
                            **row,
                            "preference": str(verdict.preference),
                            "effects": effects,
                            "shares": shares(verdict),
                        }
                    )
    return rows


def depth_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row an audit, and whether all of a scorer are the same to the bit."""
    lines = [
        "# Verdicts at several depths",
        "",
        "    python benchmarks/audit_false_alarms.py depths STATE --data FILE",
        "",
        f"{hardware()}; {date.today().isoformat()}. A question of each of the first "
        f"{DEPTH_QUERIES} paragraphs of SQuAD's dev set with a sentence to move, over the "
        "paragraphs of their articles. First stages: *overlap* and *best sentence* of the false "
        "alarms' scorers. End − front in shares of the evidence's worth; nDCG@10 among those "
        "candidates. Effects were in the deviation of the candidates' scores before.",
        "",
        (
            "| scorer | first stage | depth | answer | end − front | nDCG@10 | deviation of the "
            "candidates |"
        ),
        "|---|---|---:|---|---|---|---:|",
    ]
    for row in rows:
        share, quality = (
            f"{100 * value:+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}]"
            if name == "worth"
            else f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"
            for name in ("worth", "nDCG@10")
            for value, low, high in [row["effects"][name]]
        )
        lines.append(
            f"| {row['scorer']} | {row['stage']} | {row['depth']} | {row['preference']} | {share} "
            f"| {quality} | {row['spread']:.3f} |"
        )
    lines.append("")
    for name in dict.fromkeys(row["scorer"] for row in rows):
        own = [(row["preference"], row["shares"]) for row in rows if row["scorer"] == name]
        same = "equal to the bit" if all(one == own[0] for one in own) else "DIFFERENT"
        lines.append(
            f"- *{name}*: the answer and all shares with their intervals are {same} in {len(own)} "
            "audits."
        )
    return [*lines, ""]


def check(folder: Path, condition: Condition, seed: int, queries: int = 60) -> float:
    """The largest difference, in shares of the worth, between a bound or a value found here and by
    ``audit()`` of the scorers of plain text; all else must be alike.

    Raises:
        AssertionError: another answer, or a difference beyond the rounding of float32 scores.
    """
    asked = planted(condition, seed, queries)
    task = _task(folder, asked, seed)
    systems = [System(name, model=UserFunction(_listed(score))) for name, score in PLAIN.items()]
    settings = AuditSettings(
        rotation=False,
        needles=queries,
        depth=MENTIONS + STRANGERS,
        seed=seed,
    )
    verdicts = given_in(audit(task, systems, settings).rows)
    all_scored = scored(
        asked, placebo_queries(asked, (queries,), seed), seed, Passages.of(asked), edged=True
    )
    ((number, _, places),) = audits(asked, (queries,), seed)
    largest = 0.0
    for result in verdicts:
        verdict = result.verdict
        if verdict.question != Question.PASSAGE:
            continue
        own = verdict_of(asked, all_scored[result.system], places, number)
        effects = shares(verdict)
        assert (own["preference"], own["by"]) == (
            str(verdict.preference),
            str(verdict.effects[0].contrast),
        ), result.system
        assert own["effects"].keys() == effects.keys(), result.system
        apart = max(
            (
                abs(a - b)
                for name in effects
                for a, b in zip(effects[name], own["effects"][name], strict=True)
            ),
            default=0.0,
        )
        assert apart < 2 * 10**-ROUNDED, f"{result.system}: {apart}"
        largest = max(largest, apart)
    assert len(verdicts) == 2 * len(PLAIN)
    return largest


def _listed(score: Callable[[str, str], float]) -> Callable[[str, Sequence[str]], list[float]]:
    return lambda query, passages: [score(query, passage) for passage in passages]


def _task(folder: Path, asked: Sequence[Asked], seed: int) -> Task:
    """The queries as a collection on disk, with their candidates."""
    ids = dict(_passage_ids(asked))
    with create_collection(folder) as writer:
        writer.add_passages([Passage(passage_id, text) for text, passage_id in ids.items()])
        ordered = sorted(asked, key=lambda one: one.query_id)
        writer.add_split(
            "test",
            [Query(one.query_id, one.query) for one in ordered],
            [Qrel(one.query_id, one.passage_id, 1) for one in ordered],
            [
                Answer(
                    one.query_id, one.passage_id, one.text[one.start : one.end], one.start, one.end
                )
                for one in ordered
            ],
        )
        writer.finish(
            Manifest(
                "collection",
                "asked",
                "import planted",
                seed=seed,
                licence="CC0-1.0 (invented text)",
            )
        )
    collection = Collection(folder)
    lists = (
        (one.query_id, [ids[text] for text in one.candidates], -np.arange(len(one.candidates)))
        for one in asked
    )
    return make_task(
        collection,
        "test",
        Run("candidates", lists),
        AuditSettings(depth=MENTIONS + STRANGERS, seed=seed),
    )


def run_all(state: Path, numbers: range, sizes: Sequence[int]) -> None:
    """Audit the collections of these numbers of each condition, at these sizes; those with a
    receipt are done.
    """
    for number in numbers:
        for place, condition in enumerate(CONDITIONS):
            receipt = state / f"{condition.name}-{number:04d}.json"
            seed = FIRST_SEED + number * len(CONDITIONS) + place
            kept_part(
                receipt, partial(collection, condition, seed, sizes=sizes, edged=number < EDGED_IN)
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", choices=("check", "audit", "squad", "spans", "depths", "keep", "table")
    )
    parser.add_argument("state", type=Path, nargs="?")
    parser.add_argument("--name", help="of kept counts")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        help="files of SQuAD, or of MS MARCO's answers",
    )
    parser.add_argument(
        "--collections", type=int, default=600, help="of each of the four conditions"
    )
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="the number of the first one: another number is another draw",
    )
    given = parser.parse_args()
    if given.what == "check":
        for condition in CONDITIONS:
            largest = check(given.state / condition.name, condition, FIRST_SEED - 1)
            print(f"{condition.name}: equal to audit() within {largest:.1e} of the worth")
    elif given.what == "audit":
        run_all(given.state, range(given.first, given.first + given.collections), SIZES)
    elif given.what == "squad":
        articles = [article for path in given.data for article in squad(path)]
        for size in REAL_SIZES:
            audit_samples("SQuAD", samples(articles, size), given.state)
    elif given.what == "spans":
        for path in given.data:
            audit_samples("MS MARCO", [spans(path)], given.state)
    elif given.what == "depths":
        rows = kept_part(
            given.state / "depths.json",
            lambda: {"rows": depths(given.data[0], given.state / "collection")},
        )["rows"]
        result_place("audit_depths").write_text("\n".join(depth_table(rows)), encoding="utf-8")
    elif given.what == "keep":
        if not given.name:
            parser.error("keep: wanted --name NAME; found none; name the campaign")
        Counts.of(given.state).write(RESULTS / f"audit_false_alarms_{given.name}.json")
    else:
        parts = sorted(RESULTS.glob("audit_false_alarms_*.json"))
        counts = Counts()
        for part in parts:
            counts.add(Counts.read(part))
        text = table(counts, [part.name for part in parts])
        result_place("audit_false_alarms").write_text(text)
        print(text)


if __name__ == "__main__":
    main()
