"""Keep only the queries of a split whose answers start in one part of their passages, for a bias of
known size.

Position is that of ``positionbias.positions.histogram``: an answer's first word / the passage's
words. A query with several answers, or with an answer that occurs several times, is kept if every
known start lies in the range [decision]. Queries without a
located answer are dropped and counted. Other splits and passages do not change, and neither do a
first stage's results for a query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref, package_versions
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.rows import Collected
from positionbias.core.seeds import drawn_order
from positionbias.core.split_tables import KIND, of_queries
from positionbias.core.steps import MapShards
from positionbias.positions.answers import (
    ONE_START,
    SHARD_PASSAGES,
    AnswerCounts,
    AnswerShard,
    answer_shards,
    answers_by_query,
    counted_answers,
)
from positionbias.positions.settings import Selection
from positionbias.text.formatting import plural
from positionbias.text.splitter import USUAL_WORDS

PURPOSE = "select query"


@dataclass(frozen=True, slots=True)
class Selected:
    """The selection of a split's queries by the starts of their answers: ``kept`` of ``queries``,
    ``answers`` by outcome, ``unmatched`` by cause.

    ``without_known_position`` are those without a located answer that could start elsewhere in its
    passage.
    """

    kept: int
    queries: int
    without_known_position: int
    outside: int
    inside_in_part: int
    inside: int
    answers: Mapping[str, int]
    unmatched: Mapping[str, int] = field(default_factory=dict)


class _Starts(NamedTuple):
    """Counts by query of known answer starts and of those in the range, and counts of answers by
    outcome.
    """

    known: Counter[str]
    inside: Counter[str]
    counts: AnswerCounts


class _Chosen(NamedTuple):
    """The ids of the kept queries, and counts of dropped ones by cause."""

    query_ids: set[str]
    facts: Selected


def select(
    collection: CollectionLike,
    out: Path | str,
    selection: Selection,
    *,
    by: CollectionLike | None = None,
    map_shards: MapShards = map,
    overwrite: bool = False,
    name: str | None = None,
    provenance: Provenance | None = None,
) -> Collection:
    """Write ``collection`` with only the chosen queries in one split. Answers of ``by``, if given,
    choose them: give the original of a rotated collection to keep the same queries in both.
    ``name`` defaults to the folder's name.

    Raises:
        InputError: no such split, no query whose answers start in the range, or one that
            ``collection`` lacks.
        SettingError: fewer queries than wanted.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    refuse_existing(out, overwrite=overwrite)  # before all answers are located
    out, collection = Path(out), find_collection(collection)
    by = find_collection(by) if by is not None else collection
    chosen = _choose(by, selection, map_shards)
    settings = selection.record()
    inputs = [input_ref("selected", collection.path, collection.checksum, artefact=out)]
    if by is not collection:
        _check_queries(collection, by, selection.split, chosen.query_ids)
        inputs.append(input_ref("chosen by", by.path, by.checksum, artefact=out))
    # the original of a rotated collection, reachable from here too
    if original := collection.manifest.input("original"):
        inputs.append(
            input_ref("original", collection.path / original.path, original.checksum, artefact=out)
        )
    job: JsonObject = {
        "command": "select",
        "settings": settings,
        "collections": [item.checksum for item in inputs],
    }
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        writer.share_passages(collection)
        for split in collection.splits:
            tables = collection.tables(split)
            if split == selection.split:
                tables = of_queries(tables, chosen.query_ids)
            writer.add_tables(split, tables)
        writer.finish(
            Manifest(
                kind=KIND,
                name=name or out.name,
                command="select",
                settings=settings,
                seed=selection.seed,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
                notes=(*collection.manifest.notes, *_notes(selection)),
                content={"selection": asdict(chosen.facts)},
                versions=package_versions(USUAL_WORDS),
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in the collection are missing here too
        )
    return Collection(out)


def count_fitting(
    collection: Collection, selection: Selection, *, map_shards: MapShards = map
) -> int:
    """Count the queries with their answers in the range, regardless of the number wanted.

    Raises:
        InputError: a missing split, or no such query.
    """
    return len(_choose(collection, replace(selection, queries=None), map_shards).query_ids)


def _choose(collection: Collection, selection: Selection, map_shards: MapShards) -> _Chosen:
    query_ids = [query.query_id for query in collection.queries(selection.split)]
    starts = _Starts(Counter(), Counter(), AnswerCounts())
    shards = answer_shards(collection, selection.split, SHARD_PASSAGES)
    for part in track(
        map_shards(partial(_find_starts, selection), shards), "answers", unit="shards"
    ):
        starts.known.update(part.known)
        starts.inside.update(part.inside)
        starts.counts.add(part.counts)
    placed = [item for item in query_ids if starts.known[item]]
    whole = [item for item in placed if starts.inside[item] == starts.known[item]]
    partly = [item for item in placed if 0 < starts.inside[item] < starts.known[item]]
    kept = _drawn(whole, selection)
    facts = Selected(
        kept=len(kept),
        queries=len(query_ids),
        without_known_position=len(query_ids) - len(placed),
        outside=len(placed) - len(whole) - len(partly),
        inside_in_part=len(partly),
        inside=len(whole),
        answers=dict(starts.counts.outcomes),
        unmatched=dict(starts.counts.unmatched),
    )
    _check_enough(collection, selection, len(whole), facts)
    return _Chosen(kept, facts)


def _check_enough(
    collection: Collection, selection: Selection, fitting: int, facts: Selected
) -> None:
    if not fitting:
        raise InputError(
            f"{collection.path}: wanted queries of split {selection.split!r} whose answers start "
            f"in {selection.answers_in}; found none among {facts.queries:,} "
            f"({facts.outside + facts.inside_in_part:,} with answers elsewhere, "
            f"{facts.without_known_position:,} without a known position{_one_start(facts)}); widen "
            "--answers-in, or give another --split"
        )
    if selection.queries is not None and selection.queries > fitting:
        raise SettingError(
            f"--queries: wanted {selection.queries:,} queries of split {selection.split!r} whose "
            f"answers start in {selection.answers_in}; found {fitting:,}; lower it"
        )


def _one_start(facts: Selected) -> str:
    count = facts.answers.get(ONE_START, 0)
    return (
        f", as {plural(count, 'answer')} fill{'' if count > 1 else 's'} the passage"
        if count
        else ""
    )


def _drawn(query_ids: Sequence[str], selection: Selection) -> set[str]:
    """Draw the wanted number of queries, those with the smallest keys, so that a smaller draw is
    part of a larger one.
    """
    return set(drawn_order(query_ids, selection.seed, PURPOSE)[: selection.queries])


def _find_starts(selection: Selection, shard: AnswerShard) -> _Starts:
    """Count the starts of a shard's answers; a pure function of the shard and the settings."""
    found, holds = _Starts(Counter(), Counter(), AnswerCounts()), selection.answers_in.test()
    for passage, answers in answers_by_query(selection.matching, shard):
        for answer, place, spans, repeated in counted_answers(passage, answers):
            found.counts.add_place(place, repeated)
            movable = [span for span in spans if passage.may_start_elsewhere(span)]
            found.counts.outcomes.update([ONE_START] * (len(spans) - len(movable)))
            inside = sum(holds(passage.words_at(span).first, len(passage)) for span in movable)
            found.known[answer.query_id] += len(movable)
            found.inside[answer.query_id] += inside
    return found


def _check_queries(collection: Collection, by: Collection, split: str, query_ids: set[str]) -> None:
    missing = query_ids.difference(query.query_id for query in collection.queries(split))
    if missing:
        raise InputError(
            f"{collection.path}: wanted the queries of {by.path} in split {split!r}; found "
            f"{len(missing):,} missing, such as {min(missing)!r}; give --answers-of the collection "
            "that this one was made from"
        )


def _notes(selection: Selection) -> tuple[str, ...]:
    notes = (
        f"Of split {selection.split!r} a query was kept where every known start of its answers "
        f"lies in {selection.answers_in} of its passage (first word / words); queries without a "
        "located answer, or whose answers "
        "fill their passages, were dropped and counted.",
    )
    drawn = (
        (f"{selection.queries:,} of these were drawn by (seed, id) alone.",)
        if selection.queries is not None
        else ()
    )
    return (*notes, *drawn)


def selection_rows(collection: Collection) -> DataFrame:
    """Return the counts of a selection from the manifest: queries and answers by outcome."""
    manifest = collection.manifest
    facts = manifest.content_as(Selected, "selection")
    split = str(manifest.settings["split"])
    made = Collected({"study": "select", "collection": collection.name, "split": split})
    share = facts.kept / facts.queries
    made.add("queries", "share kept", share, unit="share", count=facts.queries)
    made.add("queries", "kept", facts.kept)
    counted: dict[str, Mapping[str, int]] = {
        "queries": {
            "without a known position": facts.without_known_position,
            "outside": facts.outside,
            "inside in part": facts.inside_in_part,
            "inside": facts.inside,
        },
        "answers": {name.replace("_", " "): n for name, n in facts.answers.items()},
        "unmatched answers": facts.unmatched,
    }
    for measure, numbers in counted.items():
        for cause, number in numbers.items():
            made.add(measure, "count", number, axis="cause", label=cause)
    return made.rows
