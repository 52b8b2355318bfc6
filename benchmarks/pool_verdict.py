"""What `posbias pool verdict` predicts of runs whose true score is known: coverage, width, and the
orders, against a threshold on the difference.

    python benchmarks/pool_verdict.py --data $POSBIAS_DATA --parts FOLDER
        # writes benchmarks/results/pool_verdict_HARDWARE_DATE.md

Each group is left out in turn: of the pooled runs, and of the judgements what it alone brought in.
Each of its runs is then a new run, and its score by all judgements the truth. On TREC-COVID's fifth
round, by two rules of what a group brought in; with the pool of traditional runs alone and neural
runs as the new ones; and on simulated rounds, which no setting of the prediction was chosen by, as
none was by the first.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place

from positionbias.core.qrels import Qrels
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.judged_runs import System, pool_measures, score_grades
from positionbias.pooling.measured import find_runs, read_runs
from positionbias.pooling.prediction import (
    Calibration,
    Learned,
    calibrated,
    draw_scores,
    errors_left_out,
    learn,
)
from positionbias.pooling.unjudged import OpenRuns, open_runs
from positionbias.pooling.verdict import DEEP, draws_of_new, new_documents, score_bounds

[MEASURE] = pool_measures(["nDCG@10"])
DEPTH, SEED = 10, 1
SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
NEAR = 0.05
BINS = 10


def taught(pool: OpenRuns) -> tuple[Learned, Calibration]:
    learned = learn(pool)
    assert learned is not None
    calibration = calibrated(errors_left_out(pool, learned, MEASURE, SEED))
    assert calibration is not None
    return learned, calibration


def judged(
    runs: OpenRuns, out: np.ndarray, known: np.ndarray, group: str, truth: np.ndarray
) -> list[dict[str, Any]]:
    """A record of each run ``out``, each by itself a new run on the pool of all others and
    ``known`` judgements.
    """
    pools: dict[bool, tuple[Learned, Calibration]] = {}
    records = []
    for run in np.flatnonzero(out).tolist():
        new = runs.without(np.setdiff1d(np.flatnonzero(out), [run]), known)
        rest = np.flatnonzero(~out)
        place = int(np.searchsorted(np.sort(np.append(rest, run)), run))
        deep = new.judged_below(place) >= DEEP
        if deep not in pools:
            pools[deep] = taught(runs.without(np.flatnonzero(out), known, deep=deep))
        learned, calibration = pools[deep]
        unseen = new_documents(new, place)
        grades = draws_of_new(unseen, new.runs.systems[place].run, learned, SEED)
        everybody = range(len(rest) + 1)
        scores = draw_scores(new, everybody, known, unseen, grades, MEASURE).mean(axis=1)
        own, others = scores[:, place], np.delete(scores, place, axis=1)
        interval = calibration.interval(own.mean(), own.std())
        alone = new.without(np.delete(everybody, place), known)
        by_query = score_grades(new.runs, new.grades[None], MEASURE)[0]
        now = by_query.mean(axis=0)
        apart = own[:, None] - others
        bounds = score_bounds(alone, 0, by_query[:, place], MEASURE)
        low, high = (ends.mean() for ends in bounds)
        records.append(
            {
                "run": runs.runs.systems[run].run, "group": group, "truth": truth[run],
                "low": float(np.clip(interval.low, low, high)),
                "high": float(np.clip(interval.high, low, high)), "least": low, "most": high,
                "now": now[place], "deep": deep, "beyond": learned.is_beyond(unseen),
                "unjudged": len(unseen) / (DEPTH * len(runs.runs.query_ids)),
                "said": calibration.covered,
                "better": calibration.above_zero(apart.mean(axis=0), apart.std(axis=0)).round(
                6).tolist(),
                "differences": (now[place] - np.delete(now, place)).tolist(),
                "truths": (truth[run] - truth[rest]).tolist(),
            }
        )  # fmt: skip
    return records


def left_out(runs: OpenRuns, depth: int, group: int) -> dict[str, Any]:
    """One group left out: its own documents are those that no other group has within ``depth``."""
    out = runs.group_of == group
    mine, others = ((runs.runs.ranks[own] < depth).any(axis=0) for own in (out, ~out))
    truth = score_grades(runs.runs, runs.grades[None], MEASURE)[0].mean(axis=0)
    return {
        "records": judged(runs, out, runs.known & ~(mine & ~others), str(runs.groups[group]), truth)
    }


def across(runs: OpenRuns) -> dict[str, Any]:
    """Neural runs of groups without traditional ones, on the depth-10 pool of all traditional runs,
    which alone are known.
    """
    kinds = runs.runs.kinds
    traditional = kinds == "traditional"
    mixed = np.isin(runs.group_of, runs.group_of[traditional])
    truth = score_grades(runs.runs, runs.grades[None], MEASURE)[0].mean(axis=0)
    kept = runs.without(np.flatnonzero(~traditional & mixed), runs.known)
    rest = np.flatnonzero(traditional | ~mixed)
    known = runs.known & (runs.runs.ranks[traditional] < DEPTH).any(axis=0)
    records = judged(kept, kinds[rest] == "neural", known, "", truth[rest])
    groups = {system.run: system.group for system in runs.runs.systems}
    return {"records": [{**record, "group": groups[record["run"]]} for record in records]}


def apart(runs: OpenRuns) -> OpenRuns:
    """The same runs, as if nobody knew which are of one group."""
    systems = [System(system.run, system.run, "") for system in runs.runs.systems]
    return OpenRuns(replace(runs.runs, systems=systems), runs.known, runs.depth)


def ungrouped(runs: OpenRuns, depth: int, group: int) -> dict[str, Any]:
    """As ``left_out``, but the prediction takes each pooled run for a group of its own."""
    out = runs.group_of == group
    mine, others = ((runs.runs.ranks[own] < depth).any(axis=0) for own in (out, ~out))
    truth = score_grades(runs.runs, runs.grades[None], MEASURE)[0].mean(axis=0)
    return {
        "records": judged(
            apart(runs), out, runs.known & ~(mine & ~others), str(runs.groups[group]), truth
        )
    }


def simulated(
    seed: int, *, queries: int = 30, groups: int = 12, each: int = 3, documents: int = 400
) -> OpenRuns:
    """A round of runs whose groups differ in skill and in what they overlook; the first run of each
    group feeds a depth-7 pool.

    A document's score is its relevance by the group's skill, a taste that the run's group has for
    the document, and noise of the run.
    """
    random = generator(seed, "simulated round")
    grades = (
        random.random((queries, documents)) < random.uniform(0.05, 0.25, (queries, 1))
    ) * random.integers(1, 3, (queries, documents))
    rankings: dict[System, np.ndarray] = {}
    for group in range(groups):
        skill, taste = random.uniform(0.8, 2.2), random.standard_normal((queries, documents))
        common = skill * grades + random.uniform(0.5, 1.2) * taste
        for number in range(each):
            noise = random.uniform(0.3, 0.9) * random.standard_normal((queries, documents))
            name = f"g{group:02}-{number}"
            rankings[System(name, f"g{group:02}", "any")] = np.argsort(-(common + noise), axis=1)[
                :, :50
            ]
    pool = np.zeros((queries, documents), bool)
    for system, ranked in rankings.items():
        if system.run.endswith("-0"):
            np.put_along_axis(pool, ranked[:, :7], True, axis=1)
    qrels = [
        Qrel(str(query), f"d{number}", int(grades[query, number]))
        for query, number in np.argwhere(pool).tolist()
    ]

    def read() -> Iterator[tuple[System, Run]]:
        for system, ranked in rankings.items():
            rows = (
                (str(query), [f"d{number}" for number in row], np.arange(50, 0, -1))
                for query, row in enumerate(ranked.tolist())
            )
            yield system, Run(system.run, rows)

    return open_runs(read, qrels, DEPTH)


def covid(data: Path) -> OpenRuns:
    folder = data / "trec_covid_r5"
    found = find_runs(folder / "runs", folder / "systems.tsv")
    return open_runs(lambda: read_runs(found), Qrels.from_file(folder / "qrels.round5.txt"), DEPTH)


def scores_row(name: str, records: list[dict[str, Any]]) -> str:
    """Coverage with its interval over groups, widths, and what was unjudged; of runs within what
    left-out ones show.
    """
    beyond = sum(record["beyond"] for record in records)
    records = [record for record in records if not record["beyond"]]
    inside = np.array(
        [record["low"] <= record["truth"] <= record["high"] for record in records], float
    )
    estimate = clustered_mean(inside, [record["group"] for record in records])
    widths, bounds = (
        np.mean([record[high] - record[low] for record in records])
        for low, high in (("low", "high"), ("least", "most"))
    )
    within = np.mean(
        [record["least"] - 1e-9 <= record["truth"] <= record["most"] + 1e-9 for record in records]
    )
    said = np.mean([record["said"] for record in records])
    interval = (
        f" [{estimate.interval.low:.1%}, {min(estimate.interval.high, 1):.1%}]"
        if estimate.interval
        else ""
    )
    unjudged = np.mean([record["unjudged"] for record in records])
    groups = len({record["group"] for record in records})
    return (
        f"| {name} | {len(records)} | {beyond} | {groups} | {unjudged:.1%} | {within:.1%} | "
        f"{bounds:.3f} | {inside.mean():.1%}{interval} | {said:.1%} | {widths:.3f} |"
    )


def pairs(records: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By pair of a new and a pooled run: the difference as judged, the probability of better, the
    true difference; equal truths are left out.
    """
    found = [
        np.concatenate([record[name] for record in records if not record["beyond"]])
        for name in ("differences", "better", "truths")
    ]
    different = np.abs(found[2]) > 1e-9
    now, better, true = (values[different] for values in found)
    return now, better, true


def order_rows(name: str, records: list[dict[str, Any]]) -> list[str]:
    """Errors at each share decided, by the threshold on the difference and by the probability; and
    how calibrated the latter is.
    """
    now, better, true = pairs(records)
    rows = []
    for what, chosen in (("all", np.ones(len(now), bool)), (f"|Δ| < {NEAR}", np.abs(now) < NEAR)):
        plain = np.sign(now[chosen]) != np.sign(true[chosen])
        ours = (better[chosen] > 0.5) != (true[chosen] > 0)
        sure = np.maximum(better[chosen], 1 - better[chosen])
        first = [np.argsort(-values, kind="stable") for values in (np.abs(now[chosen]), sure)]
        cells = [
            f"{plain[first[0]][:n].mean():.1%} / {ours[first[1]][:n].mean():.1%}"
            for n in (round(share * len(plain)) for share in SHARES)
        ]
        bins = np.minimum(((sure - 0.5) * 2 * BINS).astype(int), BINS - 1)
        error = sum(
            abs((1 - ours[bins == place]).mean() - sure[bins == place].mean())
            * (bins == place).mean()
            for place in np.unique(bins)
        )
        decided = sure >= 0.95
        cells += [f"{decided.mean():.1%}", f"{ours[decided].mean():.1%}", f"{error:.3f}"]
        rows.append(f"| {name}, {what} | {len(plain):,} | " + " | ".join(cells) + " |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with trec_covid_r5")
    parser.add_argument(
        "--parts", type=Path, required=True, help="where parts of the campaign are kept"
    )
    parser.add_argument("--rounds", type=int, default=10, help="simulated")
    given = parser.parse_args()
    runs = covid(given.data)
    parts: dict[str, list[dict[str, Any]]] = {}

    def add(name: str, place: str, made: dict[str, Any]) -> None:
        seconds.append(made["seconds"])
        parts.setdefault(name, []).extend(
            {**record, "group": f"{place}{record['group']}"} for record in made["records"]
        )

    seconds: list[float] = []
    add(
        "round 5, traditional pool, neural runs",
        "",
        kept_part(given.parts / "across.json", lambda: across(runs)),
    )
    for name, depth in (
        ("round 5, in the top 10 of no other group", DEPTH),
        ("round 5, retrieved by no other group", 1_000),
    ):
        for group in range(len(runs.groups)):
            part = kept_part(
                given.parts / f"covid-{depth}-{group}.json",
                lambda depth=depth, group=group: left_out(runs, depth, group),
            )
            add(name, "", part)
    for seed in range(1, given.rounds + 1):
        drawn = simulated(seed)
        for group in range(len(drawn.groups)):
            part = kept_part(
                given.parts / f"simulated-{seed}-{group}.json",
                lambda d=drawn, group=group: left_out(d, 7, group),
            )
            add("simulated rounds", f"{seed}-", part)
            if group < 4:
                part = kept_part(
                    given.parts / f"ungrouped-{seed}-{group}.json",
                    lambda d=drawn, group=group: ungrouped(d, 7, group),
                )
                add("simulated rounds, groups unknown", f"{seed}-", part)
    text = [
        "# One new run on one old collection: what is predicted, and true",
        "",
        f"{hardware()}; Python {platform.python_version()}, numpy {version('numpy')}, scipy "
        f"{version('scipy')}, positionbias {version('positionbias')}; {date.today().isoformat()}; "
        f"seed {SEED}; {sum(seconds) / 60:.1f} processor minutes.",
        "",
        (
            "    python benchmarks/pool_verdict.py --data $POSBIAS_DATA --parts parts --rounds "
            f"{given.rounds}"
        ),
        "",
        "nDCG@10. Each group in turn is left out of the pooled runs, and what it alone brought "
        "into the judgements out of these: documents that no other group has in its top 10, or has "
        "retrieved at all. With the traditional pool, judgements are those of its top 10. The "
        f"truth is the score by all judgements. Simulated: {given.rounds} rounds of 12 groups with "
        "3 runs each, 30 queries, a pool of depth 7 of one run a group; without groups, 4 groups "
        "of each round are left out. Intervals of coverage are 95 % over groups. No number was "
        "chosen by any of these outcomes, but two parts of the method were added after intervals "
        "by the second rule had covered 82.5 %: where judgements reach below the pool, groups are "
        "left out so that these stay (`OpenRuns.deep`), and errors have a floor, which each pool "
        "sets for itself. Simulated rounds were first drawn after that. Runs of which more is "
        "unjudged than of any left-out run are counted (cannot tell) and are in no other figure.",
        "",
        (
            "| | new runs | cannot tell | groups | unjudged | truth within bounds | width of "
            "bounds | truth within the 95 % prediction interval | the command says | its width |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(scores_row(name, records) for name, records in parts.items()),
        "",
        "Orders of a new run and a pooled one: error at each share decided, the largest "
        "differences as judged first / the surest probabilities first; what is decided at a "
        "probability of 95 %, its error, and the expected calibration error of the probabilities "
        "(10 bins from 0.5).",
        "",
        "| | pairs | "
        + " | ".join(f"{share:.0%} decided" for share in SHARES)
        + " | decided at 95 % | its error | calibration error |",
        "|---|" + "---:|" * (len(SHARES) + 4),
        *(row for name, records in parts.items() for row in order_rows(name, records)),
    ]
    result_place("pool_verdict").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
