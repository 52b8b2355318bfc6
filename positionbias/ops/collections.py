"""Collections made of collections, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import HISTOGRAM, Measurements, hint_collection, hint_written
from positionbias.core.places import Place, pasted
from positionbias.core.settings import Seed, Setting
from positionbias.core.shared_settings import Out, Overwrite, Source, Splits
from positionbias.engine.choose import Engine
from positionbias.ops.operation import operation
from positionbias.positions.settings import Placing, Selection

if TYPE_CHECKING:
    from positionbias.core.collection import Collection


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
    from positionbias.corpora.statistics import show_collection

    return show_collection(collection, engine)


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
    from positionbias.formats.answers import attach_answers

    return attach_answers(collection, answers, out, overwrite=overwrite)


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
    from positionbias.corpora import merge as merging

    work = partial(merging.merge, merging.named(collections), out, apart=apart)
    return hint_collection(engine.write(work, overwrite=overwrite))


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
    splits: Splits = (),
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
    from positionbias.corpora import sample as sampling

    asked = sampling.SampleSettings(queries, passages, splits, seed)
    work = partial(sampling.sample, collection, out, asked)
    return hint_collection(engine.write(work, overwrite=overwrite))


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
    from positionbias.positions.select import select as write

    work = partial(write, collection, out, selection, by=answers_of)
    return hint_collection(engine.write(work, overwrite=overwrite), HISTOGRAM)


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
    from positionbias.positions.place import place as write

    placed = engine.write(partial(write, collection, out, placing), overwrite=overwrite)
    hint_written(out, f"what was moved where stands in {pasted(placed.path / 'placed')}")
    return placed
