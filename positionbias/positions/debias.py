"""A rotated collection from a collection: every passage rotated once (position-bias paper, §4.2), answers moved along.

The draw for a passage depends on (seed, passage id) alone [our decision], so the same text comes out of any
order, sharding and number of workers. Queries and judgements are carried over as they are.

Answers [our decisions]. A span with offsets moves with its text; one that the cut goes through is dropped and counted.
An answer without offsets keeps none: it is found again by its words in the rotated text, under whatever settings
that reader chooses. It is dropped and counted as cut only where matching its words (BlingFire, case-sensitive)
finds it in the original and the cut goes through every match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import bad_input
from positionbias.core.manifest import input_ref
from positionbias.core.progress import track
from positionbias.core.records import Answer, Passage
from positionbias.core.result import Result
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import read_shard, write_shard
from positionbias.positions.answers import answered_passages
from positionbias.positions.cuts import byte_cuts, fates, laid_out, possible_fates
from positionbias.positions.locate import Matching, Span, TokenisedPassage, known_span, locate
from positionbias.positions.rotate import Rotation, move_span
from positionbias.positions.rotation_facts import rotation_notes, rotation_result_of

__all__ = ["debias", "queries_by_cut", "rotation_of", "rotation_result", "uncut_queries"]

OWN_CONTENT = ("checksum", "passages_checksum", "passages", "shards", "splits", "absent")


def debias(
    collection: Collection,
    out: Path | str,
    rotation: Rotation,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    name: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Collection:
    """Write ``collection`` rotated, shard by shard through ``map_shards``; ``name`` defaults to that of the folder.

    Raises:
        InputError: an answer lies outside its passage, or the collection cannot be read.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
    """
    out = Path(out)
    job = {"command": "debias", "settings": asdict(rotation), "collection": collection.checksum}
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        passages = Counter(dict.fromkeys(possible_fates(rotation), 0))
        done = writer.add_shards(partial(_rotate_shard, rotation), collection.shard_paths, map_shards)
        for facts in track(done, "rotating", len(collection.shard_paths), unit="shards"):
            passages.update(facts["passages"])
        splits = {split: _carry_split(collection, writer, split, rotation) for split in collection.splits}
        original = collection.manifest
        writer.finish(
            name=name or out.name,
            command="debias",
            settings=asdict(rotation),
            seed=rotation.seed,
            inputs=[input_ref("original", collection.path, collection.checksum, artefact=out)],
            licence=original.licence,
            notes=(*original.notes, *rotation_notes(rotation)),
            content={
                **{key: value for key, value in original.content.items() if key not in OWN_CONTENT},
                "rotation": {"passages": dict(passages), "splits": splits},
            },
            allow_absent=True,  # what the original judges without holding it, this one does too
            **(provenance or {}),
        )
    return Collection(out)


def _rotate_shard(rotation: Rotation, source: Path, target: Path) -> dict[str, Any]:
    """Rotate one shard into another; a pure function of the shard and the settings."""
    counts: Counter[str] = Counter()

    def rotated() -> Iterator[Passage]:
        for batch in read_shard(source).to_batches():
            yield from _rotate_batch(batch.column("passage_id").to_pylist(), batch.column("text").to_pylist(), rotation, counts)

    return {**write_shard(target, rotated()).facts(), "passages": counts}


def _rotate_batch(ids: list[str], texts: list[str], rotation: Rotation, counts: Counter[str]) -> Iterator[Passage]:
    encoded = [text.encode() for text in texts]
    data, starts, ends = laid_out(encoded)
    cuts = byte_cuts(data, starts, ends, [item.encode() for item in ids], rotation)
    counts.update(fates(data, starts, ends, cuts, rotation))
    for passage_id, text, cut in zip(ids, encoded, cuts.offsets.tolist(), strict=True):
        yield Passage(passage_id, (text[cut:] + b" " + text[:cut] if cut else text).decode())


def _carry_split(collection: Collection, writer: CollectionWriter, split: str, rotation: Rotation) -> dict[str, int]:
    """Copy a split's queries and judgements, move its answers; how many answers there were, are, and were cut."""
    answers = collection.answers(split)
    moved: list[Answer | None] = [None] * len(answers)
    for placed in _placed(collection, answers, rotation):
        moved[placed.number] = _move(answers[placed.number], placed)
    kept = [answer for answer in moved if answer is not None]
    writer.add_split(split, collection.queries(split), collection.qrels(split), kept)
    for name in collection.qrels_names(split):
        writer.add_qrels(split, name, collection.qrels(split, name))
    return {"answers": len(answers), "kept": len(kept), "cut": len(answers) - len(kept)}


class _Placed(NamedTuple):
    """One answer, by its number, in its original passage: its spans (by offsets, else by matching), the cut, the passage's length."""

    number: int
    spans: list[Span]
    cut: int
    length: int

    def moved(self) -> list[tuple[int, int] | None]:
        """Each span after the rotation; None where it was cut through."""
        return [move_span(start, end, self.cut, self.length) for start, end in self.spans]


def _placed(collection: Collection, answers: Sequence[Answer], rotation: Rotation) -> Iterator[_Placed]:
    for passage, indices in answered_passages(collection, answers):
        cut = rotation.cut(passage.text, passage.passage_id)
        words: TokenisedPassage | None = None
        for number in indices:
            span = known_span(answers[number], passage.text)
            if span is not None:
                spans = [span]
            else:
                words = words or TokenisedPassage(passage.text, Matching())
                spans = locate(words, answers[number]).spans
            yield _Placed(number, spans, cut, len(passage.text))


def _move(answer: Answer, placed: _Placed) -> Answer | None:
    moved = placed.moved()
    if moved and not any(moved):
        return None
    if answer.start is None or not moved[0]:
        return answer
    start, end = moved[0]
    return answer._replace(start=start, end=end)


def rotation_of(collection: Collection) -> Rotation:
    """The settings that a rotated collection was made with.

    Raises:
        InputError: it was not made by ``debias``.
    """
    if collection.manifest.command != "debias":
        raise bad_input(
            collection.path,
            wanted="a rotated collection",
            found=f"one made by {collection.manifest.command!r}",
            do="make one with: posbias debias",
        )
    return Rotation(**collection.manifest.settings)


def uncut_queries(original: Collection, rotated: Collection, split: str) -> set[str]:
    """The queries of a split none of whose answer spans was cut.

    Raises:
        InputError: as ``queries_by_cut``.
    """
    return queries_by_cut(original, rotated, split)[0]


def queries_by_cut(original: Collection, rotated: Collection, split: str) -> tuple[set[str], set[str]]:
    """The queries of a split none of whose answer spans was cut, and those with one that was.

    A query none of whose answers can be found in its passages is in neither: nothing is known of it.

    Raises:
        InputError: ``rotated`` was not made from ``original``.
    """
    rotation = rotation_of(rotated)
    source = rotated.manifest.input("original")
    if source is None or source.checksum != original.checksum:
        raise bad_input(
            rotated.path,
            wanted=f"a rotation of {original.path}",
            found="a rotation of another collection, or of other content",
            do="give the two collections that belong together",
        )
    answers = original.answers(split)
    whole: set[str] = set()
    cut: set[str] = set()
    for placed in _placed(original, answers, rotation):
        moved = placed.moved()
        if moved:
            (whole if all(moved) else cut).add(answers[placed.number].query_id)
    return whole - cut, cut


def rotation_result(collection: Collection) -> Result:
    """What a rotation did, from the manifest; ``value`` is the share of passages that it changed.

    Raises:
        InputError: as ``rotation_of``.
    """
    facts, checksum = collection.manifest.content["rotation"], collection.manifest.content["passages_checksum"]
    more = {**{f"answers_{split}": counts for split, counts in facts["splits"].items()}, "passages_checksum": checksum}
    return rotation_result_of(collection.name, rotation_of(collection), facts["passages"], more)
