"""``posbias study leakage``: what near-duplicates of the test queries among the training queries do to re-rankers."""

from __future__ import annotations

from typing import Any

import click

from positionbias.cli.common import all_of, out_option
from positionbias.cli.quick import quick_study_option
from positionbias.cli.settings_options import settings_as, settings_options
from positionbias.cli.studies.common import Running, keys, run_options, runs_by_split, seeds_option
from positionbias.cli.studies.models import Decorator, model_options, models_of
from positionbias.firststage.settings import Bm25Settings
from positionbias.ops.trainsets import LeakingPairs

__all__ = ["leakage"]

_what_options: Decorator = all_of(
    click.option("--target", required=True, metavar="SPLIT", help="The test queries, judged."),
    click.option(
        "--source", "sources", multiple=True, required=True, metavar="SPLIT", help="Training queries; may be given again."
    ),
    click.option(
        "--kinds",
        multiple=True,
        type=click.Choice(["no", "msm", "test"]),
        default=("no", "msm", "test"),
        show_default=True,
        help="Training sets: without leakage, with leaking training queries, with the test queries themselves. Name no, and one of the others.",
    ),
    click.option(
        "--sizes", multiple=True, type=int, metavar="N", help="Training instances, two a query. [default: 1000, 2000 … 128000]"
    ),
)
_measuring_options: Decorator = all_of(
    seeds_option,
    click.option("--epochs", type=int, default=1, show_default=True, help="Passes over a training set."),
    click.option("--depth", type=int, default=100, show_default=True, help="Candidates a test query."),
    settings_options(Bm25Settings),
    click.option(
        "--candidates", multiple=True, metavar="SPLIT=RUN", help="A run to take instead of BM25's; may be given again."
    ),
    click.option("--folds", type=int, default=5, show_default=True, help="Of test queries, to choose a size on the others."),
)


@click.command()
@click.argument("collection")
@_what_options
@settings_as(LeakingPairs, "leaking")
@out_option(what="The study, a folder.")
@model_options
@_measuring_options
@quick_study_option("1,000 and 4,000 instances, 20 candidates a query", sizes=(1_000, 4_000), depth=20)
@run_options
def leakage(
    collection: str, running: Running, target: str, sources: tuple[str, ...], leaking: LeakingPairs,
    seed: int, seeds: tuple[int, ...], **given: Any,
) -> None:  # fmt: skip
    """Do training queries of COLLECTION that near-duplicate its test queries change what re-rankers are worth?

    Trains each model on sets of several sizes without leakage, with leaking training queries, and with the test queries themselves; re-ranks
    the test queries' candidates, chooses sizes by cross-validation, and looks where the leaked passages stand. Source and target of
    different corpora are merged first (posbias merge).

    \b
      posbias study leakage both --target robust --source msmarco --pairs leaks --models knrm --models tk --out leaking
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.leakage.trainsets import SIZES
    from positionbias.studies.leakage import LeakageSettings
    from positionbias.studies.leakage import leakage as run_study

    settings = LeakageSettings(
        target=target,
        sources=sources,
        pairs=leaking.files,
        kinds=given.pop("kinds"),
        sizes=given.pop("sizes") or SIZES,
        seeds=keys(seeds, seed, quick=given["quick"]),
        leaked_queries=leaking.leaked_queries,
        prefixes=leaking.id_prefixes,
        material=leaking.counted,
        bm25=Bm25Settings(given.pop("k1"), given.pop("b")),
        candidates=runs_by_split(given.pop("candidates")),
        depth=given["depth"],
        folds=given.pop("folds"),
        seed=seed,
        models=models_of(given, depth=given.pop("depth")),
    )
    found = find_collection(collection)
    running.run(lambda shop: run_study(found, settings, shop), found.name)
