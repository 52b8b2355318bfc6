"""``posbias leakage find``: which training queries near-duplicate which test queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    Ranking,
    all_of,
    emit,
    input_place,
    json_option,
    kind_option,
    out_option,
    output_place,
    overwrite_option,
    ranking_options,
    say,
)

if TYPE_CHECKING:
    from positionbias.core.manifest import InputRef, Manifest
    from positionbias.leakage.find import FindSettings
    from positionbias.results.leakage_pairs import CandidateCounts, TruthFigures
    from positionbias.results.result import Result

__all__ = ["ENCODER", "candidates_text", "find"]

ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"

_options = all_of(
    click.argument("places", nargs=-1, metavar="[TRAIN_QUERIES]... TEST_QUERIES"),
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="NAME=PLACE",
        help="Training queries under a name of their own; may be given again. Sources are counted apart and together.",
    ),
    click.option(
        "--variants", metavar="FILE", help="Variants of the test queries, a field of their own: lines of query id, tab, text."
    ),
    click.option(
        "--field",
        "fields",
        multiple=True,
        type=click.Choice(["query", "title", "question", "description", "narrative", "variant"]),
        help="Which texts of a test query to look by; may be given again. [default: all it has]",
    ),
    click.option(
        "--detector",
        type=click.Choice(["semantic", "lexical", "both"]),
        default="both",
        show_default=True,
        help="Semantic: the cosine of an encoder's vectors. Lexical: the same words, or those that weigh most.",
    ),
    click.option(
        "--encoder",
        default=ENCODER,
        show_default=True,
        metavar="NAME",
        help="What encodes queries: a folder, a model's id on the hub, or minilm, whose weights come as a pip package.",
    ),
    kind_option,
    click.option(
        "--neighbours", type=int, default=100, show_default=True, help="Training queries of a source for each text, by cosine."
    ),
    click.option(
        "--threshold",
        type=float,
        metavar="COSINE",
        help="The cosine from which a pair is found; the paper's is 0.91. [default: the encoder's own, of those whose cosines people labelled]",
    ),
    click.option("--jaccard", type=float, default=0.6, show_default=True, help="The Jaccard coefficient, by weight, from which words alone find a pair."),
    click.option(
        "--containment",
        type=float,
        default=1.0,
        show_default=True,
        help="The share of a test text's terms, by weight, that a training query must hold to be found.",
    ),
    click.option("--memory", type=float, default=1.0, show_default=True, metavar="GIB", help="What the search by cosine may hold."),
    click.option(
        "--truth",
        metavar="DIR|FILE",
        help="The true pairs, where they are known, as of a planted collection: says how many of them were found.",
    ),
    ranking_options,
    out_option(what="Where the pairs go, a folder."),
    overwrite_option,
    json_option,
)  # fmt: skip


@click.command()
@_options
def find(
    places: tuple[str, ...], sources: tuple[str, ...], variants: str | None, fields: tuple[str, ...], encoder: str, kind: str | None,
    detector: Any, truth: str | None, ranking: Ranking, out: str, overwrite: bool, as_json: bool, **thresholds: Any,
) -> None:  # fmt: skip
    """Which training queries near-duplicate which test queries, by meaning and by words.

    Queries are a collection's split (NAME:SPLIT), a file of lines (id, tab, text), or TREC topics, whose title, description and narrative
    are looked by apart. What is found are candidates. How many by meaning are right, labelled pairs tell (posbias leakage calibrate); how many
    by words alone, nobody knows before a review. Vectors of queries are kept, so that another threshold or test set takes seconds.

    \b
      posbias leakage find queries.train.tsv topics.robust04.txt --encoder minilm --out leaks
      posbias leakage find --source msmarco=msmarco:train --source orcas=orcas.tsv topics.txt --variants variants.tsv --out leaks
    """  # fmt: skip
    from dataclasses import asdict, replace

    from positionbias.cli.leakage.beside import beside_text, published_find
    from positionbias.cli.leakage.encoder import open_semantic, say_kept
    from positionbias.cli.leakage.sources import QueryPlace
    from positionbias.core.errors import SettingError
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.core.publish import refuse_existing
    from positionbias.leakage.find import find_pairs
    from positionbias.leakage.found_results import found_results, save_found
    from positionbias.leakage.pairs import pairs_file, read_pairs
    from positionbias.leakage.published import target_of
    from positionbias.leakage.queries import add_variants, field_texts
    from positionbias.leakage.truth import against_truth, truth_result

    place = output_place(out)
    refuse_existing(place, overwrite=overwrite)
    settings = _settings(detector, **thresholds)
    named = [*places[:-1], *sources]
    if not named or not places:
        given = "one of them" if named or places else "neither"
        raise SettingError(f"leakage find: wanted training and test queries; found {given}; give both, the test queries last")
    training = [QueryPlace.parse(name, "train") for name in named]
    test = QueryPlace.parse(places[-1], "test")
    queries = test.queries()
    if variants:
        queries, others = add_variants(queries, input_place(variants))
        if others:
            say(f"{variants}: {others:,} lines are of other queries and were left out")
    tests = field_texts(queries, fields)
    true = list(read_pairs(input_place(truth))) if truth else None
    semantic = None
    if detector != "lexical":
        semantic = open_semantic(encoder, kind, ranking, thresholds["threshold"])
        settings = replace(settings, nearest=replace(settings.nearest, floor=semantic.threshold))
    found = find_pairs([item.source() for item in training], tests.texts, settings, semantic.vectors if semantic else None)
    if semantic:
        say_kept(semantic.vectors)
    for name, count in (*found.empty.items(), *((f"test queries, {field}", count) for field, count in tests.empty.items())):
        if count:
            say(f"{name}: {count:,} empty, left out")
    results = found_results(found, tests, test_name=test.name)
    if true is not None:
        figures = against_truth(((pair.train_id, pair.test_id) for pair in found.pairs), true)
        results.append(truth_result(figures, test_name=test.name, sources=results[0].system))
    target = target_of([query.query_id for query in queries])
    results += published_find(target, found, (text.field for text in tests.texts), test.name)
    inputs = [item.input_ref(f"training queries {item.name}", place) for item in training]
    inputs.append(test.input_ref("test queries", place))
    if truth:
        path = pairs_file(input_place(truth))
        inputs.append(input_ref("true pairs", path, sha256_file(path), artefact=place))
    if variants:
        inputs.append(input_ref("variants", input_place(variants), sha256_file(input_place(variants)), artefact=place))
    if semantic:
        model = semantic.model
        inputs.append(input_ref("encoder", model.path, model.manifest.content["checksum"], artefact=place))
    chosen = {"fields": list(fields), "encoder": semantic.model.name if semantic else None, **asdict(settings)}
    content = {"pairs": len(found.pairs), **({"target": target} if target else {})}
    manifest = _manifest(test.name, chosen, inputs, content)
    save_found(place, found, results, manifest, overwrite=overwrite)
    emit(
        results,
        as_json=as_json,
        table=lambda: candidates_text(results, semantic.told if semantic else "") + beside_text(results),
    )
    say(f"{len(found.pairs):,} pairs written to {place}")


def _settings(
    detector: Any, *, neighbours: int, threshold: float | None, memory: float, jaccard: float, containment: float
) -> FindSettings:
    """The settings; of a cosine that was not given the encoder says which."""
    from positionbias.leakage.find import FindSettings
    from positionbias.leakage.lexical import LexicalSettings
    from positionbias.leakage.nearest import NearestSettings

    return FindSettings(
        detector,
        NearestSettings(neighbours, 1.0 if threshold is None else threshold, memory),
        LexicalSettings(jaccard, containment),
    )


def _manifest(name: str, settings: dict[str, Any], inputs: Sequence[InputRef], content: dict[str, Any]) -> Manifest:
    from positionbias.core.manifest import Manifest, package_versions, provenance

    memory = settings["nearest"].pop("memory")  # it changes no pair
    return Manifest(
        kind="results",
        name=f"Training queries like those of {name}",
        command="leakage find",
        settings=settings,
        inputs=tuple(inputs),
        content=content,
        notes=(
            "A training query and a field of a test query are one pair, with the scores of the nearest of the field's texts [decision].",
            "Types are guessed from terms without stop words and plurals [decision].",
        ),
        versions=package_versions("numpy", "bm25s", *(("torch", "transformers") if settings["encoder"] else ())),
        provenance=provenance(memory_gib=memory),
    )


def candidates_text(results: Sequence[Result], told: str = "") -> str:
    """How many test queries have a candidate by meaning, and how sure that is (``told``); how many by words alone; both tables."""
    from positionbias.results.leakage_pairs import CANDIDATES, WORDS_ALONE, CandidateCounts, TruthFigures
    from positionbias.results.select import of_type

    head, tables = [], []
    for result, counts in of_type(results, CandidateCounts):
        if result.measure in (CANDIDATES, WORDS_ALONE):
            by_meaning = result.measure == CANDIDATES
            share, leaked = result.value or 0.0, round((result.value or 0.0) * result.count)
            of = f"{leaked:,} of {result.count:,} test queries ({share:.1%}) have"
            head.append(
                f"{of} near-duplicate training queries: {told or 'by cosine'}."
                if by_meaning
                else f"{of} candidates found by words alone: precision unknown; label them (posbias leakage review)."
            )
            tables.append(_candidates_table(result.collection, counts, "by meaning" if by_meaning else "by words alone"))
    against = [line for _, figures in of_type(results, TruthFigures) for line in _truth_lines(figures)]
    return "\n".join([*head, "", "\n\n".join(tables), *against])


def _candidates_table(collection: str, counts: CandidateCounts, how: str) -> str:
    """Table 1 of one way of looking."""
    from positionbias.leakage.found_results import UNION
    from positionbias.report.table import Cell, Column, Table, as_text

    columns = list(counts.rows[UNION])
    table = Table(
        "leakage_candidates",
        f"Test queries of {collection} with training queries alike {how}, and how many these are",
        [Column("Field", numeric=False), *(Column(name, group=column) for column in columns for name in ("Topics", "Queries"))],
        [
            [
                Cell(field.capitalize()),
                *(Cell(f"{count:,}") for column in columns for count in (of[column].topics, of[column].queries)),
            ]
            for field, of in counts.rows.items()
        ],
    )
    return as_text(table)


def _truth_lines(figures: TruthFigures) -> list[str]:
    """What of the truth was found."""
    from positionbias.leakage.truth import ALL_TYPES

    everything = figures.rows[ALL_TYPES]
    right = f"{everything.found:,} of {everything.pairs_found:,}"
    precision = "" if everything.precision is None else f" (precision {everything.precision:.3f})"
    lines = ["", f"Against the truth: {right} pairs found are true{precision}; of the true pairs were found:"]
    return lines + [f"  {name}: {of.found:,} of {of.true:,} (recall {of.recall:.3f})" for name, of in figures.rows.items()]
