"""The numbers behind the committed figures and tables, and the tables that are made of them.

    python figures/kept_numbers.py keep NAME RESULTS [MEASURE …]
        # writes figures/numbers/NAME.json from a folder of results, or from those of some measures
    python figures/kept_numbers.py compared NAME RESULTS AXIS
        # the same of its comparisons on an axis, over trainings
    python figures/kept_numbers.py benchmark NAME FILE
        # writes figures/numbers/benchmarks/NAME.json from the tables of a file of
        # benchmarks/results
    python figures/kept_numbers.py tables
        # writes the tables between "<!-- table NAME -->" and "<!-- end of table -->"

What is kept of results: everything but the values of single queries, examples, and what was found
in words. A test holds the tables to the numbers.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import benchmark_numbers
from docs_tables import BENCHMARK_TABLES

from positionbias.core.convergence import UNFINISHED, ended_name
from positionbias.core.formatting import as_form, count, decimal, interval, percent, with_interval
from positionbias.core.interval import Interval
from positionbias.core.manifest import read_manifest
from positionbias.papers.contamination import CONTAMINATION as PAIRED
from positionbias.papers.position_bias import MOVED, NO_REMEDY, REMEDIES, place_of
from positionbias.papers.position_bias.remedy_table import price_of
from positionbias.papers.tripclick import DepthCurve, DepthPoint, Telemetry, TrainingSet
from positionbias.results.payloads import Comparison
from positionbias.results.pools import (
    ALL,
    ChangeFigures,
    Contrast,
    OrderFigures,
    by_contrast,
    by_measure,
    measures_in,
    pools_in,
    tests_in,
)
from positionbias.results.result import Result, load_results
from positionbias.results.select import of_type, over_axis

__all__ = ["TABLES", "keep", "numbers", "with_tables"]

HERE = Path(__file__).parent
NUMBERS = HERE / "numbers"
PLACED_RESULTS = HERE.parent / "benchmarks" / "results" / "placed.json"
PAGES = (
    HERE.parent / "README.md",
    HERE / "README.md",
    *sorted((HERE.parent / "docs").glob("*.md")),
)
LEFT_OUT = ("finding",)
_TABLE = re.compile(r"(?<=<!-- table )(\w+)( -->\n).*?(?=<!-- end of table -->)", re.DOTALL)


def keep(name: str, place: Path, *measures: str) -> None:
    """Write the numbers of a folder of results, with the command's name, its settings and the
    commit that this is.
    """
    _keep(
        name,
        place,
        [
            r
            for r in load_results(place)
            if r.kind not in LEFT_OUT and (not measures or r.measure in measures)
        ],
    )


def compared(name: str, place: Path, axis: str) -> None:
    """The same of comparisons on an axis, over trainings."""
    _keep(
        name,
        place,
        [
            r
            for r, one in of_type(load_results(place), Comparison)
            if one.noted.axis == over_axis(axis)
        ],
    )


def _keep(name: str, place: Path, kept: Sequence[Result]) -> None:
    manifest = read_manifest(place)
    rows = [one.to_json(items=False) for one in kept]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True
    ).stdout.strip()
    record = {
        "command": manifest.command,
        "settings": manifest.settings,
        "commit": commit,
        "results": _rounded(rows),
    }
    NUMBERS.mkdir(exist_ok=True)
    (NUMBERS / f"{name}.json").write_text(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8"
    )


def _rounded(value: Any) -> Any:
    """Floats to seven figures."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def numbers(name: str) -> list[dict[str, Any]]:
    """The results that were kept under a name, as JSON."""
    return list(json.loads((NUMBERS / f"{name}.json").read_text("utf-8"))["results"])


def results(name: str) -> list[Result]:
    """The same as results, without the values of queries."""
    for row in (rows := numbers(name)):
        if row["kind"] == "per_query":
            row["payload"] |= {"query_ids": [], "values": []}
    return [Result.from_json(row) for row in rows]


def _verdict(name: str, system: str, question: str) -> Mapping[str, Any]:
    """A system's verdict on its places in the passage, or in the list."""
    return next(
        row["payload"]
        for row in numbers(name)
        if row["measure"] == "verdict"
        and row["system"] == system
        and row["payload"]["question"] == question
    )


def _effect(verdict: Mapping[str, Any], contrast: str, unit: str, *, read: bool = False) -> str:
    wanted = (contrast, unit, "read" if read else "")
    for one in verdict["effects"]:
        if (one["contrast"], one["unit"], one["subset"]) == wanted:
            value, low, high = (decimal(one[key], 3, sign=True) for key in ("value", "low", "high"))
            return f"{value} [{low}, {high}]"
    return "–"


AUDITS = (
    ("audit-list-first", "myscorers:first", "a function that returns −i for the i-th passage"),
    ("audit-list-last", "myscorers:last", "a function that returns +i"),
    ("audit-random", "myscorers:rnd", "a random function, not seeded"),
    ("audit-bm25", "bm25", "BM25, from two runs"),
    ("squad-audit", "minilm", "all-MiniLM-L6-v2"),
    ("planted-audit", "tk-original-seed-1", "the demo's TK trained on original passages"),
    ("planted-audit", "tk-rotated-1-seed-1", "the demo's TK trained on rotated passages"),
)


def audits() -> list[str]:
    """The verdicts of several audits, with their effects."""
    lines = [
        (
            "| audited | queries | place in the passage | end − front, deviations | middle − ends "
            "| by rotation | end − front, nDCG@10 | order of the list |"
        ),
        "|---|---:|---|---|---|---|---|---|",
    ]
    for name, system, label in AUDITS:
        passage = _verdict(name, system, "position in the passage")
        read = any(one["subset"] == "read" for one in passage["effects"])
        effects = [
            _effect(passage, contrast, "deviations", read=read)
            for contrast in ("end − front", "middle − ends", "rotated to the end − to the front")
        ]
        quality = _effect(passage, "end − front", "nDCG@10", read=read)
        if quality == "–":
            quality = _effect(passage, "two runs: moved to the end − to the front", "nDCG@10")
        exceeds = {True: "", False: ", perhaps within the margin", None: ""}[passage["exceeds"]]
        answer = f"{passage['preference']}{exceeds}{', within what it reads' if read else ''}"
        order = "–"
        if name != "audit-bm25":
            listed = _verdict(name, system, "order in the list")
            ranks = [
                one
                for one in listed["effects"]
                if one["contrast"] == "first to last place in the list"
            ]
            order = listed["preference"] + (
                f", {decimal(ranks[0]['value'], 1, sign=True)} ranks" if ranks else ""
            )
        lines.append(
            f"| {label} | {count(passage['queries'])} | {answer} | {' | '.join(effects)} | "
            f"{quality} | {order} |"
        )
    return lines


PLANTED = (("planted-1", "1"), ("planted-0", "0"))


def planted() -> list[str]:
    """What rotation costs two trainings at several front-loadings, over seeds and draws."""
    lines = [
        (
            "| front-loading | trained on | nDCG@10, original test | rotated test | change by "
            "rotation | the same, answer left whole | above BM25, original test |"
        ),
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, label in PLANTED:
        for training in ("original", "rotated"):
            system = f"tk-{training}"
            both = _compared(name, "test sets", system, "all queries")
            whole = _compared(name, "test sets", system, "queries whose answer was left whole")
            above = _compared(name, "baseline", system, "all queries")
            means = (decimal(both[side], 3) for side in ("baseline_mean", "candidate_mean"))
            changes = (_interval(one, "relative", "+.1%") for one in (both, whole))
            lines.append(
                f"| {label} | {training} | {' | '.join((*means, *changes))} | "
                f"{_interval(above, 'difference', '+.3f')} |"
            )
            label = ""
    return lines


def _compared(name: str, axis: str, system: str, subset: str) -> Mapping[str, Any]:
    """The comparison over trainings and queries of nDCG@10 along an axis, on the original test
    where there are several.
    """
    return next(
        row["payload"]
        for row in numbers(name)
        if row["measure"] == "nDCG@10"
        and row["system"] == system
        and (notes := row["payload"].get("notes", {})).get("axis") == over_axis(axis)
        and row["payload"]["subset"] == subset
        and (
            axis == "test sets"
            or (notes["systems"][0], notes["test_sets"][1]) == ("bm25", "original")
        )
    )


def _interval(comparison: Mapping[str, Any], figure: str, form: str, trainings: int = 2) -> str:
    """With its interval over trainings; those of two are told each, and one has none."""
    interval = comparison[f"{figure}_interval"]
    if trainings == 1:
        return as_form(comparison[figure], form)
    if interval is None:  # of two trainings
        by_seed = ", ".join(
            as_form(value, form) for value in comparison["notes"][f"{figure} by seed"]
        )
        return f"{as_form(comparison[figure], form)} ({by_seed})"
    low, high = (as_form(interval[end], form) for end in ("low", "high"))
    return f"{as_form(comparison[figure], form)} [{low}, {high}]"


PLACED = {
    "squad": ("front", "uniform", "rotated"),
    "levels": ("front", "half", "uniform", "rotated"),
}
MODELS = {"tk": "TK", "bert_cat": "BERT_CAT", "bert_dot": "BERT_DOT"}


def placed() -> list[str]:
    """Models trained on real text whose evidence was placed as MS MARCO's answers are."""
    return _placed("squad")


def levels() -> list[str]:
    """TK trained on real text by how front-loaded its evidence is."""
    return _placed("levels")


def _placed(name: str) -> list[str]:
    """A study of placed text: training by test, what rotation changes, and the audit of every
    training.
    """
    arms = PLACED[name]
    tests = [f"nDCG@10, {arms[0]} test", *(f"{arm} test" for arm in arms[1:])]
    heads = [
        "model",
        "trained on",
        "above BM25 on validation",
        *tests,
        "front → rotated",
        "above BM25, uniform test",
    ]
    heads += [
        "audit, within what it reads: end − front, deviations by seed",
        "place in the passage",
        "end − front, over all texts",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|---|---|---|{'---:|' * (len(arms) + 2)}---|---|---|"]
    study = json.loads(PLACED_RESULTS.read_text("utf-8"))["studies"][name]
    for model in dict.fromkeys(row["model"] for row in study["table"]):
        for arm in arms:
            tested = {
                row["test"]: row
                for row in study["table"]
                if (row["model"], row["training"]) == (model, arm)
            }
            if not tested:
                continue  # not trained yet: named in the results
            contrast = next(
                one
                for one in study["contrasts"]
                if (one["baseline"], one["candidate"])
                == tuple(
                    f"{model} trained on {arm}, tested on {test}" for test in ("front", "rotated")
                )
            )
            verdicts = [
                one["verdict"]["payload"]
                for one in study["verdicts"]
                if (one["model"], one["arm"]) == (model, arm)
                and one["verdict"]["payload"]["question"] == "position in the passage"
            ]
            effects, over_all = (
                ", ".join(
                    _effect(one, "end − front", "deviations", read=read).partition(" ")[0]
                    for one in verdicts
                )
                for read in (True, False)
            )
            answers = ", ".join(
                f"{answer} ({number} of {len(verdicts)})"
                for answer, number in Counter(one["preference"] for one in verdicts).items()
            )
            uniform = next(
                row
                for row in study["table"]
                if (row["model"], row["training"], row["test"]) == (model, arm, "uniform")
            )
            first = study["first stage"]["test"]
            by_seed = [value - first for value in uniform["by seed"].values()]
            above = {**uniform["above first stage"], "notes": {"difference by seed": by_seed}}
            trainings = [
                one for one in study["trainings"] if (one["model"], one["arm"]) == (model, arm)
            ]
            beats = [one["beats first stage"] for one in trainings]
            unfinished = [one["seed"] for one in trainings if one["ending"]["finish"] == UNFINISHED]
            # no mean takes finished and unfinished ones together
            parted = 0 < len(unfinished) < len(trainings)
            trained = (
                f"{arm}, seed {unfinished[0]} {UNFINISHED}"
                if parted
                else ended_name(arm, bool(unfinished))
            )
            values = [
                list(tested[test]["by seed"].values()) if parted else [tested[test]["mean"]]
                for test in arms
            ]
            cells = [
                f"{sum(beats)} of {len(beats)}",
                *(", ".join(decimal(one, 3) for one in own) for own in values),
            ]
            if any(beats) and parted:
                cells += [
                    ", ".join(as_form(one, form) for one in of["notes"][f"{figure} by seed"])
                    for of, figure, form in (
                        (contrast, "relative", "+.1%"),
                        (above, "difference", "+.3f"),
                    )
                ]
            elif any(beats):
                cells += [
                    _interval(contrast, "relative", "+.1%", len(beats)),
                    _interval(above, "difference", "+.3f", len(beats)),
                ]
            else:
                cells += ["BM25's order", "BM25's order"]
            lines.append(
                f"| {MODELS[model]} | {trained} | {' | '.join(cells)} | {effects} | {answers} | "
                f"{over_all} |"
            )
    return lines


def positions() -> list[str]:
    """Where answers sit before and after rotation; of several draws the mean, with the lowest and
    the highest.
    """
    lines = [
        (
            "| | draws | share in the first tenth | if unbiased | mean position | if unbiased | "
            "total variation | by chance alone, 95 % below | draws beyond that |"
        ),
        "|---|---:|---|---:|---|---:|---|---:|---:|",
    ]
    for title, rows in histograms("figure-1").items():
        figures = [row["payload"]["figures"] for row in rows]
        tenth, mean, variation = (
            [one[name] for one in figures] for name in ("first_tenth", "mean", "total_variation")
        )
        beyond = sum(one["value"] > one["by_chance_high"] for one in variation)
        high = sum(one["by_chance_high"] for one in variation) / len(variation)
        cells = [
            _over_draws(tenth),
            _expected(tenth),
            _over_draws(mean),
            _expected(mean),
            _over_draws(variation),
            decimal(high, 3),
        ]
        lines.append(f"| {title} | {len(rows)} | {' | '.join(cells)} | {beyond} |")
    return lines


DATA = {"msmarco": "MS MARCO", "squad": "SQuAD"}
ROTATIONS = {"": "original", "words": "word-rotated", "sentences": "sentence-rotated"}


def histograms(name: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a panel by its title, of collections named ``squad``, ``squad-words-1``,
    ``squad-words-2`` and so on; in the figure's order.
    """
    rows = numbers(name)
    found = {}
    for data, rotation in product(DATA, ROTATIONS):
        wanted = re.compile(rf"{data}-{rotation}-\d+" if rotation else data)
        found[f"{DATA[data]}, {ROTATIONS[rotation]}"] = [
            row for row in rows if wanted.fullmatch(row["collection"])
        ]
    return found


def _over_draws(figures: Sequence[Mapping[str, Any]]) -> str:
    values = [one["value"] for one in figures]
    low, high = (
        (figures[0]["interval"][end] for end in ("low", "high"))
        if len(values) == 1
        else (min(values), max(values))
    )
    return f"{decimal(sum(values) / len(values), 3)} [{decimal(low, 3)}, {decimal(high, 3)}]"


def _expected(figures: Sequence[Mapping[str, Any]]) -> str:
    return decimal(sum(one["expected"] for one in figures) / len(figures), 3)


POOLS = "pool-covid"


def pools() -> list[str]:
    """Kendall's τ between the orders by gold and by pools of each kind."""
    found = of_type(results(POOLS), OrderFigures)
    by_key = {(own.measure, own.pool, own.test): result for result, own in found}
    columns = list(product(measures_in(found), tests_in(found)))
    heads = [
        "Kendall's τ with gold (intervals over pools)",
        *(f"{measure} {test}" for measure, test in columns),
    ]
    lines = [heads, ["---"] * len(heads)]
    for pool in pools_in(found):
        cells = [by_key[measure, pool, test] for measure, test in columns]
        lines.append(
            [
                f"{pool} pools",
                *(with_interval(decimal(one.value), interval(one.interval)) for one in cells),
            ]
        )
    return [f"| {' | '.join(line)} |" for line in lines]


def pool_kinds() -> list[str]:
    """How far pools of one kind move the scores of another, and whether that is due to kind."""
    found = results(POOLS)
    effects = by_contrast(found)
    heads = ["measure", "pools", "test systems", "mean by gold", "by the pool", "change"]
    for against in Contrast:
        heads += [f"{against}, less permuted kinds", "answer", "false alarms", "power at 0.03"]
    lines = [heads, ["---"] * len(heads)]
    for result, own in by_measure(of_type(found, ChangeFigures)):
        if own.test == ALL:
            continue
        cells = [
            own.measure,
            own.pool,
            own.test,
            decimal(own.gold),
            decimal(own.estimated),
            _signed(result.value, result.interval),
        ]
        for against in Contrast:
            effect, kinds = effects.get((against, own.measure, own.pool, own.test), (None, None))
            if effect and kinds and kinds.alarms:
                cells += [
                    _signed(effect.value, effect.interval),
                    kinds.answer,
                    percent(kinds.alarms.value),
                    percent(kinds.power, 0),
                ]
            else:
                cells += [""] * 4
        lines.append(cells)
    return [f"| {' | '.join(line)} |" for line in lines]


def pool_coverage() -> list[str]:
    """Relevant documents in the pools of each kind's runs, and those that no other kind has
    there.
    """
    lines = [
        (
            "| at depth 10 | runs | groups | relevant documents in the pool of all its runs | in "
            "no other kind's |"
        ),
        "|---|---:|---:|---:|---:|",
    ]
    for row in numbers("pool-coverage"):
        found = row["payload"]["rows"]
        if row["measure"] == "coverage":
            cells = (count(found[what]) for what in ("systems", "groups", "relevant", "unique"))
            lines.append(f"| {found['kind']} | {' | '.join(cells)} |")
    return lines


def _signed(value: float | None, bounds: Interval | None, places: int = 3) -> str:
    return with_interval(
        decimal(value, places, sign=True), interval(bounds, places=places, sign=True)
    )


LOSSES = {"lce": "", "ranknet": ", RankNet", "kl": ", KL", "margin_mse": ", MarginMSE"}


def contamination() -> list[str]:
    """What a teacher that saw the test, and its students, gain on the test and on fresh queries,
    over trainings and queries.
    """
    rows = [
        row
        for row in numbers("contamination-planted")
        if row["kind"] == "comparison"
        and row["measure"] == "nDCG@10"
        and row["payload"]["notes"]["axis"] == PAIRED
    ]
    lines = [
        (
            "| model | trainings | clean | contaminated | change on the test | change on fresh "
            "queries |"
        ),
        "|---|---:|---:|---:|---|---|",
    ]
    changes = {(row["system"], row["split"]): row["payload"] for row in rows}
    for row in rows:
        if row["split"] != row["facts"]["source"]:
            continue
        facts, test, fresh = row["facts"], row["payload"], changes[row["system"], "fresh"]
        name = (
            f"{'teacher' if facts['role'] == 'teacher' else 'its student'} "
            f"{MODELS[facts['model']]}{LOSSES[facts['loss']]}"
        )
        means = (decimal(test[side], 3) for side in ("baseline_mean", "candidate_mean"))
        gains = (_interval(one, "difference", "+.3f") for one in (test, fresh))
        trained = ended_name(name, facts.get("unfinished", False))
        lines.append(
            f"| {trained} | {len(test['notes']['seeds'])} | {' | '.join((*means, *gains))} |"
        )
    return lines


TOPICS = {"robust04": "Robust04", "core17": "Core 2017", "core18": "Core 2018"}


def leakage_topics() -> list[str]:
    """MS MARCO queries near topics of TREC, by detector."""
    lines = [
        "| topics | by meaning: queries / topics | by words alone, precision unknown |",
        "|---|---|---|",
    ]
    for name, label in TOPICS.items():
        found = {row["measure"]: row for row in numbers(f"leakage-{name}")}
        pairs = [
            next(iter(found[what]["payload"]["rows"]["union"].values()))
            for what in ("leakage candidates", "candidates by words alone")
        ]
        cells = [f"{one['queries']} / {one['topics']}" for one in pairs]
        lines.append(f"| {label} ({found['leakage candidates']['count']}) | {' | '.join(cells)} |")
    return lines


RETRIEVERS = {"bm25": "BM25", "minilm": "MiniLM"}


def dense_squad() -> list[str]:
    """BM25 and MiniLM over SQuAD's passages."""
    lines = ["| SQuAD, 1,000 test questions | R@100 | nDCG@10 |", "|---|---|---|"]
    for system, label in RETRIEVERS.items():
        found = _by_measure("dense-squad", system)
        lines.append(
            f"| {label} | "
            f"{' | '.join(_with_bounds(found[measure]) for measure in ('R@100', 'nDCG@10'))} |"
        )
    return lines


def _by_measure(name: str, system: str) -> Mapping[str, Mapping[str, Any]]:
    """A run's own results, none of comparisons."""
    return {
        row["measure"]: row
        for row in numbers(name)
        if (row["kind"], row["system"]) == ("per_query", system)
    }


def _with_bounds(row: Mapping[str, Any]) -> str:
    low, high = (decimal(row["interval"][end], 3) for end in ("low", "high"))
    return f"{decimal(row['value'], 3)} [{low}, {high}]"


CLICKED = {
    "regenerated": "regenerated",
    "original": "original",
    "original-cleaned": "original, false negatives left out",
}
DEPTHS = (10, 20, 50, 100)


def clicks() -> list[str]:
    """TK by what its negatives are, and whether its training was finished: false negatives,
    accuracy in training, and nDCG@10 by re-ranking depth.
    """
    found = results("tripclick-planted-10")
    lines = [
        (
            "| TK trained on | trainings | false negatives | pairwise accuracy in training | "
            f"re-ranking {' | '.join(map(str, DEPTHS))} |"
        ),
        f"|---|---:|---:|---:|{'---|' * len(DEPTHS)}",
    ]
    shares = {
        result.facts.variant: result.value or 0.0 for result, _ in of_type(found, TrainingSet)
    }
    telemetry = {result.system: result for result, _ in of_type(found, Telemetry)}
    for result, curve in of_type(found, DepthCurve):
        variant, trained = result.facts.variant, telemetry[result.system]
        name = ended_name(CLICKED[variant], result.facts.unfinished)
        points = {point.depth: point for point in curve.points}
        cells = [_mean(points[depth], trained.count) for depth in DEPTHS]
        accuracy = decimal(trained.value, 3)
        lines.append(
            f"| {name} | {trained.count} | {as_form(shares[variant], '.1%')} | {accuracy} | "
            f"{' | '.join(cells)} |"
        )
    return lines


def _mean(point: DepthPoint, trainings: int) -> str:
    """With its interval where that is over trainings."""
    interval = point.interval if trainings > 1 else None
    ends = (
        [] if interval is None else [f"[{decimal(interval.low, 3)}, {decimal(interval.high, 3)}]"]
    )
    return " ".join([decimal(point.mean, 3), *ends])


def remedies(name: str) -> list[str]:
    """What each remedy does to quality and to bias in a study, over trainings and queries, where
    intervals speak of it.
    """
    axis, found = over_axis(REMEDIES), of_type(results(name), Comparison)
    of = [
        (r, one)
        for r, one in found
        if one.noted.axis == axis and one.difference_interval is not None
    ]
    by = {(r.measure, r.facts.variant): one for r, one in of}
    lines = [
        (
            "| remedy | nDCG@10 on original passages | less that without a remedy | size of the "
            "effect of a moved sentence | less that without a remedy | price |"
        ),
        "|---|---:|---|---:|---|---|",
    ]
    variants = sorted(dict.fromkeys(variant for _, variant in by), key=place_of)
    sides = [[by["nDCG@10", variant], by[MOVED, variant]] for variant in variants]
    before = " | – | ".join(
        decimal(one.baseline_mean, 3 - place) for place, one in enumerate(sides[0])
    )
    lines.append(f"| {NO_REMEDY} | {before} | – | |")
    for variant, both in zip(variants, sides, strict=True):
        cells = [
            f"{decimal(one.candidate_mean, 3 - place)} | "
            f"{_signed(one.difference, one.difference_interval, 3 - place)}"
            for place, one in enumerate(both)
        ]
        lines.append(f"| {variant} | {' | '.join(cells)} | {price_of(variant)} |")
    return lines


TABLES: Mapping[str, Callable[[], list[str]]] = {
    "clicks": clicks,
    "contamination": contamination,
    "audits": audits,
    "dense_squad": dense_squad,
    "leakage_topics": leakage_topics,
    "levels": levels,
    "placed": placed,
    "planted": planted,
    "pool_coverage": pool_coverage,
    "pool_kinds": pool_kinds,
    "pools": pools,
    "positions": positions,
    "remedies_placed": partial(remedies, "remedies-placed"),
    "remedies_planted": partial(remedies, "remedies-planted"),
    **BENCHMARK_TABLES,
}


def with_tables(page: str) -> str:
    """A page with every marked table made anew.

    Raises:
        KeyError: a table of another name.
    """
    return _TABLE.sub(
        lambda found: f"{found[1]}{found[2]}\n" + "\n".join(TABLES[found[1]]()) + "\n\n", page
    )


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
    elif sys.argv[1] == "compared":
        compared(sys.argv[2], Path(sys.argv[3]), sys.argv[4])
    elif sys.argv[1] == "benchmark":
        benchmark_numbers.keep(sys.argv[2], Path(sys.argv[3]))
    else:
        for place in PAGES:
            place.write_text(with_tables(place.read_text("utf-8")), "utf-8")
