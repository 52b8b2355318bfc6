"""Place a passage's evidence sentence by a density; the other sentences keep their order.

``positions.evidence_sentences`` chooses the sentence and the questions; both are the same for every
density, so the arms of an experiment (one collection and seed, several densities) differ only in
the places. The place is the quantile, under the density, of a number that depends on (seed, passage
id) alone [decision], so any order, sharding and number of workers give the same text.

Sentences of a passage with evidence are joined by one space, even if the evidence does not move, so
all arms hold the same words [decision]. Passages without evidence keep their text. Each split has a
table ``placed/SPLIT.parquet`` with a row per question and passage: its number of sentences, the
evidence's sentence before and after (from 0), and its weight if distances are matched.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import bad_input
from positionbias.core.files import file_mark, sha256_file
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject, converted
from positionbias.core.manifest import Provenance
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Passage
from positionbias.core.rows import Collected
from positionbias.core.shards import read_shard, write_shard
from positionbias.core.steps import MapShards
from positionbias.positions.evidence_sentences import (
    EvidenceSentence,
    KeptQuestions,
    choose_sentences,
)
from positionbias.positions.placed import PlacedQuestions, weights_by_distance
from positionbias.positions.rewrite import MoveSpan, Rewriting, Rewritten, RewrittenShard, rewrite
from positionbias.positions.settings import Density, Placing
from positionbias.text.sentences import Parts, sentence_spans, with_own_at

PLACED = "placed"
MOVED, STAYED, WITHOUT = FATES = ("moved", "drawn_where_it_was", "without_a_kept_question")


class _Move(NamedTuple):
    """A move of a passage's sentence ``own`` to sentence ``place``."""

    own: int
    place: int


@dataclass(frozen=True, slots=True)
class _Facts(Rewritten):
    """The changes to a collection, and counts of ``questions`` kept or dropped, by split and
    fate.
    """

    questions: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class _Shard:
    """A shard, its rows with placed evidence in increasing order, and their moves, each ``(rows,)``
    int64.
    """

    path: Path
    rows: np.ndarray
    own: np.ndarray
    place: np.ndarray

    def fingerprint(self) -> str:
        moves = hashlib.sha256(
            b"".join(item.tobytes() for item in (self.rows, self.own, self.place))
        ).hexdigest()
        return repr((sorted(file_mark(self.path).items()), moves))


def place(
    collection: CollectionLike,
    out: Path | str,
    placing: Placing,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    name: str | None = None,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` with its evidence sentences placed, shard by shard through
    ``map_shards``; ``name`` defaults to the folder's name.

    Raises:
        InputError: no question can be kept, an answer lies outside its passage, or the collection
            cannot be read.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)  # before all answers are located
    collection = find_collection(collection)
    kept = choose_sentences(collection, seed=placing.seed, map_shards=map_shards)
    moves = {
        passage_id: _draw(placing, passage_id, sentence)
        for passage_id, sentence in kept.sentences.items()
    }
    rewriting = Rewriting(
        command="place",
        what="placement",
        settings=placing.record(),
        seed=placing.seed,
        shards=_shards(collection, moves),
        make=_place_shard,
        move=partial(_follow, moves),
        fates=FATES,
        notes=_notes(placing),
        kept=kept.passages_of,
        beside=partial(_write_tables, placing, kept, moves),
    )
    return rewrite(
        collection,
        out,
        rewriting,
        map_shards=map_shards,
        overwrite=overwrite,
        name=name,
        provenance=provenance,
    )


def _draw(placing: Placing, passage_id: str, sentence: EvidenceSentence) -> _Move:
    return _Move(
        sentence.own,
        placing.density.draw(sentence.sentences, placing.seed, "place sentence", passage_id),
    )


def _shards(collection: Collection, moves: Mapping[str, _Move]) -> list[_Shard]:
    rows = collection.rows([*moves])
    order = np.argsort(rows)
    rows, drawn = rows[order], np.array([*moves.values()], np.int64).reshape(-1, 2)[order]
    starts = collection.shard_starts
    edges = pairwise(np.searchsorted(rows, starts).tolist())
    return [
        _Shard(path, rows[a:b] - start, *drawn[a:b].T)
        for path, start, (a, b) in zip(collection.shard_paths, starts.tolist(), edges, strict=False)
    ]


def _place_shard(shard: _Shard, target: Path) -> RewrittenShard:
    """Write one shard with its evidence placed; a pure function of the shard and its moves."""
    moves = {
        row: _Move(own, to)
        for row, own, to in zip(
            *(c.tolist() for c in (shard.rows, shard.own, shard.place)), strict=True
        )
    }

    def placed() -> Iterator[Passage]:
        row = 0
        for batch in read_shard(shard.path).to_batches():
            for passage in map(
                Passage, batch.column("passage_id").to_pylist(), batch.column("text").to_pylist()
            ):
                yield (
                    passage
                    if row not in moves
                    else passage._replace(text=_Placed(passage.text, moves[row]).text)
                )
                row += 1

    written = write_shard(target, placed())
    moved = sum(move.own != move.place for move in moves.values())
    fates = {MOVED: moved, STAYED: len(moves) - moved, WITHOUT: written.count - len(moves)}
    return RewrittenShard(written.count, written.checksum, fates)


class _Placed:
    """A passage with its evidence placed, and the new places of its spans."""

    def __init__(self, text: str, move: _Move) -> None:
        self.original, self.spans = text, sentence_spans(text)
        pieces = [text[start:end] for start, end in self.spans]
        self.text = with_own_at(Parts(pieces, move.own), move.place)
        order = [number for number in range(len(pieces)) if number != move.own]
        order.insert(move.place, move.own)
        lengths = [len(pieces[number]) + 1 for number in order]
        self.starts = dict(zip(order, accumulate([0, *lengths[:-1]]), strict=True))

    def move_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span's new place; None if it is no longer contiguous."""
        own = max(0, bisect_right(self.spans, start, key=lambda span: span[0]) - 1)
        moved = start - self.spans[own][0] + self.starts[own]
        same = moved >= 0 and self.text[moved : moved + end - start] == self.original[start:end]
        return (moved, moved + end - start) if same else None


def _follow(moves: Mapping[str, _Move], passage: Passage) -> MoveSpan:
    """Return the function that moves a span of this passage."""
    move = moves.get(passage.passage_id)
    return _Placed(passage.text, move).move_span if move is not None else _unmoved


def _unmoved(start: int, end: int) -> tuple[int, int]:
    return start, end


def _write_tables(
    placing: Placing, kept: KeptQuestions, moves: Mapping[str, _Move], folder: Path
) -> JsonObject:
    """Write a table of each split's questions; return how many were kept, and the tables'
    checksums.
    """
    (folder / PLACED).mkdir(exist_ok=True)
    checksums = {}
    for split, passages_of in kept.passages_of.items():
        if passages_of:
            path = folder / PLACED / f"{split}.parquet"
            _table(placing, kept, passages_of, moves).write(path)
            checksums[split] = sha256_file(path)
    return {"questions": kept.counts, "tables": checksums}


def _table(
    placing: Placing,
    kept: KeptQuestions,
    passages_of: Mapping[str, Sequence[str]],
    moves: Mapping[str, _Move],
) -> PlacedQuestions:
    pairs = [
        (query_id, passage_id)
        for query_id, passages in passages_of.items()
        for passage_id in passages
    ]
    numbers = np.array([(kept.sentences[p].sentences, *moves[p]) for _, p in pairs], np.int64)
    placed = PlacedQuestions(
        [query_id for query_id, _ in pairs], [passage_id for _, passage_id in pairs], *numbers.T
    )
    return replace(placed, weight=weights_by_distance(placed)) if placing.match_distance else placed


def _notes(placing: Placing) -> tuple[str, ...]:
    return (
        "Each passage of three or more sentences keeps the questions of the one sentence that "
        "answers most (ties by key); all other questions were dropped and counted.",
        f"That sentence's place is drawn from the density {placing.density} by (seed, passage id) "
        "alone; the others keep their order, and all are joined by one space.",
    )


def placing_of(collection: Collection) -> Placing:
    """Return the settings of a placed collection.

    Raises:
        InputError: a collection not made by ``place``.
    """
    if collection.manifest.command != "place":
        found = f"one made by {collection.manifest.command!r}"
        raise bad_input(
            collection.path,
            wanted="a placed collection",
            found=found,
            do="make one with: posbias collection place",
        )
    settings = collection.manifest.settings
    return converted(Placing, {**settings, "density": Density.of(settings["density"])})


def placed_questions(collection: Collection, split: str) -> PlacedQuestions:
    """Return the placed questions of a split.

    Raises:
        InputError: a collection not made by ``place``, or no such split.
    """
    placing_of(collection)
    collection.queries(split)
    return PlacedQuestions.read(collection.path / PLACED / f"{split}.parquet")


def placement_rows(collection: Collection) -> DataFrame:
    """Return the counts of a placement from the manifest: passages by outcome, and the questions of
    each split by outcome.

    Raises:
        InputError: as ``placing_of``.
    """
    placing_of(collection)
    facts = collection.manifest.content_as(_Facts, "placement")
    made = Collected({"study": "place", "collection": collection.name})
    moved = facts.passages[MOVED] / len(collection) if len(collection) else None
    made.add("passages", "share moved", moved, unit="share", count=len(collection))
    for outcome, number in facts.passages.items():
        label = outcome.replace("_", " ")
        made.add("passages", "count", number, axis="cause", label=label)
    for split, questions in facts.questions.items():
        for outcome, number in questions.items():
            made.add("questions", "count", number, axis="cause", label=outcome, split=split)
        if split in facts.splits:  # one without a kept question is left out
            made.add("answers", "cut", facts.splits[split].cut, split=split)
    return made.rows
