"""Training and test sets as they are given, their overlap, and what it is kept with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pandas import DataFrame

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, pasted
from positionbias.core.progress import hint
from positionbias.engine.choose import Engine
from positionbias.leakage.query_places import QueryPlace
from positionbias.overlap.find import FOLDER, find_overlap
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.texts import TextSet


def overlap_leakage(
    training: Sequence[CollectionLike],
    tests: Sequence[CollectionLike],
    settings: OverlapSettings,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Measurements:
    """Find test sets in training sets, as ``find_overlap``.

    Raises:
        SettingError: no training or no test set, or two sets of a side with one name.
        InputError: no collection.
    """
    if not training or not tests:
        found = "no training set" if tests else "no --test" if training else "neither"
        raise SettingError(
            f"leakage overlap: wanted training sets and --test; found {found}; give both"
        )
    place = Path(out)
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
