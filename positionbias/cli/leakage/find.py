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
    from positionbias.core.result import Result
    from positionbias.leakage.find import FindSettings

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
        help="Semantic: the cosine of an encoder's vectors. Lexical: the same words, or many of them, stemmed.",
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
    click.option("--threshold", type=float, default=0.91, show_default=True, help="The cosine from which a pair is found."),
    click.option("--jaccard", type=float, default=0.6, show_default=True, help="The Jaccard coefficient from which a pair is found."),
    click.option(
        "--containment",
        type=float,
        default=1.0,
        show_default=True,
        help="The share of a test text's terms that a training query must hold to be found, two at least.",
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
    are looked by apart. What is found are candidates: posbias leakage calibrate and review say how many are right.

    \b
      posbias leakage find queries.train.tsv topics.robust04.txt --encoder minilm --out leaks
      posbias leakage find --source msmarco=msmarco:train --source orcas=orcas.tsv topics.txt --variants variants.tsv --out leaks
    """  # fmt: skip
    from dataclasses import asdict

    from positionbias.cli.leakage.beside import beside_text, published_find
    from positionbias.cli.leakage.encoder import open_encoder
    from positionbias.cli.leakage.sources import QueryPlace
    from positionbias.core.errors import SettingError
    from positionbias.core.files import refuse_existing, sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.leakage.find import find_pairs, found_results, save_found
    from positionbias.leakage.pairs import pairs_file, read_pairs
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
    model, encode = (None, None) if detector == "lexical" else open_encoder(encoder, kind, ranking)
    found = find_pairs([item.source() for item in training], tests.texts, settings, encode)
    for name, count in (*found.empty.items(), *((f"test queries, {field}", count) for field, count in tests.empty.items())):
        if count:
            say(f"{name}: {count:,} empty, left out")
    results = found_results(found, tests, test_name=test.name)
    if true is not None:
        rows = against_truth(((pair.train_id, pair.test_id) for pair in found.pairs), true)
        results.append(truth_result(rows, test_name=test.name, sources=results[0].system))
    printed = published_find((query.query_id for query in queries), test.name)
    results += printed
    inputs = [item.input_ref(f"training queries {item.name}", place) for item in training]
    inputs.append(test.input_ref("test queries", place))
    if truth:
        path = pairs_file(input_place(truth))
        inputs.append(input_ref("true pairs", path, sha256_file(path), artefact=place))
    if variants:
        inputs.append(input_ref("variants", input_place(variants), sha256_file(input_place(variants)), artefact=place))
    if model is not None:
        inputs.append(input_ref("encoder", model.path, model.manifest.content["checksum"], artefact=place))
    chosen = {"fields": list(fields), "encoder": model.name if model else None, **asdict(settings)}
    content = {"pairs": len(found.pairs), **({"target": printed[0].system} if printed else {})}
    manifest = _manifest(test.name, chosen, inputs, content)
    save_found(place, found, results, manifest, overwrite=overwrite)
    emit(results, as_json=as_json, table=lambda: candidates_text(results) + beside_text(results))
    say(f"{len(found.pairs):,} pairs written to {place}")


def _settings(
    detector: Any, *, neighbours: int, threshold: float, memory: float, jaccard: float, containment: float
) -> FindSettings:
    from positionbias.leakage.find import FindSettings
    from positionbias.leakage.lexical import LexicalSettings
    from positionbias.leakage.nearest import NearestSettings

    return FindSettings(detector, NearestSettings(neighbours, threshold, memory), LexicalSettings(jaccard, containment))


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
            "Types are guessed from stemmed terms without stop words [decision].",
        ),
        versions=package_versions("numpy", "PyStemmer", *(("torch", "transformers") if settings["encoder"] else ())),
        provenance=provenance(memory_gib=memory),
    )


def candidates_text(results: Sequence[Result]) -> str:
    """Table 1, and how many test queries have a candidate."""
    from positionbias.core.payloads import Statistics
    from positionbias.leakage.find import UNION
    from positionbias.leakage.truth import TRUTH
    from positionbias.report.table import Cell, Column, Table, as_text

    first = results[0]
    assert isinstance(first.payload, Statistics)
    rows = first.payload.rows
    columns = list(rows[UNION])
    table = Table(
        "leakage_candidates",
        f"Test queries of {first.collection} with training queries alike, and how many these are",
        [Column("Field", numeric=False), *(Column(name, group=column) for column in columns for name in ("Topics", "Queries"))],
        [
            [
                Cell(field.capitalize()),
                *(Cell(f"{counts[column][key]:,}") for column in columns for key in ("topics", "queries")),
            ]
            for field, counts in rows.items()
        ],
    )
    share = f"{first.value:.1%}" if first.value is not None else "none"
    text = f"{as_text(table)}\n\n{share} of {first.count:,} test queries have training queries alike (candidates, not yet reviewed)."
    against = [line for result in results if result.measure == TRUTH for line in _truth_lines(result)]
    return "\n".join([text, *against])


def _truth_lines(result: Result) -> list[str]:
    """What of the truth was found."""
    from positionbias.leakage.truth import ALL_TYPES

    rows: Any = result.payload.rows  # type: ignore[union-attr]
    everything = rows[ALL_TYPES]
    right = f"{everything['found']:,} of {everything['pairs_found']:,}"
    precision = "" if everything["precision"] is None else f" (precision {everything['precision']:.3f})"
    lines = ["", f"Against the truth: {right} pairs found are true{precision}; of the true pairs were found:"]
    return lines + [f"  {name}: {row['found']:,} of {row['true']:,} (recall {row['recall']:.3f})" for name, row in rows.items()]
