"""Near-duplicates of test queries in training queries: looked for, counted and written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read, hint_written
from positionbias.core.places import Place, input_place
from positionbias.core.publish import atomic_folder
from positionbias.core.records import Query
from positionbias.core.rows import write_into
from positionbias.engine.choose import Engine
from positionbias.leakage.find import find_pairs
from positionbias.leakage.measured import MEANING, add_published, found_rows, target_of
from positionbias.leakage.pairs import PAIRS, write_pairs
from positionbias.leakage.queries import add_variants, field_texts
from positionbias.leakage.query_places import QueryPlace
from positionbias.leakage.semantic import at_threshold, open_semantic, search_record
from positionbias.leakage.settings import Encoder, FindSettings
from positionbias.ranking.workers import model_workers


class Sides(NamedTuple):
    """The places of training queries, that of test queries, these with their variants, and what was
    read.
    """

    training: Sequence[QueryPlace]
    test: QueryPlace
    asked: Sequence[Query]
    read: list[Read]

    @classmethod
    def given(
        cls, queries: Sequence[CollectionLike], sources: Sequence[str], variants: Place | None
    ) -> Sides:
        """Return the sides of places that were given, the test queries last.

        Raises:
            SettingError: one side is missing.
            InputError: queries that cannot be read.
        """
        names = [*queries[:-1], *sources]
        if not names or not queries:
            found = "one of them" if names or queries else "neither"
            raise SettingError(
                f"leakage find: wanted training and test queries; found {found}; give both, the "
                "test queries last"
            )
        test = QueryPlace.parse(queries[-1], "test")
        training = [QueryPlace.parse(name, "train") for name in names]
        asked = test.queries()
        read = [place.read(f"training queries {place.name}") for place in training]
        read.append(test.read("test queries"))
        if variants:
            asked = add_variants(asked, input_place(variants))
            read.append(Read.file("variants", input_place(variants)))
        return cls(training, test, asked, read)


def find_leakage(
    sides: Sides,
    settings: FindSettings,
    encoder: Encoder,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Measurements:
    """Find the pairs, count them, and write both into a folder.

    Raises:
        SettingError, InputError: as ``open_semantic`` and ``find_pairs``.
    """
    training, test, asked, read = sides
    tests = field_texts(asked)
    semantic = None
    if settings.detector != "lexical":
        semantic = open_semantic(encoder, settings.threshold)
        read.append(semantic.read())
    settings = at_threshold(settings, semantic)
    with (
        model_workers(engine, encoder.loading, semantic.model)
        if semantic
        else nullcontext() as spread
    ):
        pairs = find_pairs(
            [place.source() for place in training],
            tests,
            settings,
            semantic.vectors if semantic else None,
            spread.map_shards if spread else map,
        )
    target = target_of([query.query_id for query in asked])
    names = [place.name for place in training]
    made = found_rows(pairs, names, tests, test.name, settings.detector)
    add_published(made, target, [MEANING] if semantic else [])
    measured = Measurements(
        rows=made.rows,
        command="leakage find",
        settings=search_record(settings, semantic),
        read=read,
        name=f"Training queries like those of {test.name}",
        notes=(
            "A training query and a field of a test query are one pair, with the scores of the "
            "nearest of the field's texts.",
        ),
        packages=("numpy", "bm25s", *(("torch", "transformers") if semantic else ())),
        content={"pairs": len(pairs), **({"target": target} if target else {})},
        remarks=("", f"By meaning: {semantic.rests_on}.") if semantic else (),
    )
    place = Path(out)
    with atomic_folder(place, overwrite=overwrite) as partial:
        write_pairs(partial / PAIRS, pairs)
        write_into(partial, made.rows, measured.manifest(place))
    hint_written(place, what=f"{len(pairs):,} pairs")
    return measured
