"""Training queries that near-duplicate test queries: found, and removed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.extras import models_extra
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Out, Overwrite, operation, settings_parameters
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.screen import wrapped
from positionbias.core.settings import Panel, Setting, refuse_idle, setting
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import FIELDS, FindSettings, LexicalSettings, NearestSettings
from positionbias.ops.model_workers import model_workers
from positionbias.ops.outcome import Measurements, Read, refuse_outputs
from positionbias.ops.query_encoder import Encoder, Semantic, say_kept

if TYPE_CHECKING:
    from positionbias.core.records import Query
    from positionbias.leakage.find import Found, FoundPair
    from positionbias.leakage.pairs import Pair
    from positionbias.leakage.queries import FieldTexts
    from positionbias.ops.query_places import QueryPlace
    from positionbias.results.result import Result

__all__ = [
    "FoundPairs",
    "SearchedTexts",
    "at_threshold",
    "find_leakage",
    "open_semantic",
    "search_record",
]

# options of one detector alone
_SEMANTIC = tuple(
    one.of.flag(one.name)
    for kind in (NearestSettings, Encoder)
    for one in settings_parameters(kind, "")
)
_ENGINE = tuple(one.of.flag(one.name) for one in settings_parameters(Engine, ""))
_LEXICAL = tuple(one.of.flag(one.name) for one in settings_parameters(LexicalSettings, ""))


@dataclass(frozen=True, slots=True)
class SearchedTexts:
    """Texts of the test queries to search by."""

    variants: Place | None = setting(
        None,
        "Variants of the test queries, a field of their own: lines of query id, tab, text.",
        metavar="FILE",
        place="read",
        panel=Panel.ADVANCED,
    )
    fields: Sequence[str] = setting(
        (),
        "Which texts of a test query to look by; may be given again. [default: all it has]",
        flags=("--field",),
        choices=FIELDS,
        panel=Panel.ADVANCED,
    )


@dataclass(frozen=True, slots=True, repr=False)
class FoundPairs(Measurements):
    """The counts of near-duplicate queries, and the surest of the pairs, which stand in
    ``pairs_at`` with all others.
    """

    surest: Sequence[FoundPair] = ()
    pairs: int = 0
    pairs_at: Place = ""

    def _text(self) -> str:
        from positionbias.leakage.text import found_text

        return wrapped(found_text(self.results, self.surest, self.pairs, str(self.pairs_at)))


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
            "Training queries under a name of their own; may be given again. Sources are counted "
            "apart and together.",
            flags=("--source",),
            metavar="NAME=PLACE",
            place="read",
        ),
    ] = (),
    texts: SearchedTexts = SearchedTexts(),
    settings: FindSettings = FindSettings(),
    encoder: Encoder = Encoder(),
    engine: Engine = Engine(),
    truth: Annotated[
        Place | None,
        Setting(
            "The true pairs, where they are known, as of a planted collection: says how many of "
            "them were found.",
            metavar="DIR|FILE",
            place="read",
            panel=Panel.ADVANCED,
        ),
    ] = None,
    out: Out,
    overwrite: Overwrite = False,
) -> FoundPairs:
    """Find training queries that near-duplicate test queries, by meaning and by words.

    Queries are a collection's split (NAME:SPLIT), a file of lines (id, tab, text), or TREC topics,
    whose title, description and narrative are looked by apart; the test queries come last. What is
    found are candidates. How many by meaning are right, labelled pairs tell (posbias leakage
    calibrate); how many by words alone, nobody knows before a review. Vectors of queries are kept,
    so that another threshold or test set takes seconds. By default
    sentence-transformers/paraphrase-MiniLM-L6-v2 encodes, as in the paper.

        posbias leakage find queries.train.tsv topics.robust04.txt --encoder minilm --out leaks
        posbias leakage find --source msmarco=msmarco:train --source orcas=orcas.tsv topics.txt \\
                --variants variants.tsv --out leaks

    Returns:
        Table 1 of the leakage paper, by meaning and by words alone; the value is the share of test
        queries with a pair. The pairs stand in ``out`` as pairs.jsonl.

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
        them
        (posbias leakage review).
        <BLANKLINE>
        The surest pairs
        ...
    """
    from positionbias.leakage.find import find_pairs
    from positionbias.leakage.found_results import save_found
    from positionbias.leakage.published import target_of
    from positionbias.leakage.queries import field_texts
    from positionbias.leakage.surest import surest

    if settings.detector == "lexical":
        refuse_idle(
            (*_SEMANTIC, *_ENGINE),
            wanted="--detector semantic or both, which it is for",
            found="--detector lexical",
        )
    if settings.detector == "semantic":
        refuse_idle(
            _LEXICAL,
            wanted="--detector lexical or both, which it is for",
            found="--detector semantic",
        )
    refuse_outputs(out, overwrite=overwrite)
    training, test = _sides(queries, sources)
    read = [
        *(item.read(f"training queries {item.name}") for item in training),
        test.read("test queries"),
    ]
    asked = _with_variants(test.queries(), texts.variants)
    tests = field_texts(asked, texts.fields)
    true = _true_pairs(truth)
    if true is not None:
        read.append(true.read)
    if texts.variants:
        read.append(Read.file("variants", input_place(texts.variants)))
    semantic = (
        open_semantic(encoder, settings.nearest.floor) if settings.detector != "lexical" else None
    )
    settings = at_threshold(settings, semantic)
    sides, vectors = [item.source() for item in training], semantic.vectors if semantic else None
    with (
        model_workers(engine, encoder.loading, semantic.model)
        if semantic
        else nullcontext() as spread
    ):
        found = find_pairs(
            sides, tests.texts, settings, vectors, spread.map_shards if spread else map
        )
    if semantic:
        say_kept(semantic.vectors)
        read.append(semantic.read())
    _say_empty(found, tests)
    target = target_of([query.query_id for query in asked])
    results = _found_results(found, tests, test.name, target, true)
    measured = _measurements(results, found, test.name, target, settings, texts, semantic, read)
    place = output_place(out)
    save_found(place, found, results, measured.manifest(place), overwrite=overwrite)
    hint(f"{len(found.pairs):,} pairs written to {pasted(place)}")
    return replace(measured, surest=surest(found.pairs), pairs_at=place)


def _sides(
    queries: Sequence[CollectionLike], sources: Sequence[str]
) -> tuple[list[QueryPlace], QueryPlace]:
    """Return the places of training queries, and that of the test queries, which come last.

    Raises:
        SettingError: one side is missing.
    """
    from positionbias.ops.query_places import QueryPlace

    named = [*queries[:-1], *sources]
    if not named or not queries:
        given = "one of them" if named or queries else "neither"
        raise SettingError(
            f"leakage find: wanted training and test queries; found {given}; give both, the test "
            "queries last"
        )
    return [QueryPlace.parse(name, "train") for name in named], QueryPlace.parse(
        queries[-1], "test"
    )


def _with_variants(asked: Sequence[Query], variants: Place | None) -> Sequence[Query]:
    """Return the test queries with their variants, if there are any."""
    from positionbias.leakage.queries import add_variants

    if not variants:
        return asked
    varied, others = add_variants(asked, input_place(variants))
    if others:
        say(f"{variants}: {others:,} lines are of other queries and were left out")
    return varied


class _TruePairs(NamedTuple):
    """Known pairs, and the file that has them."""

    pairs: Sequence[Pair]
    read: Read


def _true_pairs(truth: Place | None) -> _TruePairs | None:
    from positionbias.leakage.pairs import pairs_file, read_pairs

    if truth is None:
        return None
    path = pairs_file(input_place(truth))
    return _TruePairs(list(read_pairs(path)), Read.file("true pairs", path))


def open_semantic(encoder: Encoder, threshold: float | None) -> Semantic:
    """Return the search by meaning.

    Raises:
        DependencyError: the extra ``models`` is not installed; the detector that needs it, and the
            one that does not, are named.
        InputError, SettingError: as ``Encoder.semantic``.
    """
    with models_extra("--detector semantic, or both", "give --detector lexical"):
        return encoder.semantic(threshold)


def _say_empty(found: Found, tests: FieldTexts) -> None:
    """Count the empty queries of each source and field."""
    for name, count in (
        *found.empty.items(),
        *((f"test queries, {field}", count) for field, count in tests.empty.items()),
    ):
        if count:
            say(f"{name}: {count:,} empty, left out")


def _found_results(
    found: Found, tests: FieldTexts, test_name: str, target: str | None, true: _TruePairs | None
) -> list[Result]:
    """Return Table 1, the recall of known pairs if there are any, and published figures if the test
    set is the paper's.
    """
    from positionbias.leakage.found_results import found_results
    from positionbias.leakage.published_results import published_find
    from positionbias.leakage.truth import against_truth, truth_result

    results = found_results(found, tests, test_name=test_name)
    if true is not None:
        figures = against_truth(((pair.train_id, pair.test_id) for pair in found.pairs), true.pairs)
        results.append(truth_result(figures, test_name=test_name, sources=results[0].system))
    return [
        *results,
        *published_find(target, found, (text.field for text in tests.texts), test_name),
    ]


def _measurements(
    results: Sequence[Result],
    found: Found,
    test_name: str,
    target: str | None,
    settings: FindSettings,
    texts: SearchedTexts,
    semantic: Semantic | None,
    read: Sequence[Read],
) -> FoundPairs:
    return FoundPairs(
        results,
        command="leakage find",
        settings={"fields": list(texts.fields), **search_record(settings, semantic)},
        read=read,
        name=f"Training queries like those of {test_name}",
        notes=(
            (
                "A training query and a field of a test query are one pair, with the scores of the "
                "nearest of the field's texts."
            ),
            "Types are guessed from terms without stop words and plurals.",
        ),
        packages=("numpy", "bm25s", *(("torch", "transformers") if semantic else ())),
        host={"memory_gib": settings.nearest.memory},
        content={"pairs": len(found.pairs), **({"target": target} if target else {})},
        remarks=("", f"By meaning: {semantic.rests_on}.") if semantic else (),
        pairs=len(found.pairs),
    )


def at_threshold(settings: FindSettings, semantic: Semantic | None) -> FindSettings:
    """The settings with the encoder's threshold; without an encoder with the one that was given, or
    else 1.
    """
    floor = semantic.threshold if semantic else settings.nearest.floor
    return replace(
        settings, nearest=replace(settings.nearest, floor=1.0 if floor is None else floor)
    )


def search_record(settings: FindSettings, semantic: Semantic | None) -> JsonObject:
    """Return a search's settings for the manifest, without its memory, which changes no pair."""
    record = asdict(settings)
    del record["nearest"]["memory"]
    return {"encoder": semantic.model.name if semantic else None, **record}
