"""Rotate each passage of a collection once (position-bias paper, §4.2), and move the answers along.

The draw for a passage depends on (seed, passage id) alone [our decision], so any order, sharding
and number of workers give the same text. Queries and judgements are copied; see
``positions.rewrite`` for answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import read_as
from positionbias.core.manifest import Provenance
from positionbias.core.outcome import hint_collection
from positionbias.core.places import Place, home_place, pasted
from positionbias.core.records import Passage
from positionbias.core.rows import Collected
from positionbias.core.seal import AGAIN
from positionbias.core.shards import read_shard, write_shard
from positionbias.core.steps import MapShards
from positionbias.engine.choose import Engine
from positionbias.positions.cuts import (
    ONE_SENTENCE,
    ROTATED,
    WORDLESS,
    byte_cuts,
    fates,
    laid_out,
    possible_fates,
)
from positionbias.positions.raw_files import RotatedFile
from positionbias.positions.rewrite import (
    ORIGINAL,
    MoveSpan,
    Rewriting,
    Rewritten,
    RewrittenShard,
    moved_answers,
    rewrite,
)
from positionbias.positions.rotate import Rotation, move_span
from positionbias.text.splitter import USUAL_WORDS, splitter_of


def debias(
    collection: Collection,
    out: Path | str,
    rotation: Rotation,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    name: str | None = None,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` rotated, shard by shard through ``map_shards``; ``name`` defaults to the
    folder's name.

    Raises:
        InputError: an answer lies outside its passage, or the collection cannot be read.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    rewriting = Rewriting(
        command="debias",
        what="rotation",
        settings=asdict(rotation),
        seed=rotation.seed,
        shards=collection.shard_paths,
        make=partial(_rotate_shard, rotation),
        move=partial(_turn, rotation),
        fates=possible_fates(rotation),
        notes=rotation.notes,
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


def _rotate_shard(rotation: Rotation, source: Path, target: Path) -> RewrittenShard:
    """Rotate one shard into another; a pure function of the shard and the settings."""
    counts: Counter[str] = Counter()

    def rotated() -> Iterator[Passage]:
        for batch in read_shard(source).to_batches():
            yield from _rotate_batch(
                batch.column("passage_id").to_pylist(),
                batch.column("text").to_pylist(),
                rotation,
                counts,
            )

    shard = write_shard(target, rotated())
    return RewrittenShard(shard.count, shard.checksum, counts)


def _rotate_batch(
    ids: list[str], texts: list[str], rotation: Rotation, counts: Counter[str]
) -> Iterator[Passage]:
    encoded = [text.encode() for text in texts]
    data, starts, ends = laid_out(encoded)
    cuts = byte_cuts(data, starts, ends, [item.encode() for item in ids], rotation)
    counts.update(fates(cuts, rotation))
    for passage_id, text, cut in zip(ids, encoded, cuts.offsets.tolist(), strict=True):
        yield Passage(passage_id, (text[cut:] + b" " + text[:cut] if cut else text).decode())


def _turn(rotation: Rotation, passage: Passage) -> MoveSpan:
    """Return the function that moves a span of this passage."""
    return partial(
        move_span, cut=rotation.cut(passage.text, passage.passage_id), length=len(passage.text)
    )


def rotation_of(collection: Collection) -> Rotation:
    """Return the settings of a rotated collection.

    Raises:
        InputError: a collection not made by ``debias``.
    """
    if collection.manifest.command != "debias":
        raise bad_input(
            collection.path,
            wanted="a rotated collection",
            found=f"one made by {collection.manifest.command!r}",
            do="make one with: posbias debias",
        )
    return read_as(Rotation, collection.manifest.settings, collection.path, do=AGAIN)


def _repeatable(rotated: Collection) -> Rotation:
    """Return the settings of a rotated collection whose cuts can be found again here.

    Raises:
        InputError: as ``rotation_of``, or its cuts were found by a splitter that is not on this
            machine.
    """
    rotation = rotation_of(rotated)
    by_sentences = rotation.mode == "sentences"
    needed = (
        (splitter_of(rotated.manifest.versions) or "blingfire") if by_sentences else rotation.words
    )
    if needed != USUAL_WORDS and (by_sentences or needed == "blingfire"):
        raise bad_input(
            rotated.path,
            wanted=f"a rotation by {USUAL_WORDS}, which splits words and sentences here",
            found=f"one by {needed}",
            do="rotate the collection again, or use a machine like the one that rotated it",
        )
    return rotation


def queries_by_cut(
    original: Collection, rotated: Collection, split: str
) -> tuple[set[str], set[str]]:
    """Return the queries of a split without a cut answer span, and those with one.

    A query whose answers cannot be found in its passages is in neither.

    Raises:
        InputError: ``rotated`` was not made from ``original``.
    """
    rotation = _repeatable(rotated)
    source = rotated.manifest.input(ORIGINAL)
    if source is None or source.checksum != original.checksum:
        raise bad_input(
            rotated.path,
            wanted=f"a rotation of {original.path}",
            found="a rotation of another collection, or of other content",
            do="give a collection and its rotation",
        )
    answers = original.answers(split)
    whole: set[str] = set()
    cut: set[str] = set()
    for number, spans in moved_answers(original, answers, partial(_turn, rotation)):
        if spans:
            (whole if all(spans) else cut).add(answers[number].query_id)
    return whole - cut, cut


def add_rotation(
    made: Collected,
    rotation: Rotation,
    passages: Mapping[str, int],
    answers: Mapping[str, Any],
    /,
    **cells: Any,
) -> None:
    """Add what a rotation did to passages, by outcome, and to the answers of each split; of one by
    sentences also the share of passages without an inner sentence boundary.
    """
    count = sum(passages.values())
    changed = passages[ROTATED] / count if count else None
    made.add("rotation", "share changed", changed, unit="share", count=count, **cells)
    if rotation.mode == "sentences" and (with_words := count - passages[WORDLESS]):
        share = passages[ONE_SENTENCE] / with_words
        made.add("rotation", "share of one sentence", share, unit="share", count=count, **cells)
    for outcome, number in passages.items():
        label = outcome.replace("_", " ")
        made.add("rotation", "passages", number, axis="cause", label=label, **cells)
    for split, moved in answers.items():
        for name in ("answers", "kept", "cut"):
            made.add("rotation", name, getattr(moved, name), split=split, **cells)


def file_rows(rotated: RotatedFile) -> DataFrame:
    """Return the counts of the rotation of a raw file."""
    made = Collected({"study": "debias", "collection": rotated.name})
    add_rotation(made, rotated.rotation, rotated.passages, {})
    return made.rows


def rotation_rows(rotated: Collection) -> DataFrame:
    """Return the counts of a rotation from the manifest.

    Raises:
        InputError: as ``rotation_of``.
    """
    made = Collected({"study": "debias", "collection": rotated.name})
    facts = rotated.manifest.content_as(Rewritten, "rotation")
    add_rotation(made, rotation_of(rotated), facts.passages, facts.splits)
    return made.rows


def debias_collection(
    collection: CollectionLike,
    out: Place | None,
    rotation: Rotation,
    engine: Engine,
    *,
    overwrite: bool,
) -> Collection:
    """Write a collection rotated, by default under $POSBIAS_HOME, and say what shows the change."""
    opened = find_collection(collection)
    named = f"{opened.path.resolve().name}-rotated-{rotation.seed}"
    place = Path(out) if out is not None else home_place(named)
    rotated = engine.write(partial(debias, opened, place, rotation), overwrite=overwrite)
    if not any(facts.answers for facts in rotated.split_facts.values()):
        return hint_collection(rotated)
    shows = f"see what changed with: posbias histogram {pasted(opened.path)}"
    return hint_collection(rotated, shows)
