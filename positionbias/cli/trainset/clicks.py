"""``posbias trainset clicks``: shuffled triples of clicked passages and sampled candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import (
    Engine,
    emit,
    engine_options,
    input_place,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.results.result import Result

__all__ = ["clicks"]


@click.command()
@click.argument("collection")
@click.option(
    "--candidates", required=True, metavar="RUN", help="Candidates of the split's queries, for negatives; BM25's, say."
)
@click.option("--split", default="train", show_default=True, help="Whose queries and clicks.")
@click.option("--qrels-name", metavar="NAME", help="Which of the split's further judgement sets has the positives.")
@click.option("--relevant-from", type=int, default=1, show_default=True, help="Lowest grade of a positive.")
@click.option("--negatives", type=int, default=20, show_default=True, help="Negatives a positive, where there are as many.")
@click.option("--depth", type=int, help="Candidates a query from which negatives are drawn. [default: all]")
@click.option("--triples", metavar="NUMBER", help="How many of the shuffled triples to keep: 10M, 500k, 10000. [default: all]")
@click.option(
    "--as",
    "form",
    type=click.Choice(["ids", "text"]),
    help="Also write OUT/triples.train.tsv: query, positive, negative, as ids or as texts.",
)
@seed_option()
@engine_options
@out_option(what="The training set.")
@overwrite_option
@json_option
def clicks(
    collection: str, candidates: str, split: str, qrels_name: str | None, relevant_from: int, negatives: int, depth: int | None,
    triples: str | None, form: str | None, seed: int, engine: Engine, out: str, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Training triples from the clicks, or any judgements, of COLLECTION.

    For each clicked passage of a query up to 20 of its candidates are sampled without replacement; one that is judged relevant, at any
    grade and in any judgement set, is never drawn. All triples are shuffled, and the first --triples kept.

    \b
      posbias retrieve tripclick --split train --depth 500 --out train.run.gz
      posbias trainset clicks tripclick --candidates train.run.gz --triples 10M --out triples
      posbias train bert_cat tripclick --trainset triples --validation-split head_validation --validation-candidates RUN --out model
      posbias report triples/quality --out quality.html
    """  # fmt: skip
    from positionbias.clicks.trainset import QUALITY, ClickSettings, parse_count, write_click_set
    from positionbias.core.collection import find_collection
    from positionbias.results.result import load_results

    settings = ClickSettings(
        split=split,
        qrels_name=qrels_name,
        relevant_from=relevant_from,
        negatives=negatives,
        depth=depth,
        triples=None if triples is None else parse_count(triples),
        form=form,
        seed=seed,
    )
    place = output_place(out)
    with engine.open() as map_shards:
        groups = write_click_set(
            place,
            find_collection(collection),
            input_place(candidates),
            settings,
            map_shards=map_shards,
            overwrite=overwrite,
            **engine.host,
        )
    results = load_results(place / QUALITY)
    emit(results, as_json=as_json, table=lambda: _text(results))
    if settings.triples and len(groups) < settings.triples:
        say(f"--triples: {settings.triples:,} were asked for, there are {len(groups):,}")
    say(f"{len(groups):,} triples written to {place}; next: posbias train bert_cat {collection} --trainset {place}")


def _text(results: Sequence[Result]) -> str:
    from positionbias.report.clicks_tables import click_tables
    from positionbias.report.table import as_text

    return "\n\n".join(map(as_text, click_tables(results)))
