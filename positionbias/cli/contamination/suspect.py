"""``posbias contamination suspect``: is a model suspiciously good on a test set that everybody has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.cli.contamination.systems import Sets
    from positionbias.contamination.contrast import Contrast
    from positionbias.contamination.suspect import SuspectSettings
    from positionbias.results.result import Result

__all__ = ["suspect"]

_whom = all_of(
    click.argument("collection"),
    click.option("--split", default="test", show_default=True, help="The public queries."),
    click.option(
        "--model",
        "models",
        multiple=True,
        help="The model, as posbias rerank takes it; give it again to screen several together.",
    ),
    click.option(
        "--run",
        "runs",
        multiple=True,
        metavar="RUN",
        help="A model's ranking of the public queries, instead of --model or beside it.",
    ),
    click.option(
        "--fresh-run", "fresh_runs", multiple=True, metavar="RUN", help="Its ranking of the fresh queries, one for each --run."
    ),
    kind_option,
    click.option("--candidates", metavar="RUN", required=True, help="What is re-ranked for the public queries."),
)
_against = all_of(
    click.option("--fresh", metavar="SPLIT", help="Judged queries that the model cannot have seen."),
    click.option("--fresh-candidates", metavar="RUN", help="Theirs. [default: of a paraphrase those of the query itself]"),
    click.option(
        "--paraphrases",
        metavar="FILE",
        help="The fresh queries are paraphrases: lines of a fresh id, tab, the public id. [default: those of the same id are]",
    ),
    click.option(
        "--control",
        "controls",
        multiple=True,
        metavar="MODEL",
        help="A training of the model's own configuration that is known to be clean; give two or more, better eight.",
    ),
    click.option("--control-run", "control_runs", multiple=True, metavar="RUN", help="Or its ranking of the public queries."),
    click.option(
        "--control-fresh-run",
        "control_fresh_runs",
        multiple=True,
        metavar="RUN",
        help="And of the fresh queries, one for each --control-run.",
    ),
    click.option(
        "--configuration",
        default="",
        metavar="WORDS",
        help="What models and controls are trainings of, where they are runs or checkpoints that do not say how they were trained: you vouch that they "
        "differ in seed and test data alone.",
    ),
    click.option(
        "--bank",
        "banks",
        multiple=True,
        metavar="FILE",
        help="Clean trainings of another configuration, which show how far trainings differ: a file with a checkpoint a line, or a run of the public queries "
        "and, after a tab, one of the fresh. Give one for each configuration; three or more count.",
    ),
    click.option(
        "--pairs",
        metavar="PAIRS",
        help="Compare the public queries that training queries near-duplicate with the others: what posbias leakage find wrote.",
    ),
)
_how = all_of(
    click.option("-m", "--measure", default="nDCG@10", show_default=True, help="As ir_measures names it."),
    click.option(
        "--alpha",
        type=float,
        default=0.05,
        show_default=True,
        help="What a one-sided p, corrected for all tests of the call, is held against.",
    ),
    seed_option(),
    out_option(required=False, what="A folder for the results, for posbias report."),
    overwrite_option,
    json_option,
)


@click.command()
@_whom
@_against
@ranking_options
@_how
def suspect(
    collection: str, split: str, models: tuple[str, ...], runs: tuple[str, ...], fresh_runs: tuple[str, ...], kind: str | None, candidates: str,
    fresh: str | None, fresh_candidates: str | None, paraphrases: str | None, controls: tuple[str, ...], control_runs: tuple[str, ...],
    control_fresh_runs: tuple[str, ...], configuration: str, banks: tuple[str, ...], pairs: str | None, ranking: Ranking, measure: str, alpha: float,
    seed: int, out: str | None, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Is a model suspiciously good on the test queries of COLLECTION that everybody has?

    Its advantage over controls, clean trainings of the same architecture and settings, is held against that on judged queries which it cannot have seen: other
    queries (--fresh), or paraphrases of the same ones (paired; they find memory of the wording only). An excess is tested against how far clean trainings differ by
    chance, with Holm's correction over all models and sets of the call; score margins stand beside it.

    The answer is suspicious, not suspicious (an excess of 0.05 lies outside the interval), or cannot tell: with fewer than two controls, with controls of another
    configuration, without spread, or where too little is known. How often the call is wrong, and what it would find, is simulated and printed.

    \b
      posbias import planted --fresh-queries 2000 --paraphrased --out p
      posbias retrieve p --split test --depth 10 --out test.run
      posbias retrieve p --split fresh --depth 10 --out fresh.run
      posbias contamination suspect p --model m.ckpt --candidates test.run --fresh fresh --fresh-candidates fresh.run \\
        --control c1.ckpt --control c2.ckpt --control c3.ckpt
    """  # fmt: skip
    from positionbias.cli.contamination.systems import Sets
    from positionbias.cli.contamination.text import suspect_text
    from positionbias.contamination.suspect import Known, SuspectSettings
    from positionbias.contamination.suspect import suspect as judge
    from positionbias.core.collection import find_collection
    from positionbias.core.publish import refuse_existing
    from positionbias.evaluation.measures import parse_measure

    _check_given(models, controls, fresh, pairs)
    _check_runs(len(runs), len(fresh_runs), len(control_runs), len(control_fresh_runs), fresh)
    if fresh is None and (fresh_candidates or paraphrases):
        raise click.UsageError("--fresh-candidates and --paraphrases go with --fresh SPLIT")
    settings = SuspectSettings(measure=str(parse_measure(measure)), alpha=alpha, configuration=configuration, seed=seed)
    place = output_place(out) if out else None
    if place:
        refuse_existing(place, overwrite=overwrite)
    splits = (split,) if fresh is None else (split, fresh)
    sets = Sets(find_collection(collection), splits, settings.measure, ranking, kind, place or Path.cwd())
    sets.candidates[split] = sets.read("candidates", candidates, split)
    contrasts = _contrasts(sets, fresh_candidates, paraphrases, pairs)
    order = sets.measured(sets.candidates[split].name, sets.candidates)
    for of, count in sets.without_candidates().items():
        if count:
            say(f"{of}: {count:,} judged queries without candidates, 0 for every system")
    known = Known(sets.systems("control", controls, control_runs, control_fresh_runs), [sets.bank(name) for name in banks])
    suspected = sets.systems("model", models, runs, fresh_runs)
    about = {"collection": sets.collection.name, "split": split}
    results = judge(suspected, known, order, contrasts, settings, **about)
    if place:
        _save(place, results, sets, settings, splits, overwrite)
        say(f"written to {place}; next: posbias report {out} --out report.html")
    emit(results, as_json=as_json, table=lambda: suspect_text(results))


def _check_given(models: Sequence[str], controls: Sequence[str], fresh: str | None, pairs: str | None) -> None:
    if set(models) & set(controls):
        raise click.UsageError("--control: the suspected model cannot be its own control")
    if fresh is None and pairs is None:
        raise click.UsageError("give --fresh SPLIT, judged queries that the model cannot have seen, or --pairs, or both")
    for name, given in (("--model", models), ("--control", controls)):
        if len(set(given)) < len(given):
            raise click.UsageError(f"{name}: wanted each once; found one twice; a copy says nothing of chance")


def _check_runs(runs: int, fresh_runs: int, control_runs: int, control_fresh_runs: int, fresh: str | None) -> None:
    for name, public, other in (("", runs, fresh_runs), ("control-", control_runs, control_fresh_runs)):
        if other != (public if fresh else 0):
            raise click.UsageError(
                f"--{name}fresh-run: give one for each --{name}run where there is --fresh, in the same order"
            )


def _contrasts(sets: Sets, fresh_candidates: str | None, paraphrases: str | None, pairs: str | None) -> list[Contrast]:
    """What is compared; reads the fresh queries' candidates, or makes them from those of the queries that they paraphrase."""
    from positionbias.contamination.contrast import against_fresh, against_paraphrases, by_near_duplicates
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.evaluation.significance import clusters_by_passage
    from positionbias.leakage.leaks import leaked_tests
    from positionbias.leakage.pairs import pairs_file, read_pairs

    judged = {split: {qrel.query_id for qrel in qrels} for split, qrels in sets.qrels.items()}
    clusters = {split: clusters_by_passage(qrels) for split, qrels in sets.qrels.items()}
    public, fresh = sets.splits[0], sets.splits[1] if len(sets.splits) > 1 else None
    found = []
    if fresh is not None:
        of = _paraphrased(sets, paraphrases)
        paired = of is not None or judged[fresh] <= judged[public]
        _fresh_candidates(sets, fresh_candidates, of, paired)
        if paired:
            found.append(
                against_paraphrases(judged[public], judged[fresh], of, names=(public, fresh), clusters=clusters[public])
            )
        else:
            both = {"clusters": clusters[public], "fresh_clusters": clusters[fresh]}
            found.append(against_fresh(judged[public], judged[fresh], names=(public, fresh), **both))
    if pairs is not None:
        path = pairs_file(input_place(pairs))
        sets.inputs.append(input_ref("pairs", path, sha256_file(path), artefact=sets.artefact))
        leaked = leaked_tests(read_pairs(path))
        found.append(by_near_duplicates(judged[public], leaked, name=public, clusters=clusters[public]))
    return found


def _paraphrased(sets: Sets, file: str | None) -> dict[str, str] | None:
    from positionbias.cli.contamination.systems import paraphrase_map

    if file is None:
        return None
    ids = [[query.query_id for query in sets.collection.queries(split)] for split in sets.splits]
    return paraphrase_map(input_place(file), ids)


def _fresh_candidates(sets: Sets, given: str | None, of: Mapping[str, str] | None, paired: bool) -> None:
    from positionbias.core.errors import SettingError
    from positionbias.core.run import Run

    public, fresh = sets.splits
    if given is not None:
        sets.candidates[fresh] = sets.read("fresh candidates", given, fresh)
        return
    if not paired:
        raise SettingError(
            f"--fresh-candidates: wanted a run of {fresh!r}, whose queries are none of {public!r}; found none; "
            f"make one: posbias retrieve {sets.collection.name} --split {fresh}"
        )
    base = sets.candidates[public]
    rankings = []
    for query in sets.collection.queries(fresh):
        own = query.query_id if of is None else of.get(query.query_id)
        if own is not None and own in base:
            rankings.append((query.query_id, base[own].passage_ids, base[own].scores))
    sets.candidates[fresh] = Run(base.name, rankings)


def _save(
    place: Path, results: Sequence[Result], sets: Sets, settings: SuspectSettings, splits: tuple[str, ...], overwrite: bool
) -> None:
    from dataclasses import asdict

    from positionbias.core.manifest import Manifest, package_versions, provenance
    from positionbias.results.result import save_results

    manifest = Manifest(
        kind="results",
        name=place.name,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(splits)},
        seed=settings.seed,
        inputs=tuple(sets.inputs),
        versions=package_versions("ir_measures", "numpy", "scipy", "statsmodels"),
        provenance=provenance(),
    )
    save_results(place, results, manifest, overwrite=overwrite)
