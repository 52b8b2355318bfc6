"""Rewrite a collection's passages one for one, shard by shard; move its answers along and copy
queries and judgements.

An answer with offsets moves with its text; if the rewriting splits it, it is dropped and counted.
An answer without offsets stays without: readers find it by its words in the new text, under their
own settings. It is dropped and counted as cut only if matching its words (BlingFire,
case-sensitive) finds it in the original and the rewriting splits every match [our decisions].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref, package_versions
from positionbias.core.progress import track
from positionbias.core.records import Answer, Passage
from positionbias.core.shards import Shard
from positionbias.core.split_tables import KIND, of_queries
from positionbias.core.steps import MapShards
from positionbias.positions.answers import answered_passages
from positionbias.positions.locate import TokenisedPassage, known_span, locate
from positionbias.positions.settings import Matching
from positionbias.text.splitter import USUAL_WORDS

Item = TypeVar("Item")
MoveSpan = Callable[[int, int], tuple[int, int] | None]
ORIGINAL = "original"  # the role of the collection itself among the inputs
OWN_CONTENT = ("checksum", "passages_checksum", "passages", "shards", "splits", "absent")


def _nothing_more(folder: Path) -> JsonObject:
    return {}


@dataclass(frozen=True, slots=True)
class RewrittenShard(Shard):
    """A shard with counts of ``passages`` by fate."""

    passages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AnswersMoved:
    """The answers of a split: ``kept`` ones moved with their passage, ``cut`` ones were dropped."""

    answers: int
    kept: int
    cut: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Counts of passages by fate, and of the answers of each split."""

    passages: Mapping[str, int]
    splits: Mapping[str, AnswersMoved]


@dataclass(frozen=True, slots=True)
class Rewriting(Generic[Item]):
    """The rewriting of every passage.

    ``make(item, path)`` writes one of ``shards`` as ``CollectionWriter.add_shards`` wants it, and
    counts its passages by ``fates``. ``move(passage)`` returns a function that gives a span's new
    place, or None if the span is split. ``kept`` has the queries to keep, by split; a split without
    any is left out; None keeps all. ``beside(folder)`` writes other files into the collection and
    returns facts about them. The manifest has these facts and the counts under ``what``.
    """

    command: str
    what: str
    settings: JsonObject
    seed: int
    shards: Sequence[Item]
    make: Callable[[Item, Path], RewrittenShard]
    move: Callable[[Passage], MoveSpan]
    fates: Sequence[str]
    notes: Sequence[str]
    kept: Mapping[str, Iterable[str]] | None = None
    beside: Callable[[Path], JsonObject] = _nothing_more


def rewrite(
    collection: Collection,
    out: Path | str,
    rewriting: Rewriting[Any],
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    name: str | None = None,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` rewritten, shard by shard through ``map_shards``; ``name`` defaults to
    the folder's name.

    Raises:
        InputError: an answer lies outside its passage, or the collection cannot be read.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    out, kept = Path(out), rewriting.kept
    job: JsonObject = {
        "command": rewriting.command,
        "settings": dict(rewriting.settings),
        "collection": collection.checksum,
    }
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        passages = Counter(dict.fromkeys(rewriting.fates, 0))
        done = writer.add_shards(RewrittenShard, rewriting.make, rewriting.shards, map_shards)
        for facts in track(done, rewriting.command, len(rewriting.shards), unit="shards"):
            passages.update(facts.passages)
        splits = {}
        for split in collection.splits:
            if kept is not None and not kept.get(split):
                continue
            tables = collection.tables(split)
            if kept is not None:
                tables = of_queries(tables, kept[split])
            answers = [Answer(**row) for row in tables.pop("answers").to_pylist()]
            moved = _moved(collection, answers, rewriting.move)
            writer.add_tables(split, tables).add(answers=moved)
            splits[split] = {
                "answers": len(answers),
                "kept": len(moved),
                "cut": len(answers) - len(moved),
            }
        original = collection.manifest
        writer.finish(
            Manifest(
                kind=KIND,
                name=name or out.name,
                command=rewriting.command,
                settings=rewriting.settings,
                seed=rewriting.seed,
                inputs=(input_ref(ORIGINAL, collection.path, collection.checksum, artefact=out),),
                licence=original.licence,
                notes=(*original.notes, *rewriting.notes),
                content={
                    **{
                        key: value
                        for key, value in original.content.items()
                        if key not in OWN_CONTENT
                    },
                    rewriting.what: {
                        "passages": dict(passages),
                        "splits": splits,
                        **rewriting.beside(writer.folder),
                    },
                },
                versions=package_versions(USUAL_WORDS),
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in the original are missing here too
        )
    return Collection(out)


class Moved(NamedTuple):
    """One answer, by its number, and the new place of each of its spans (by offsets, else by
    matching); None for a split span.
    """

    number: int
    spans: list[tuple[int, int] | None]


def moved_answers(
    collection: Collection, answers: Sequence[Answer], move: Callable[[Passage], MoveSpan]
) -> Iterator[Moved]:
    """Yield every answer with its new places, passage by passage."""
    for passage, indices in answered_passages(collection, answers):
        move_span = move(passage)
        words: TokenisedPassage | None = None
        for number in indices:
            span = known_span(answers[number], passage.text)
            if span is not None:
                spans = [span]
            else:
                words = words or TokenisedPassage(passage.text, Matching())
                spans = locate(words, answers[number]).spans
            yield Moved(number, [move_span(start, end) for start, end in spans])


def _moved(
    collection: Collection, answers: Sequence[Answer], move: Callable[[Passage], MoveSpan]
) -> list[Answer]:
    """The remaining answers, in order, at their new places."""
    left: list[Answer | None] = [None] * len(answers)
    for number, spans in moved_answers(collection, answers, move):
        left[number] = _at(answers[number], spans)
    return [answer for answer in left if answer is not None]


def _at(answer: Answer, spans: list[tuple[int, int] | None]) -> Answer | None:
    if spans and not any(spans):
        return None
    if answer.start is None or not spans[0]:
        return answer
    start, end = spans[0]
    return answer._replace(start=start, end=end)
