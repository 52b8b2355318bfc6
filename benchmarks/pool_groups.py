"""How often pools are called unfair to a kind of system that means nothing, and how often a planted
unfairness is found: before, when intervals were over pools and topics, and after, with kinds
permuted among groups.

    PYTHONPATH=. python benchmarks/pool_groups.py --out parts
        # writes benchmarks/results/pool_groups_HARDWARE_DATE.md

On TREC-COVID's fifth round ($POSBIAS_DATA/trec_covid_r5) kinds are permuted among its groups, so
that they mean nothing; then a share of the relevant documents is planted: runs of one of the
permuted kinds have a copy of each instead, which no other run has. On simulated runs
(``tests/pooling/simulated.py``) neural systems find at a set rate what others cannot; the truth
of P@10 is −rate · c · the mean chance of a relevant document. At rate 0 the kinds of the simulated
runs are permuted once, so that groups differ at random. Finished parts are kept in --out.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, kept_part, result_place
from scipy import stats

from positionbias.core.qrels import Qrels
from positionbias.core.seeds import generator
from positionbias.evaluation.crossed import crossed
from positionbias.evaluation.judged_runs import (
    NOT_RETRIEVED,
    JudgedRuns,
    PoolMeasure,
    judge_runs,
    pool_measures,
    score_pools,
)
from positionbias.pooling.kinds import (
    Contrast,
    KindAnswer,
    KindPair,
    add_kinds,
    exchange_of,
    exchanged,
)
from positionbias.pooling.measured import find_runs, read_runs
from positionbias.pooling.pools import draw_pools, gold_pool, pool_kinds, pool_rows
from positionbias.pooling.settings import PoolSettings
from tests.pooling.simulated import Simulation, simulated_qrels, simulated_runs

POOLS = 10  # that the rule of before had
RATES = (0.0, 0.05, 0.1, 0.2, 0.4)
SHARE = 0.057  # of the relevant documents: a gap of about 0.03
SURE = (KindAnswer.WORSE, KindAnswer.BETTER)
KINDS = ("traditional", "neural")


def covid() -> JudgedRuns:
    folder = Path(os.environ["POSBIAS_DATA"]) / "trec_covid_r5"
    found = find_runs(folder / "runs", folder / "systems.tsv")
    return judge_runs(read_runs(found), Qrels.from_file(folder / "qrels.round5.txt"))


def before(
    runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings
) -> dict[str, Any]:
    """The answers of the rule that this replaces, by "pool measure", and the mean gap: worse or
    better where 95 % intervals over pools and topics leave out 0, both of the change beside unseen
    runs of the pool's kind and of that in shares of the gold score.
    """
    answers, gold = {}, gold_pool(runs, settings)
    for kind in pool_kinds(runs.systems):
        drawn = draw_pools(runs, kind, range(POOLS), settings)
        own = runs.kinds == kind
        for measure in measures:
            truth = score_pools(runs, gold[None], measure)[0]
            change = score_pools(runs, drawn.judged, measure) - truth
            means, scores = [], []
            for members in (drawn.test & own, drawn.test & ~own):
                weights = members / members.sum(axis=1, keepdims=True)
                means.append(np.einsum("pqr,pr->pq", change, weights))
                scores.append((weights @ truth.mean(axis=0))[:, None])
            gaps = (means[1] - means[0], means[1] / scores[1] - means[0] / scores[0])
            intervals = [crossed(gap[:, None, :], units="pools").interval for gap in gaps]
            ends = [(found.low, found.high) for found in intervals if found]
            answer = (
                "worse"
                if max(high for _, high in ends) < 0
                else "better"
                if min(low for low, _ in ends) > 0
                else ""
            )
            answers[f"{kind} {measure.name}"] = {
                "answer": answer,
                "held": float(1 + (means[0] / scores[0]).mean()),
            }
    return answers


def effects(
    runs: JudgedRuns, measures: Sequence[PoolMeasure], settings: PoolSettings, permutations: int
) -> list[dict[str, Any]]:
    """The answers of the rule, with their figures, a record each."""
    made = pool_rows("")
    add_kinds(made, runs, measures, settings, permutations=permutations)
    records = []
    for key, rows in made.rows.groupby(["pool", "measure", "variant"], sort=False):
        own = {row.statistic: row for row in rows.itertuples()}
        effect, alarms = own["effect of kind"], own["false alarms"]
        records.append(
            {
                **dict(zip(("pool", "measure", "contrast"), key, strict=True)),
                "answer": effect.answer, "value": effect.value, "low": effect.low,
                "high": effect.high, "gap": own["gap"].value, "p holm": effect.p_adjusted,
                "false alarms": alarms.value, "alarms": [alarms.low, alarms.high],
                "power": own["power"].value,
            }
        )  # fmt: skip
    return records


def permuted(permutations: int) -> dict[str, Any]:
    """TREC-COVID as it is, with the rates of add_kinds, and the answers of before on permuted
    kinds.
    """
    runs, measures, settings = covid(), pool_measures(["RR", "nDCG@10"]), PoolSettings()
    classes, _ = exchange_of(runs.systems, KINDS)
    old = [
        before(
            replace(runs, systems=exchanged(runs.systems, classes, number, 2)), measures, settings
        )
        for number in range(permutations // 4)
    ]
    return {
        "as it is": before(runs, measures, settings),
        "before": old,
        "after": effects(runs, measures, settings, permutations),
    }


def with_copies(runs: JudgedRuns, kind: str, share: float, seed: int) -> JudgedRuns:
    """The runs with a share of the relevant documents, drawn by seed, exchanged in runs of ``kind``
    for copies that only these have.
    """
    chosen = (runs.grades > 0) & (generator(seed, "copies").random(runs.unjudged) < share)
    moved = np.arange(runs.unjudged) + np.cumsum(chosen) - chosen
    whose, old = runs.kinds == kind, np.repeat(np.arange(runs.unjudged), 1 + chosen)
    is_copy = np.zeros(len(old), bool)
    is_copy[moved[chosen] + 1] = True
    ranks = runs.ranks[:, old]
    ranks[np.ix_(~whose, is_copy)] = NOT_RETRIEVED
    ranks[np.ix_(whose, chosen[old] & ~is_copy)] = NOT_RETRIEVED
    last = [len(old), len(old) + 1]
    table = np.array([np.append(moved, last), np.append(moved + chosen, last)], np.int32)
    places = np.stack(
        [table[int(own)][runs.places[:, run]] for run, own in enumerate(whose)], axis=1
    )
    starts = runs.starts + np.append(0, np.cumsum(chosen))[runs.starts]
    return JudgedRuns(runs.systems, runs.query_ids, places, ranks, runs.grades[old], starts)


def planted(number: int) -> dict[str, Any]:
    """One planting in TREC-COVID under permuted kinds: the gap that it makes, and the answers
    before and after.
    """
    runs, measures, settings = covid(), pool_measures(["nDCG@10"]), PoolSettings()
    classes, _ = exchange_of(runs.systems, KINDS)
    runs = replace(runs, systems=exchanged(runs.systems, classes, number, 3))
    copied = with_copies(runs, "neural", SHARE, number)
    pairs = [KindPair(of, measures, settings, *KINDS) for of in (copied, runs)]
    gaps = [pair.effects(runs.systems)[:, 0] for pair in pairs]
    made = {
        contrast: float(gap)
        for (_, contrast), gap in zip(pairs[0].tests, gaps[0] - gaps[1], strict=True)
    }
    after = effects(copied, measures, settings, 200)
    return {"before": before(copied, measures, settings), "after": after, "made": made}


def simulated(rate: float, seed: int) -> dict[str, Any]:
    simulation = Simulation(rate=rate, seed=seed)
    runs, measures = (
        judge_runs(simulated_runs(simulation), simulated_qrels(simulation)),
        pool_measures(["P@10"]),
    )
    settings = PoolSettings(gold="all", seed=seed)
    if not rate:
        classes, _ = exchange_of(runs.systems, KINDS)
        runs = replace(runs, systems=exchanged(runs.systems, classes, 0, seed))
    old = before(runs, measures, settings)
    truth = -rate * old["traditional P@10"]["held"] * (simulation.weakest + simulation.best) / 2
    return {
        "truth": truth,
        "before": old,
        "after": effects(runs, measures, settings, 200),
    }


def share(found: Sequence[bool]) -> str:
    """A share with its exact 95 % interval."""
    bounds = stats.binomtest(int(np.sum(found)), len(found)).proportion_ci()
    return f"{np.mean(found):.1%} [{bounds.low:.1%}, {bounds.high:.1%}]"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)] + [""]


def covid_text(found: dict[str, Any]) -> list[str]:
    heads = (
        "pools", "measure", "against", "nominal", "false alarms before", "false alarms",
        "power at 0.03", "gap", "effect", "p (Holm)", "answer", "answer before",
    )  # fmt: skip
    rows, decided = [], 0
    for one in found["after"]:
        key = f"{one['pool']} {one['measure']}"
        unseen = one["contrast"] == Contrast.UNSEEN
        alarms = f"{one['false alarms']:.1%} [{one['alarms'][0]:.1%}, {one['alarms'][1]:.1%}]"
        old = share([own[key]["answer"] != "" for own in found["before"]]) if unseen else ""
        rows.append(
            [one["pool"], one["measure"], one["contrast"], "5%", old, alarms, f"{one['power']:.1%}",
             f"{one['gap']:+.3f}",
             f"{one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]", f"{one['p holm']:.3f}",
             one["answer"], (found["as it is"][key]["answer"] or "not shown") if unseen else ""]
        )  # fmt: skip
        decided += one["answer"] != KindAnswer.UNKNOWN
    any_old = share([any(own["answer"] for own in of.values()) for of in found["before"]])
    old_decided = sum(own["answer"] != "" for own in found["as it is"].values())
    return [
        *table(heads, rows),
        f"Before, at least one of the four answers was a false alarm in {any_old} of "
        f"{len(found['before'])} permutations. Questions decided on the kinds as they are: "
        f"{old_decided} of {len(found['as it is'])} before, {decided} of {len(found['after'])} "
        "now.",
        "",
    ]


def of_traditional(found: Sequence[dict[str, Any]], contrast: Contrast) -> list[dict[str, Any]]:
    """Each part's effect on neural runs under traditional pools."""
    wanted = ("traditional", contrast)
    return [
        next(one for one in of["after"] if (one["pool"], one["contrast"]) == wanted) for of in found
    ]


def planted_text(found: Sequence[dict[str, Any]]) -> list[str]:
    heads = (
        "against",
        "gap that is planted",
        "called worse before",
        "called worse",
        "decided before",
        "decided",
    )
    rows = []
    for contrast in Contrast:
        own = of_traditional(found, contrast)
        old = [of["before"]["traditional nDCG@10"]["answer"] for of in found]
        answers = [one["answer"] for one in own]
        unseen = contrast is Contrast.UNSEEN
        rows.append(
            [contrast.value, f"{np.mean([of['made'][contrast] for of in found]):+.3f}",
             share([one == "worse" for one in old]) if unseen else "",
             share([one == KindAnswer.WORSE for one in answers]), share([one != "" for one in old])
             if unseen else "",
             share([one != KindAnswer.UNKNOWN for one in answers])]
        )  # fmt: skip
    return table(heads, rows)


def simulated_text(found: dict[float, list[dict[str, Any]]]) -> list[str]:
    heads = (
        "rate", "P@10, truth", "P@10, measured, mean", "P@10, measured, middle 95 %",
        "intervals that hold the truth", "intervals below 0",
        "called worse before", "called worse", "called worse beyond mixed pools",
        "wrongly decided before, both kinds", "wrongly decided, both kinds",
    )  # fmt: skip
    rows = []
    for rate, sets in found.items():
        truth = np.array([of["truth"] for of in sets])
        by_contrast = {contrast: of_traditional(sets, contrast) for contrast in Contrast}
        unseen = by_contrast[Contrast.UNSEEN]
        values, low, high = (
            np.array([one[name] for one in unseen]) for name in ("value", "low", "high")
        )
        ends = np.quantile(values, [0.025, 0.975])
        wrong = ["", ""]
        if not rate:
            wrong = [share([any(own["answer"] for own in of["before"].values()) for of in sets])]
            wrong.append(share([any(one["answer"] in SURE for one in of["after"]) for of in sets]))
        rows.append(
            [f"{rate:.2f}", f"{truth.mean():+.3f}", f"{values.mean():+.3f}",
             f"{ends[0]:+.3f} to {ends[1]:+.3f}",
             f"{((low <= truth) & (truth <= high)).mean():.1%}", f"{(high < 0).mean():.1%}",
             share([of["before"]["traditional P@10"]["answer"] == "worse" for of in sets]),
             *(share([one["answer"] == KindAnswer.WORSE for one in by_contrast[contrast]])
             for contrast in Contrast), *wrong]
        )  # fmt: skip
    return table(heads, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a folder for finished parts")
    parser.add_argument(
        "--permutations", type=int, default=1_000, help="of the kinds of TREC-COVID"
    )
    parser.add_argument("--plantings", type=int, default=20)
    parser.add_argument(
        "--evaluations", type=int, default=40, help="of each rate of the simulation"
    )
    given = parser.parse_args()
    place: Path = given.out
    on_covid = kept_part(
        place / f"permuted-{given.permutations}.json", lambda: permuted(given.permutations)
    )
    plantings = [
        kept_part(place / f"planted-{n}.json", lambda n=n: planted(n))
        for n in range(given.plantings)
    ]
    sets = {
        rate: [kept_part(place / f"simulated-{rate}-{seed}.json", lambda r=rate,
        s=seed: simulated(r, s)) for seed in range(1, given.evaluations + 1)]
        for rate in RATES
    }  # fmt: skip
    seconds = sum(
        part["seconds"]
        for part in (on_covid, *plantings, *(one for of in sets.values() for one in of))
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    size = Simulation()
    text = [
        (
            "# Pools of one kind of system: false alarms and power, before and after kinds are "
            "permuted among groups"
        ),
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; {seconds / 60:.1f} processor minutes."
        ),
        "",
        (
            f"    python benchmarks/pool_groups.py --out parts --permutations {given.permutations} "
            f"--plantings {given.plantings} --evaluations {given.evaluations}"
        ),
        "",
        (
            "Before: 95 % intervals over 10 pools and topics, of the score and of shares of it, "
            "without correction for several tests. Now: kinds permuted among groups, Holm over all "
            "rows of a"
        ),
        (
            'table\'s data set. Brackets are 95 % intervals; false alarms are answers "worse" or '
            '"better" where kinds are permuted.'
        ),
        "",
        (
            f"## TREC-COVID, round 5, 28 groups, {given.permutations:,} permutations for p and "
            f"{given.permutations:,} others for error rates"
        ),
        "",
        *covid_text(on_covid),
        (
            f"## Copies planted in TREC-COVID, {len(plantings)} times, kinds permuted first; "
            "nDCG@10, traditional pools, neural runs"
        ),
        "",
        *planted_text(plantings),
        (
            f"## Simulated runs, {given.evaluations} evaluations of each rate, traditional pools, "
            "neural runs"
        ),
        "",
        (
            f"{size.queries} queries, {size.groups} groups of each kind with a run each; gold is "
            "every judgement. Measured: the effect beside unseen runs."
        ),
        "",
        *simulated_text(sets),
    ]
    result_place("pool_groups").write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
