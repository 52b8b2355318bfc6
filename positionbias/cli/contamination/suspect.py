"""``posbias contamination suspect``: is a model suspiciously good on a test set that everybody has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
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
    seed_option,
)

if TYPE_CHECKING:
    from positionbias.cli.contamination.systems import Sets
    from positionbias.contamination.contrast import Contrast, Measured
    from positionbias.contamination.suspect import SuspectSettings
    from positionbias.core.result import Result

__all__ = ["suspect", "suspect_text"]

_whom = all_of(
    click.argument("collection"),
    click.option("--split", default="test", show_default=True, help="The public queries."),
    click.option("--model", help="The model, as posbias rerank takes it."),
    click.option("--run", metavar="RUN", help="Its ranking of the public queries, instead of --model."),
    click.option("--fresh-run", metavar="RUN", help="Its ranking of the fresh queries, beside --run."),
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
        help="A model that is known to be clean, best trained like the suspected one; may be given again, three or more are wanted.",
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
        "--pairs",
        metavar="PAIRS",
        help="Compare the public queries that training queries near-duplicate with the others: what posbias leakage find wrote.",
    ),
)
_how = all_of(
    click.option("-m", "--measure", default="nDCG@10", show_default=True, help="As ir_measures names it."),
    click.option("--alpha", type=float, default=0.05, show_default=True, help="What a one-sided p is held against."),
    click.option("--permutations", type=int, default=10_000, show_default=True, help="Of each test."),
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
    collection: str, split: str, model: str | None, run: str | None, fresh_run: str | None, kind: str | None, candidates: str,
    fresh: str | None, fresh_candidates: str | None, paraphrases: str | None, controls: tuple[str, ...], control_runs: tuple[str, ...],
    control_fresh_runs: tuple[str, ...], pairs: str | None, ranking: Ranking, measure: str, alpha: float, permutations: int, seed: int,
    out: str | None, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    """Is a model suspiciously good on the test queries of COLLECTION that everybody has?

    Its advantage over a reference on these is held against that on judged queries which it cannot have seen: paraphrases of the same ones
    (paired), or other queries (--fresh). The reference is the mean of the --control models, or else the order of --candidates. A
    paraphrase is harder for a clean model too, and other queries are harder or easier: only controls take that off.

    What it cannot say: a small p is no proof, as whatever else sets the two sets apart for this model looks the same; a large p clears
    nobody, as a model that became better at everything shows nothing, and few queries find only a large excess.

    \b
      posbias import planted --fresh-queries 2000 --paraphrased --out p
      posbias retrieve p --split test --depth 10 --out test.run
      posbias retrieve p --split fresh --depth 10 --out fresh.run
      posbias contamination suspect p --model m.ckpt --candidates test.run --fresh fresh --fresh-candidates fresh.run --control c.ckpt
      posbias contamination suspect p --model m.ckpt --candidates test.run --fresh paraphrased --control c.ckpt
    """  # fmt: skip
    from positionbias.cli.contamination.systems import Sets
    from positionbias.contamination.suspect import SuspectSettings
    from positionbias.contamination.suspect import suspect as judge
    from positionbias.core.collection import find_collection
    from positionbias.core.files import refuse_existing
    from positionbias.evaluation.measures import parse_measure

    _check_given(model, run, fresh, fresh_run, pairs, controls, len(control_runs), len(control_fresh_runs))
    if fresh is None and (fresh_candidates or paraphrases):
        raise click.UsageError("--fresh-candidates and --paraphrases go with --fresh SPLIT")
    settings = SuspectSettings(measure=str(parse_measure(measure)), alpha=alpha, permutations=permutations, seed=seed)
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
    known = [sets.of_model(name, "control") for name in controls]
    for number, name in enumerate(control_runs):
        known.append(_ranked(sets, "control", name, control_fresh_runs[number] if fresh else None))
    suspected = sets.of_model(model, "model") if model else _ranked(sets, "run", str(run), fresh_run)
    results: list[Result] = []
    for contrast in contrasts:
        results += judge(suspected, known, order, contrast, settings, collection=sets.collection.name, split=split)
    if place:
        _save(place, results, sets, settings, splits, overwrite)
        say(f"written to {place}; next: posbias report {out} --out report.html")
    emit(results, as_json=as_json, table=lambda: suspect_text(results))


def _check_given(
    model: str | None, run: str | None, fresh: str | None, fresh_run: str | None, pairs: str | None, controls: tuple[str, ...],
    control_runs: int, fresh_runs: int,
) -> None:  # fmt: skip
    if (model is None) == (run is None):
        raise click.UsageError("give --model, or --run RUN with its rankings, and not both")
    if model in controls:
        raise click.UsageError("--control: the suspected model cannot be its own control")
    if fresh is None and pairs is None:
        raise click.UsageError("give --fresh SPLIT, judged queries that the model cannot have seen, or --pairs, or both")
    if (fresh_run is not None) != (run is not None and fresh is not None):
        raise click.UsageError("--fresh-run goes with --run and --fresh: the same system's ranking of the fresh queries")
    if fresh_runs != (control_runs if fresh else 0):
        raise click.UsageError("--control-fresh-run: give one for each --control-run where there is --fresh, in the same order")


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


def _ranked(sets: Sets, role: str, public: str, fresh: str | None) -> Measured:
    """A system of which there are runs alone, under the tag of the first."""
    names = (public,) if fresh is None else (public, fresh)
    runs = {split: sets.read(role, name, split) for split, name in zip(sets.splits, names, strict=True)}
    return sets.measured(runs[sets.splits[0]].name, runs)


def _save(
    place: Path, results: Sequence[Result], sets: Sets, settings: SuspectSettings, splits: tuple[str, ...], overwrite: bool
) -> None:
    from dataclasses import asdict

    from positionbias.core.manifest import Manifest, package_versions, provenance
    from positionbias.core.result import save_results

    manifest = Manifest(
        kind="results",
        name=place.name,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(splits)},
        seed=settings.seed,
        inputs=tuple(sets.inputs),
        versions=package_versions("ir_measures", "numpy", "scipy"),
        provenance=provenance(),
    )
    save_results(place, results, manifest, overwrite=overwrite)


def suspect_text(results: Sequence[Result]) -> str:
    """A table of the systems for each comparison, the suspicion, what it comes to, and what it cannot say."""
    from positionbias.cli.show import aligned
    from positionbias.contamination.suspect import LIMITS
    from positionbias.core.payloads import Finding, Statistics

    lines: list[str] = []
    table: list[tuple[str, ...]] = []
    rows: Mapping[str, Any] = {}
    for result in results:
        if isinstance(result.payload, Finding):
            lines += [aligned(table, left=2), "", *_figures(rows), result.payload.text, ""]
        elif isinstance(result.payload, Statistics) and result.payload.rows["what"] == "suspicion":
            rows = result.payload.rows
            between = "" if rows["design"] == "paired" else f" ({rows['queries_other']:,})"
            seen = f"{rows['seen']} ({rows['queries_seen']:,})"
            table = [("system", "", seen, f"{rows['other']}{between}", "difference")]
        elif isinstance(result.payload, Statistics):
            of = result.payload.rows
            interval = f" [{result.interval.low:+.4f}, {result.interval.high:+.4f}]" if result.interval else ""
            table.append(
                (result.system, of["role"], f"{of['seen']:.4f}", f"{of['other']:.4f}", f"{result.value:+.4f}{interval}")
            )
    return "\n".join([*lines, *LIMITS])


def _figures(rows: Mapping[str, Any]) -> list[str]:
    lines = [f"{what}: {count:,}" for what, count in rows["left_out"].items() if count]
    lines.append(
        f"advantage over {rows['reference']}: {rows['advantage_seen']:+.4f} on {rows['seen']}, {rows['advantage_other']:+.4f} on {rows['other']}"
    )
    if not rows["controls"]:
        lines.append(
            "Without controls a clean model may differ as much: paraphrases are harder for it too, and other queries may be."
        )
    elif rows["controls"] == 1:
        lines.append("One control does not say how far two clean models differ by chance; three or more do.")
    else:
        lines.append(f"{rows['controls_that_gain_as_much']} of {rows['controls']} controls gain as much or more themselves")
    return lines
