"""``posbias evaluate``: measures of runs, and how sure their differences are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import emit, input_place, json_option, out_option, output_place, overwrite_option, say, seed_option

if TYPE_CHECKING:
    from positionbias.core.interval import Interval
    from positionbias.core.manifest import InputRef
    from positionbias.core.records import Qrel
    from positionbias.core.run import Run
    from positionbias.results.payloads import Comparison
    from positionbias.results.result import Result

__all__ = ["evaluate"]


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option("--collection", help="Whose judgements to use.")
@click.option("--split", default="test", show_default=True, help="Whose queries.")
@click.option("--qrels-name", metavar="NAME", help="Which of the split's further judgement sets to use.")
@click.option("--qrels", metavar="FILE", help="Judgements in TREC form, instead of a collection's.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    default=("nDCG@10", "RR@10", "R@10"),
    show_default=True,
    metavar="MEASURE",
    help="As ir_measures names it: nDCG@10, AP(rel=2), RR(rel=2)@10, J@10 …; may be given again.",
)
@click.option(
    "--leaked",
    metavar="PAIRS",
    help="Measure apart the queries that training queries near-duplicate: what posbias leakage find wrote, or a labelled sheet.",
)
@click.option("--all-swaps", metavar="FILE", help="Write every pair of runs that --leaked finds swapped, with its p, as TSV.")
@seed_option()
@out_option(required=False, what="A folder for the results, for posbias report.")
@overwrite_option
@json_option
def evaluate(
    runs: tuple[str, ...],
    collection: str | None,
    split: str,
    qrels_name: str | None,
    qrels: str | None,
    measures: tuple[str, ...],
    leaked: str | None,
    all_swaps: str | None,
    seed: int,
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Measure each RUN (TREC form, plain or .gz) against judgements; compare each further run with the first.

    Means are over all judged queries; one without candidates counts 0. Queries with the same single relevant passage are one cluster.
    Intervals are over clusters: percentile bootstrap, or t by the jackknife for 30 clusters and fewer. p is two-sided, by sign flips of
    clusters, corrected by Holm and Bonferroni for the number of runs compared with the first on a measure. Wilcoxon and t take queries one
    by one, as papers print them. nDCG's gain is linear in the grade.

    J@k (Judged@k in JSON), for each cutoff k of the measures, is the share of a run's first k that have a judgement; what has none counts as not
    relevant. A query without candidates counts 0 in it, as in the measures.

    With --leaked, each measure also on leaked and on clean queries, and their difference. A query is leaked where a pair names it that no
    person labelled as of a different topic. Whether leakage changes the order of the runs comes first: Kendall's tau between leaked and clean
    queries is held against random splits of the same sizes and difficulty (5 % false alarms), single swaps are named at a false discovery rate of 10 %.
    """
    from positionbias.cli.leaked import leaked_text, order_text, place_of_swaps, write_swaps
    from positionbias.core.publish import refuse_existing
    from positionbias.evaluation.evaluate import evaluate_runs, judged_shares
    from positionbias.evaluation.leaked import Leaked, leaked_results
    from positionbias.evaluation.measures import parse_measure
    from positionbias.evaluation.significance import clusters_by_passage

    if (collection is None) == (qrels is None):
        raise click.UsageError("give --collection, or --qrels FILE, and not both")
    if qrels_name and qrels:
        raise click.UsageError("--qrels-name picks a judgement set of --collection; it does not go with --qrels FILE")
    for measure in measures:
        parse_measure(measure)
    swaps_place = place_of_swaps(all_swaps, leaked, runs, overwrite=overwrite) if all_swaps else None
    place = output_place(out) if out else None
    if place:
        refuse_existing(place, overwrite=overwrite)
    paths = [input_place(run) for run in runs]
    loaded = _read_runs(paths)
    trained = _of_trainings(loaded, paths)
    name, judgements, source = _judgements(collection, split, qrels_name, qrels, loaded, place or Path.cwd())
    clusters = clusters_by_passage(judgements)
    label = ".".join(filter(None, (split, qrels_name))) if collection else ""
    results = evaluate_runs(loaded, judgements, measures, collection=name, split=label, seed=seed, clusters=clusters)
    shares = judged_shares(loaded, judgements, measures, collection=name, split=label, seed=seed, clusters=clusters)
    results = [_with_remarks(result, trained) for result in results]
    inputs, apart = [source], Leaked([], {})
    if leaked is not None:
        leaked_ids, pairs = _leaked(leaked, place or Path.cwd())
        inputs.append(pairs)
        apart = leaked_results(results, leaked_ids, clusters=clusters, seed=seed)
    if swaps_place:
        write_swaps(swaps_place, apart.swaps, overwrite=overwrite)
        say(f"{sum(map(len, apart.swaps.values())):,} swaps written to {swaps_place}")
    for line in _remarks(results):
        say(line)
    every = [*results, *shares, *apart.results]
    if place:
        _save(place, every, paths, inputs, measures, label, seed, overwrite)
        say(f"written to {place}; next: posbias report {out} --out report.html")
    below = [leaked_text(apart.results)] if apart.results else []
    text = [order_text(apart.results), _tables([*results, *shares]), *below]
    emit(every, as_json=as_json, table=lambda: "\n\n".join(filter(None, text)))


def _leaked(pairs: str, artefact: Path) -> tuple[set[str], InputRef]:
    """The test queries that pairs name as leaked, and where they stand."""
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.leakage.leaks import leaked_tests
    from positionbias.leakage.pairs import pairs_file, read_pairs

    path = pairs_file(input_place(pairs))
    return leaked_tests(read_pairs(path)), input_ref("leaked", path, sha256_file(path), artefact=artefact)


def _read_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs under names of their own: the tag, else the file's name, else its path."""
    from positionbias.core.errors import InputError
    from positionbias.core.run import read_run

    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise InputError("RUN: wanted different runs to compare; found one file twice; give each once")
    loaded = [read_run(path) for path in paths]
    for choose in (lambda path: path.name.removesuffix(".gz").removesuffix(".run"), str):
        names = [run.name for run in loaded]
        for run, path in zip(loaded, paths, strict=True):
            if names.count(run.name) > 1:
                run.name = choose(path)
    return loaded


def _of_trainings(runs: Sequence[Run], paths: Sequence[Path]) -> dict[str, list[str]]:
    """What the runs' manifests say of the trainings behind them, by run; the name of a run says where its training is not finished."""
    from positionbias.core.convergence import ended_name, ending_of_run
    from positionbias.core.manifest import manifest_path, read_manifest

    found = {}
    for run, path in zip(runs, paths, strict=True):
        manifest = read_manifest(path) if manifest_path(path).is_file() else None
        ending = ending_of_run(manifest.content, path) if manifest else None
        if manifest is not None and ending is not None:
            run.name = ended_name(run.name, ending.unfinished)
            found[run.name] = ending.remarks(manifest.settings.get("depth"))
    return found


def _with_remarks(result: Result, trained: Mapping[str, list[str]]) -> Result:
    """The result with what is to be known of its training."""
    from positionbias.results.payloads import REMARKS, PerQuery

    if not isinstance(result.payload, PerQuery) or not trained.get(result.system):
        return result
    notes = {**result.payload.notes, REMARKS: trained[result.system]}
    return replace(result, payload=replace(result.payload, notes=notes))


def _judgements(
    collection: str | None, split: str, qrels_name: str | None, qrels: str | None, runs: Sequence[Run], artefact: Path
) -> tuple[str, list[Qrel], InputRef]:
    """The name of what is judged, its judgements, and where they came from; the runs are checked against a collection."""
    from positionbias.core.collection import find_collection
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import input_ref
    from positionbias.evaluation.evaluate import check_run
    from positionbias.formats.trec import read_qrels

    if collection is None:
        assert qrels is not None
        path = input_place(qrels)
        judgements = read_qrels(path)
        return path.name, judgements, input_ref("qrels", path, sha256_file(path), artefact=artefact)
    opened = find_collection(collection)
    judgements = opened.qrels(split, qrels_name)
    for run in runs:
        check_run(run, opened, split)
    return opened.name, judgements, input_ref("collection", opened.path, opened.checksum, artefact=artefact)


def _save(
    place: Path,
    results: Sequence[Result],
    paths: Sequence[Path],
    inputs: Sequence[InputRef],
    measures: Sequence[str],
    split: str,
    seed: int,
    overwrite: bool,
) -> None:
    from positionbias.core.files import sha256_file
    from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
    from positionbias.results.result import save_results

    manifest = Manifest(
        kind="results",
        name=place.name,
        command="evaluate",
        settings={"measures": list(measures), "split": split},
        seed=seed,
        inputs=(*inputs, *(input_ref("run", path, sha256_file(path), artefact=place) for path in paths)),
        versions=package_versions("ir_measures", "pytrec-eval-terrier", "scipy", "statsmodels"),
        provenance=provenance(),
    )
    save_results(place, results, manifest, overwrite=overwrite)


def _remarks(results: Sequence[Result]) -> list[str]:
    """What was counted on the way, a line a run; how intervals were made; what is undefined, and why."""
    from positionbias.results.payloads import REMARKS, Comparison, PerQuery

    lines: dict[str, None] = {}  # in order, each once
    for result in results:
        if isinstance(result.payload, PerQuery):
            lines |= {f"{result.system}: {remark}": None for remark in result.payload.notes.get(REMARKS, ())}
            counts = "".join(
                f"; {what}: {count:,}" for what, count in result.payload.notes.items() if count and what != REMARKS
            )
            lines[f"{result.system}: {result.count:,} judged queries{counts}"] = None
    for result in results:
        if isinstance(result.payload, PerQuery) and result.interval:
            lines[f"intervals: {result.interval.level:.0%} {result.interval.method}"] = None
        if isinstance(result.payload, Comparison):
            for what, why in result.payload.notes.items():
                if isinstance(why, str) and "undefined" in why:
                    lines[f"{result.payload.candidate}, {result.measure}: {what} {why}"] = None
    return list(lines)


def _tables(results: Sequence[Result]) -> str:
    from positionbias.report.collection_text import aligned
    from positionbias.results.payloads import Comparison, PerQuery

    means = [result for result in results if isinstance(result.payload, PerQuery)]
    names = list(dict.fromkeys(result.measure for result in means))
    cells = {(r.system, r.measure): f"{r.value:.4f}{_bounds(r.interval)}" for r in means}
    systems = dict.fromkeys(result.system for result in means)
    heads = [name.replace("Judged@", "J@") for name in names]
    text = aligned([("run", *heads), *((system, *(cells[system, name] for name in names)) for system in systems)])
    compared = [(r.measure, r.payload) for r in results if isinstance(r.payload, Comparison)]
    if not compared:
        return text
    header = (
        "against the first run",
        "measure",
        "difference",
        "change",
        "d_z",
        "p",
        "Holm",
        "Bonf.",
        "p Wilcoxon",
        "p t",
    )
    return f"{text}\n\n{aligned([header, *(_comparison(measure, payload) for measure, payload in compared)], left=2)}"


def _comparison(measure: str, item: Comparison) -> tuple[str, ...]:
    from positionbias.evaluation.significance import CORRECTIONS

    change = "-" if item.relative is None else f"{item.relative:+.1%}{_bounds(item.relative_interval, '+.1%')}"
    tests = map(_p, (item.p, *(item.p_adjusted[method] for method in CORRECTIONS), item.p_wilcoxon, item.p_t))
    effect = "-" if item.effect_size is None else f"{item.effect_size:+.2f}"
    difference = f"{item.difference:+.4f}{_bounds(item.difference_interval, '+.4f')}"
    return (f"{item.baseline} → {item.candidate}", measure, difference, change, effect, *tests)


def _bounds(interval: Interval | None, form: str = ".4f") -> str:
    return "" if interval is None else f" [{interval.low:{form}}, {interval.high:{form}}]"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"
