"""A teacher's scores: by a model, or of a teacher that runs elsewhere, and what was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Written, hint_written
from positionbias.core.places import Place, input_place, pasted, placed
from positionbias.core.progress import say
from positionbias.core.rows import Collected
from positionbias.core.settings import flag_of, given_flags
from positionbias.engine.choose import Engine
from positionbias.ranking.config import Computing, TaughtPassages, Teacher
from positionbias.ranking.outside_teacher import take_in
from positionbias.ranking.teach import teach as score
from positionbias.ranking.teacher_scores import TeacherScores
from positionbias.ranking.workers import model_workers

TAUGHT = {  # what is counted -> its name in the manifest of a teacher's scores
    "queries": "queries",
    "pairs": "pairs",
    "training groups": "groups",
    "relevant passages added": "added",
    "relevant passages left out, of queries without candidates": "relevant_without_candidates",
    "relevant passages left out, not in the collection": "relevant_not_in_the_collection",
    "pairs left out, of unknown queries": "pairs_of_unknown_queries",
    "pairs left out, of unknown passages": "pairs_of_unknown_passages",
    "pairs given again with another score": "repeats_that_differ",
    "texts up to the length limit": "truncated",
    "queries without a word": "empty_queries",
}


@dataclass(frozen=True, slots=True, repr=False)
class Taught(Written):
    """A teacher's scores, where they stand, and what was counted."""

    scores: TeacherScores


def teach(
    collection: CollectionLike,
    teacher: Teacher,
    passages: TaughtPassages,
    computing: Computing,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Taught:
    """Write a teacher's scores, and count them.

    Raises:
        SettingError: settings that do not go together.
        InputError, OutputExistsError: as ``ranking.teach.teach`` and ``take_in``.
    """
    _check(teacher, passages)
    if teacher.scores is not None and (
        idle := next(chain(given_flags(computing), given_flags(engine)), None)
    ):
        raise SettingError(
            f"{idle}: wanted none beside --scores, which are not computed here; found one; leave "
            "it out"
        )
    computing.pick_device()  # a GPU that is not there is said before anything is read
    opened, place = find_collection(collection), Path(out)
    if teacher.scores is None:
        passages = placed(passages, ("candidates", "trainset"))
        scores = _by_model(teacher, opened, passages, place, computing, engine, overwrite=overwrite)
    else:
        scores = take_in(
            opened,
            passages.split or "train",
            input_place(teacher.scores),
            place,
            order_only=teacher.order_only,
            only_known=teacher.only_known,
            name=teacher.name,
            overwrite=overwrite,
        )
    loss = "ranknet" if scores.order_only else "margin_mse"
    hint_written(
        place,
        f"next: posbias train bert_dot {pasted(opened.path)} --loss {loss} --teacher-scores "
        f"{pasted(place)} --out STUDENT",
    )
    return Taught(place, scores, rows=_taught_rows(scores, opened))


def _check(teacher: Teacher, passages: TaughtPassages) -> None:
    """Refuse settings that do not go together.

    Raises:
        SettingError: some do not.
    """

    def one_of(flags: str, one: object, other: object) -> None:
        if (one is None) == (other is None):
            raise SettingError(
                f"{flags}: wanted one of the two; found {'neither' if one is None else 'both'}; "
                "give one"
            )

    one_of("--model, --scores", teacher.model, teacher.scores)
    if teacher.model is not None:
        one_of("--candidates, --trainset", passages.candidates, passages.trainset)
    for beside, given, why, of, idle in (
        (
            "--scores",
            teacher.scores,
            "has its own pairs",
            passages,
            ("candidates", "trainset", "depth", "block_pairs"),
        ),
        ("--scores", teacher.scores, "has its own pairs", teacher, ("kind",)),
        (
            "--model",
            teacher.model,
            "scores what it is given",
            teacher,
            ("order_only", "only_known"),
        ),
        (
            "--trainset",
            passages.trainset,
            "says which pairs of which splits",
            passages,
            ("depth", "split"),
        ),
    ):
        name = next((name for name in idle if getattr(of, name)), None)
        if given is not None and name is not None:
            raise SettingError(
                f"{flag_of(name)}: wanted none beside {beside}, which {why}; found one; leave it "
                "out"
            )


def _by_model(
    teacher: Teacher,
    collection: Collection,
    passages: TaughtPassages,
    place: Path,
    computing: Computing,
    engine: Engine,
    *,
    overwrite: bool,
) -> TeacherScores:
    assert teacher.model is not None
    loading = computing.loading(teacher.model, teacher.kind)
    model = loading()
    with model_workers(engine, loading, model) as spread:
        scores = score(
            model,
            collection,
            passages,
            place,
            name=teacher.name,
            config=computing.config,
            overwrite=overwrite,
            spread=spread,
        )
    if (
        scores.manifest is not None
        and (tokens := scores.manifest.provenance["batch_tokens"]) is not None
    ):
        say(
            f"the device's memory was too small for the batches: went on with {tokens:,} tokens a "
            "batch"
        )
    return scores


def _taught_rows(scores: TeacherScores, collection: Collection) -> DataFrame:
    """Return what was counted, and the mean and the range of the scores."""
    assert scores.manifest is not None
    facts: Mapping[str, Any] = scores.manifest.content
    split = "+".join(scores.splits)
    common = {"study": "teach", "collection": collection.name, "split": split}
    made = Collected({**common, "model": scores.name})
    for name, fact in TAUGHT.items():
        if facts.get(fact) is not None:
            made.add(name, "count", facts[fact])
    for statistic, fact in {"mean": "mean", "least": "least", "greatest": "most"}.items():
        if facts.get(fact) is not None:
            made.add("score", statistic, facts[fact])
    return made.rows
