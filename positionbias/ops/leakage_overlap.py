"""Train–test overlap of passages and queries, at corpus scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Measurements, Read, refuse_outputs
from positionbias.core.places import output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.overlap.settings import OverlapSettings

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["overlap_leakage"]


@operation
def overlap_leakage(
    training: Annotated[
        Sequence[CollectionLike],
        Setting("Training sets.", metavar="[NAME=]COLLECTION[:SPLIT]...", place="read"),
    ],
    *,
    tests: Annotated[
        Sequence[CollectionLike],
        Setting(
            "A test set; repeatable.",
            flags=("--test",),
            metavar="[NAME=]COLLECTION[:SPLIT]",
            place="read",
        ),
    ] = (),
    settings: OverlapSettings = OverlapSettings(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Measurements:
    """Find passages and queries of test sets in training sets.

    Texts are compared without case and punctuation: the same words (exact), and shared runs of 13
    words (ngram). How many of the pairs are right, only a labelled sample says. In a test set with
    judgements its relevant passages are compared, in a training set those that judgements name. A
    passage in a corpus that both sides share is not its own copy, and is counted apart. Files and
    folders of other forms are imported first (posbias import).

        posbias leakage overlap msmarco --test msmarco:dl19 --test msmarco:dl20 --out overlap
        posbias leakage label overlap/pairs/msmarco.dl19.passages.jsonl \\
                --score of_test --above 0 --out sheet.tsv
        posbias leakage label sheet.tsv --score of_test

    Returns:
        Rows: the share of test queries that are found, by test set, unit, detector and training
        set. The pairs stand in ``out``, a file pairs/TEST.UNIT.jsonl each.

    Raises:
        SettingError: no test set, or two sets of a side with one name.
        InputError: no collection.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.overlap_leakage(["planted:train"], tests=["planted:test"], out="overlap"))
        0 of 18 queries of planted.test (0.0%) have a relevant passage in planted.train.
        0 of 18 queries of planted.test (0.0%) are in planted.train.
        ...
    """
    from positionbias.ops.query_places import QueryPlace
    from positionbias.overlap.find import FOLDER, find_overlap
    from positionbias.overlap.texts import TextSet

    if not training or not tests:
        found = "no training set" if tests else "no --test" if training else "neither"
        raise SettingError(
            f"leakage overlap: wanted training sets and --test; found {found}; give both"
        )
    refuse_outputs(out, overwrite=overwrite)
    place = output_place(out)
    train, test = (
        [
            TextSet(*QueryPlace.of_collection(each, default), settings, default == "test")
            for each in side
        ]
        for side, default in ((training, "train"), (tests, "test"))
    )
    for flag, names in (
        ("TRAIN", [each.name for each in train]),
        ("--test", [each.name for each in test]),
    ):
        if len({name.casefold() for name in names}) < len(names):  # as files, whose case may not
            raise SettingError(
                f"{flag}: wanted different names; found {', '.join(names)}; give NAME=COLLECTION"
            )
    named = [*(("training set", each) for each in train), *(("test set", each) for each in test)]

    def measured(rows: DataFrame) -> Measurements:
        return Measurements(
            rows=rows,
            command="leakage overlap",
            settings=asdict(settings),
            content={
                "relevant_from": settings.relevant_from,
                **{
                    f"{role}s": {
                        each.name: {"split": each.split, "checksum": each.collection.checksum}
                        for side, each in named
                        if side == role
                    }
                    for role in ("training set", "test set")
                },
            },
            read=[
                *(
                    Read(f"{role} {each.name}", each.collection.path, each.collection.checksum)
                    for role, each in named
                ),
            ],
            name=f"Overlap with {', '.join(each.name for each in test)}",
            packages=("numpy", "pandas", "pyarrow"),
            host=engine.host,
        )

    with engine.open() as map_shards:
        rows = find_overlap(
            place,
            train,
            test,
            settings,
            lambda rows: measured(rows).manifest(place),
            map_shards=map_shards,
            overwrite=overwrite,
        )
    hint(f"written to {pasted(place)}, the pairs to {pasted(place / FOLDER)}")
    return measured(rows)
