"""Training queries that near-duplicate test queries: found."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.extras import models_extra
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Out, Overwrite, operation, settings_parameters
from positionbias.core.outcome import Measurements, Read, refuse_outputs
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.settings import Setting, refuse_idle
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import FindSettings
from positionbias.ops.query_encoder import Encoder, Semantic
from positionbias.ranking.workers import model_workers

if TYPE_CHECKING:
    from positionbias.ops.query_places import QueryPlace

__all__ = ["at_threshold", "find_leakage", "open_semantic", "search_record"]

_SEMANTIC = tuple(
    one.of.flag(one.name) for kind in (Encoder, Engine) for one in settings_parameters(kind, "")
)  # options of one detector alone


@operation
def find_leakage(
    queries: Annotated[
        Sequence[CollectionLike],
        Setting(
            "Files of queries, or collections.",
            metavar="[TRAIN_QUERIES]... TEST_QUERIES",
            place="read",
        ),
    ] = (),
    *,
    sources: Annotated[
        Sequence[str],
        Setting(
            "Training queries under a name of their own; repeatable. Sources are counted "
            "apart and together.",
            flags=("--source",),
            metavar="NAME=PLACE",
            place="read",
        ),
    ] = (),
    variants: Annotated[
        Place | None,
        Setting(
            "Variants of the test queries, a field of their own: lines of query id, tab, text.",
            metavar="FILE",
            place="read",
            shown=True,
        ),
    ] = None,
    settings: FindSettings = FindSettings(),
    encoder: Encoder = Encoder(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Measurements:
    """Find training queries that near-duplicate test queries, by meaning and by words.

    Queries are a collection's split (NAME:SPLIT), a file of lines (id, tab, text), or TREC topics,
    whose title, description and narrative are looked by apart; the test queries come last. What is
    found are candidates. How many by meaning are right, labelled pairs tell (posbias leakage
    calibrate); how many by words alone, nobody knows before a review. By default
    sentence-transformers/paraphrase-MiniLM-L6-v2 encodes, as in the paper.

        posbias leakage find queries.train.tsv topics.robust04.txt --encoder minilm --out leaks
        posbias leakage find --source msmarco=msmarco:train --source orcas=orcas.tsv topics.txt \\
                --set variants=variants.tsv --out leaks

    Returns:
        Table 1 of the leakage paper, by meaning and by words alone. The pairs stand in ``out`` as
        pairs.jsonl.

    Raises:
        SettingError: no training or no test queries, or no threshold for an encoder whose cosines
            nobody has labelled.
        InputError: queries that cannot be read.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, §3 and Table 1.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import FindSettings
        >>> print(
        ...     pb.find_leakage(
        ...         ["planted:train", "planted:test"],
        ...         settings=FindSettings("lexical"),
        ...         out="pairs",
        ...     )
        ... )
        10 of 18 test queries (55.6%) have candidates found by words alone: precision unknown; label
        them (posbias leakage label).
        <BLANKLINE>
        Training queries like test queries: candidates by words alone
        ...
    """
    from positionbias.core.publish import atomic_folder
    from positionbias.core.rows import write_into
    from positionbias.leakage.find import find_pairs
    from positionbias.leakage.measured import MEANING, add_published, found_rows, target_of
    from positionbias.leakage.pairs import PAIRS, write_pairs
    from positionbias.leakage.queries import add_variants, field_texts

    if settings.detector == "lexical":
        wanted = "--detector semantic or both, which it is for"
        refuse_idle(_SEMANTIC, wanted=wanted, found="--detector lexical")
    refuse_outputs(out, overwrite=overwrite)
    training, test = _sides(queries, sources)
    asked, read = (
        test.queries(),
        [
            *(place.read(f"training queries {place.name}") for place in training),
            test.read("test queries"),
        ],
    )
    if variants:
        asked = add_variants(asked, input_place(variants))
        read.append(Read.file("variants", input_place(variants)))
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
    place = output_place(out)
    with atomic_folder(place, overwrite=overwrite) as partial:
        write_pairs(partial / PAIRS, pairs)
        write_into(partial, made.rows, measured.manifest(place))
    hint(f"{len(pairs):,} pairs written to {pasted(place)}")
    return measured


def _sides(
    queries: Sequence[CollectionLike], sources: Sequence[str]
) -> tuple[list[QueryPlace], QueryPlace]:
    """Return the places of training queries, and that of the test queries, which come last.

    Raises:
        SettingError: one side is missing.
    """
    from positionbias.ops.query_places import QueryPlace

    training = [*queries[:-1], *sources]
    if not training or not queries:
        given = "one of them" if training or queries else "neither"
        raise SettingError(
            f"leakage find: wanted training and test queries; found {given}; give both, the test "
            "queries last"
        )
    test = QueryPlace.parse(queries[-1], "test")
    return [QueryPlace.parse(name, "train") for name in training], test


def open_semantic(encoder: Encoder, threshold: float | None) -> Semantic:
    """Return the search by meaning.

    Raises:
        DependencyError: the extra ``models`` is not installed; the detector that needs it, and the
            one that does not, are named.
        InputError, SettingError: as ``Encoder.semantic``.
    """
    with models_extra("--detector semantic, or both", "give --detector lexical"):
        return encoder.semantic(threshold)


def at_threshold(settings: FindSettings, semantic: Semantic | None) -> FindSettings:
    """Return the settings with the encoder's threshold, if there is an encoder."""
    return replace(settings, threshold=semantic.threshold) if semantic else settings


def search_record(settings: FindSettings, semantic: Semantic | None) -> JsonObject:
    """Return a search's settings for the manifest."""
    return {"encoder": semantic.model.name if semantic else None, **asdict(settings)}
