"""Collections made of collections, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.formatting import plural, setting
from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, Seed, Source, operation
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting
from positionbias.core.splitter import USUAL_WORDS
from positionbias.engine.choose import Engine
from positionbias.ops.imports import row_remarks
from positionbias.positions.settings import Placing, Selection

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.manifest import Manifest

__all__ = ["attach", "merge", "place", "sample", "select", "show"]


@operation
def show(collection: Source, *, engine: Engine = Engine()) -> Measurements:
    """Say what a collection holds: passages, queries, judgements and answers a split, lengths, and
    what made it.

    Lengths are in BlingFire words. Re-rankers read the first 200 words of a passage and the first
    30 of a query: the share of longer ones is printed.

    Returns:
        Rows: what is counted of the passages, and of each split.

    Raises:
        InputError: it is not there, or cannot be read.

    Example:
        >>> import positionbias as pb
        >>> print(pb.show("planted"))
        planted: 240 passages, 90 queries (train 50, validation 12, test 18, fresh 10) and 128 ...
        <BLANKLINE>
        What the collection holds
        <BLANKLINE>
        Split       queries  judgements  answers
        ──────────  ───────  ──────────  ───────
        train            50          70       70
        validation       12          12       12
        test             18          76       36
        ...
    """
    from positionbias.core.collection import find_collection
    from positionbias.text.statistics import collection_rows

    opened = find_collection(collection)
    with engine.open() as map_shards:
        rows = collection_rows(opened, lengths=True, map_shards=map_shards)
    read = [Read("collection", opened.path, opened.checksum)]
    return Measurements(
        rows=rows,
        remarks=_origin(opened.manifest),
        command="show",
        settings={},
        read=read,
        name=opened.name,
        licence=opened.manifest.licence,
        packages=(USUAL_WORDS,),
        host=engine.host,
    )


def _origin(made: Manifest) -> list[str]:
    """Say what made a collection, from which inputs, and under which licence."""
    from positionbias.core.manifest import input_name

    settings = ", ".join(f"{name} {setting(value)}" for name, value in made.settings.items())
    inputs = [
        f"{item.role}: {input_name(item.path)} (checksum {item.checksum[:16]}…)"
        for item in made.inputs
    ]
    return [
        f"Made by {made.command} ({settings or 'no settings'}), {made.created}, positionbias "
        f"{made.versions.get('positionbias', '?')}.",
        *inputs,
        f"Licence: {made.licence or 'not stated'}.",
        *made.notes,
    ]


@operation
def attach(
    collection: Source,
    *,
    answers: Annotated[
        Place,
        Setting(
            "A table with columns query_id, passage_id, answer and, where known, answer_start, in "
            "any form of posbias import table.",
            metavar="FILE",
            place="read",
        ),
    ],
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Write ``collection`` with further answers, so that a data set without any can be measured and
    audited.

    Queries, passages and judgements stay. Answers of unknown queries or passages, and those whose
    text is not in their passage, are left out and counted by cause.

        posbias collection attach scifact --answers rationales.jsonl --out scifact-answers
        posbias histogram scifact-answers

    Returns:
        The collection with these answers.

    Raises:
        InputError: a table that cannot be read, without one of the columns, or without an answer
            that fits.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> import json, pathlib
        >>> without = pb.import_beir("beir", out="without")
        >>> found = pb.Collection("planted").answers("test")[0]
        >>> row = {
        ...     "query_id": found.query_id,
        ...     "passage_id": found.passage_id,
        ...     "answer": found.text,
        ... }
        >>> _ = pathlib.Path("answers.jsonl").write_text(json.dumps(row))
        >>> pb.attach("without", answers="answers.jsonl", out="with").answers("test")
        [Answer(query_id='q...', passage_id='p...', text='...', start=None, end=None)]
    """
    from positionbias.core.collection import find_collection
    from positionbias.formats.answers import AttachedAnswers, attach_answers

    made = attach_answers(
        find_collection(collection), input_place(answers), output_place(out), overwrite=overwrite
    )
    facts = made.manifest.content_as(AttachedAnswers, "attached")
    say(f"{answers}: {', '.join(f'{what} = {column}' for what, column in facts.columns.items())}")
    for split, number in facts.added.items():
        say(f"{split}: {plural(number, 'answer')} added")
    for remark in row_remarks(facts.counts):
        say(remark)
    hint(
        f"written to {pasted(made.path)}; see where its answers are with: posbias histogram "
        f"{pasted(made.path)}"
    )
    return made


@operation
def merge(
    collections: Annotated[
        Sequence[str],
        Setting("Collections, each under its prefix.", metavar="NAME=COLLECTION…", place="read"),
    ],
    *,
    apart: Annotated[
        bool, Setting("Keep splits of one name apart: A's split train is A.train.")
    ] = False,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Write two or more collections as one: what A calls 17 is A:17 there, queries and passages
    alike.

    Splits of one name become one split, so that a model can be trained across corpora; their
    judgement sets of one name likewise. With ``apart`` each keeps its own, to train on one corpus
    and test on another. Nothing is de-duplicated.

        posbias collection merge msm=msmarco squad=squad --out both
        posbias collection merge msm=msmarco robust=robust04 --apart --out both

    Returns:
        The merged collection.

    Raises:
        SettingError: fewer than two, or a prefix that is no plain word.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> both = pb.merge(["A=planted", "B=clicked"], out="both")
        >>> both
        Collection('both', 540 passages, splits train, validation, test, fresh)
        >>> both.queries("test")[0].query_id[:5]
        'A:q0b'
    """
    from positionbias.core.collection import find_collection
    from positionbias.corpora.merge import merge as write_merged

    opened = {prefix: find_collection(place) for prefix, place in _named(collections).items()}
    work = partial(write_merged, opened, output_place(out), apart=apart)
    merged = engine.write(work, overwrite=overwrite)
    hint(
        f"written to {pasted(merged.path)}; look at it with: posbias collection show "
        f"{pasted(merged.path)}"
    )
    return merged


def _named(collections: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for given in collections:
        prefix, equals, place = given.partition("=")
        if not (equals and prefix and place):
            raise SettingError(
                f"COLLECTION: wanted NAME=COLLECTION, as in A=msmarco B=squad; found {given!r}; "
                "name each"
            )
        if prefix in named:
            raise SettingError(
                f"COLLECTION: wanted a name of its own for each; found {prefix!r} twice; give "
                "another"
            )
        named[prefix] = place
    return named


@operation
def sample(
    collection: Source,
    *,
    queries: Annotated[
        int, Setting("Queries to draw of each split, at most.", least=1, metavar="N")
    ],
    passages: Annotated[
        int,
        Setting(
            "Passages in all: those judged for the drawn queries or answering them, and others "
            "drawn up to N.",
            least=1,
            metavar="N",
        ),
    ],
    splits: Annotated[
        Sequence[str],
        Setting(
            "A split to keep; all by default; repeatable.",
            flags=("--split",),
            metavar="SPLIT",
        ),
    ] = (),
    seed: Seed = 1,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Write N queries a split of ``collection`` and M passages: all that is judged for these
    queries, and others beside it.

    What is drawn depends on the seed and its id alone: the sample of fewer is part of the sample of
    more. Where more than M passages are judged, nothing is written, and how many is said.

    Returns:
        The sample.

    Raises:
        SettingError: more passages are judged than are wanted.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> pb.sample("planted", queries=5, passages=60, out="small")
        Collection('small', 60 passages, splits train, validation, test, fresh)
    """
    from positionbias.core.collection import find_collection
    from positionbias.corpora.sample import SampleSettings
    from positionbias.corpora.sample import sample as write_sample

    asked = SampleSettings(queries, passages, splits, seed)
    work = partial(write_sample, find_collection(collection), output_place(out), asked)
    drawn = engine.write(work, overwrite=overwrite)
    hint(
        f"written to {pasted(drawn.path)}; look at it with: posbias collection show "
        f"{pasted(drawn.path)}"
    )
    return drawn


@operation
def select(
    collection: Source,
    *,
    selection: Selection,
    answers_of: Annotated[
        CollectionLike | None,
        Setting(
            "Choose by the answers of this collection: of a rotated collection, keep the queries "
            "that its original would.",
            metavar="COLLECTION",
            place="read",
            shown=False,
        ),
    ] = None,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Write ``collection`` with only those queries of a split whose answers start in one part of
    their passages.

    So a real collection gets a known position bias with its own language. Passages, judgements of
    kept queries and the other splits stay.

        posbias collection select squad --answers-in 0:0.2 --split train --out squad-front

    Returns:
        The collection with these queries.

    Raises:
        SettingError: more queries are wanted than there are.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import AnswerRange, Selection
        >>> front = pb.select(
        ...     "planted", selection=Selection(AnswerRange.parse("0:0.2")), out="front"
        ... )
        >>> len(pb.Collection("planted").queries("train")), len(front.queries("train"))
        (50, 34)
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.select import select as write_selected

    work = partial(
        write_selected,
        find_collection(collection),
        output_place(out),
        selection,
        by=find_collection(answers_of) if answers_of is not None else None,
    )
    selected = engine.write(work, overwrite=overwrite)
    hint(
        f"written to {pasted(selected.path)}; see where its answers are with: posbias histogram "
        f"{pasted(selected.path)}"
    )
    return selected


@operation
def place(
    collection: Source,
    *,
    placing: Placing,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Collection:
    """Write ``collection`` with its evidence at places drawn from a density: real text whose
    positions are set.

    Each passage of three or more sentences keeps the questions of the one sentence that answers
    most of them; that sentence moves, the others keep their order. All other questions are dropped
    and counted, in every split. Of one collection and seed, every density keeps the same questions,
    passages and words, so that models trained on two of them differ by position alone.

        posbias collection place squad --density front:0.8 --out squad-front
        posbias collection place squad --density uniform --out squad-uniform

    Returns:
        The placed collection.

    Raises:
        SettingError: no question can be kept.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Density, Placing
        >>> pb.place("planted", placing=Placing(Density.parse("front:0.8")), out="front")
        Collection('front', 240 passages, splits train, validation, test, fresh)
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.place import place as write_placed

    work = partial(write_placed, find_collection(collection), output_place(out), placing)
    placed = engine.write(work, overwrite=overwrite)
    hint(
        f"written to {pasted(placed.path)}; what was moved where stands in "
        f"{pasted(placed.path / 'placed')}"
    )
    return placed
