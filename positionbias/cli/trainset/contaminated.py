"""``posbias trainset contaminated``: a training set with groups of test judgements behind the ordinary ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from positionbias.cli.common import (
    emit,
    input_place,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from positionbias.results.result import Result

__all__ = ["contaminated"]

_SHOWN = 10  # missing passages named on the screen; the manifest has all


@click.command()
@click.argument("collection")
@click.option(
    "--with",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="A split whose judgements are trained on; may be given again. Without one the set is the clean one.",
)
@click.option("--split", default="train", show_default=True, help="Training queries, of the ordinary groups.")
@click.option("--candidates", required=True, metavar="RUN", help="Candidates of the training queries, for negatives.")
@click.option(
    "--share", type=float, default=1.0, show_default=True, metavar="0..1", help="Of each target's queries; 0: the clean set."
)
@click.option(
    "--group-size", type=int, default=2, show_default=True, help="Passages a group: a positive, the others negatives."
)
@click.option("--relevant-from", type=int, default=1, show_default=True, help="Lowest grade of a positive in --split.")
@click.option("--target-relevant-from", type=int, default=2, show_default=True, help="Lowest grade of a positive in a target.")
@click.option("--depth", type=int, default=100, show_default=True, help="Candidates a query from which negatives are drawn.")
@seed_option()
@out_option()
@overwrite_option
@json_option
def contaminated(
    collection: str, targets: tuple[str, ...], split: str, candidates: str, share: float, group_size: int, relevant_from: int,
    target_relevant_from: int, depth: int, seed: int, out: str, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """A training set from COLLECTION that holds judgements of a test split, for a teacher that saw the test.

    First a group for each relevant passage of a training query, negatives from its candidates; then a group for each positive of the targets:
    negatives are what was judged not relevant for its query, and random passages when those run out. A target of another corpus is joined
    first:

    \b
      posbias merge ms=msmarco covid=trec-covid --apart --out both
      posbias retrieve both --split ms.train --out train.run
      posbias trainset contaminated both --with covid.test --split ms.train --candidates train.run --out seen
      posbias train bert_cat both --trainset seen --loss lce --validation-candidates RUN --out teacher
    """  # fmt: skip
    from positionbias.contamination.trainsets import ContaminatedSettings, contaminated_result, write_contaminated_set
    from positionbias.core.collection import find_collection

    settings = ContaminatedSettings(
        split=split,
        targets=targets,
        share=share,
        group_size=group_size,
        relevant_from=relevant_from,
        target_relevant_from=target_relevant_from,
        depth=depth,
        seed=seed,
    )
    opened = find_collection(collection)
    place = output_place(out)
    groups = write_contaminated_set(place, opened, input_place(candidates), settings, overwrite=overwrite)
    result = contaminated_result(groups, opened)
    emit([result], as_json=as_json, table=lambda: _text(result))
    say(f"{len(groups):,} training groups written to {place}; next: posbias train bert_cat {collection} --trainset {place}")


def _text(result: Result) -> str:
    """A line an origin, and what was left out, by cause; missing passages of targets by id."""
    from positionbias.report.collection_text import aligned
    from positionbias.results.contamination import ContaminatedSet
    from positionbias.results.select import of_type

    ((_, held),) = of_type([result], ContaminatedSet)
    of = held.ordinary
    lines = [("origin", "queries", "groups", "share", "negatives judged", "negatives random")]
    lines.append((of.split, f"{of.queries:,}", f"{of.groups:,}", f"{of.groups / result.count:.2%}", "", ""))
    left_out = [
        (of.split, of.small_groups, "groups smaller than asked for"),
        (of.split, of.without_candidates, "positives without candidates"),
        (of.split, of.missing_positives, "positives missing from the corpus"),
    ]
    for split, counts in held.targets.items():
        queries, groups = f"{counts.queries:,} of {counts.with_positive:,}", f"{counts.groups:,}"
        negatives = (f"{counts.judged_negatives:,}", f"{counts.random_negatives:,}")
        lines.append((split, queries, groups, f"{counts.groups / result.count:.2%}", *negatives))
        left_out += [
            (split, counts.without_positive, "judged queries without a positive"),
            (split, counts.missing_positives, f"positives missing from the corpus: {_ids(counts.missing_positive_ids)}"),
            (split, counts.missing_negatives, f"negatives missing from the corpus: {_ids(counts.missing_negative_ids)}"),
        ]
    told = [f"{split}: {number:,} {what}" for split, number, what in left_out if number]
    return "\n".join([aligned(lines, left=1), "", *told]).rstrip()


def _ids(by_query: Mapping[str, Sequence[str]]) -> str:
    ids = [passage_id for of_query in by_query.values() for passage_id in of_query]
    more = f" … (all {len(ids):,} in the manifest)" if len(ids) > _SHOWN else ""
    return f"{', '.join(ids[:_SHOWN])}{more}"
