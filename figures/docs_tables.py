"""The tables of README and docs that are made of benchmarks' numbers: which rows and columns of
them, and under which headings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmark_numbers import Cell, Row, find, rows, told
from speed_tables import peers, speed

from positionbias.core.formatting import decimal
from positionbias.leakage.thresholds import KNOWN

__all__ = ["BENCHMARK_TABLES"]

# a heading here: the benchmark's heading, and a form of numbers
Columns = Mapping[str, tuple[str, str]]


def _table(heads: Iterable[str], lines: Iterable[Sequence[str]], *, numbers: int = 0) -> list[str]:
    """Lines of Markdown; the last ``numbers`` columns are set flush right."""
    heads = list(heads)
    left = len(heads) - numbers
    rule = "|".join(["---"] * left + ["---:"] * numbers)
    return [f"| {' | '.join(heads)} |", f"|{rule}|", *(f"| {' | '.join(line)} |" for line in lines)]


def _cells(row: Row, columns: Columns) -> list[str]:
    return [told(row[head], form) for head, form in columns.values()]


def _of(cell: Cell) -> str:
    """Two counts as "7 of 30"."""
    return told(cell, ".0f", "{} of {}")


# docs/leakage.md

SCORES = {
    "cosine of `minilm`": "cosine of `minilm`",
    "cosine as recorded (paraphrase-MiniLM-L6-v2)": "cosine as recorded in the study",
    "mean of `minilm` cosine and Jaccard": "mean of `minilm` cosine and weighted Jaccard",
    "Jaccard by rarity": "weighted Jaccard",
}
ENCODERS = {
    "minilm": ("cosine of `minilm`", "`minilm`: all-MiniLM-L6-v2, from a pip package"),
    "sentence-transformers/paraphrase-MiniLM-L6-v2": (
        "cosine as recorded (paraphrase-MiniLM-L6-v2)",
        "`sentence-transformers/paraphrase-MiniLM-L6-v2`: the paper's, the default, from the hub",
    ),
}
PAPER, BOUND = "paper (before)", "lower bound (after)"
PRECISION, KEPT = "precision there, its lower bound", "labelled leaks kept, held out"


def _calibrated(score: str, rule: str) -> Row:
    return find(rows("leakage_thresholds", "threshold, all pairs"), {"score": score, "rule": rule})


def leakage_encoders() -> list[str]:
    """The thresholds that the package has, and what they were measured to give."""
    heads = [
        "encoder",
        "cosine from",
        "precision there (lower 95 % bound)",
        "on held-out topics",
        "labelled leaks kept, held out",
    ]
    lines = []
    for known in KNOWN:
        score, label = ENCODERS[known.encoder]
        row = _calibrated(score, BOUND)
        precision, held = (
            told(row[PRECISION], ".3f", "{} ({})"),
            told(row["held-out precision, mean"], ".3f"),
        )
        lines.append(
            [label, decimal(known.cosine, 4), precision, held, told(row[KEPT], ".3f", "{}")]
        )
    return _table(heads, lines)


def leakage_rules() -> list[str]:
    """What the paper's rule and the lower bound keep of the wanted precision, on other topics."""
    heads = [
        "rule, cosine of `minilm`",
        "threshold",
        "held-out precision, mean (lowest)",
        "repeats at 0.9 or more",
    ]
    heads += ["labelled leaks kept", "threshold too low in truth"]
    lines = []
    for rule, label in ((PAPER, "`--rule paper`"), (BOUND, "lower bound, the default")):
        row = _calibrated("cosine of `minilm`", rule)
        low = find(
            rows("leakage_thresholds", "threshold too low"),
            {"score": "cosine of `minilm`", "rule": rule},
        )
        held = f"{told(row['held-out precision, mean'], '.3f')} ({told(row['lowest'], '.3f')})"
        threshold, kept = told(row["threshold, all pairs"], ".4f"), told(row[KEPT], ".3f", "{}")
        lines.append(
            [
                label,
                threshold,
                held,
                told(row["repeats at 0.9 or more"], ".1%"),
                kept,
                told(low["threshold too low"], ".1%"),
            ]
        )
    return _table(heads, lines)


def leakage_scores() -> list[str]:
    """Thresholds from the labelled pairs, by score."""
    heads = [
        "score",
        "threshold (lower bound)",
        "precision there",
        "held-out precision",
        "labelled leaks kept, held out",
    ]
    lines = []
    for score, label in SCORES.items():
        row = _calibrated(score, BOUND)
        cells = [told(row["threshold, all pairs"], ".4f"), told(row[PRECISION], ".3f", "{}")]
        cells += [told(row["held-out precision, mean"], ".3f"), told(row[KEPT], ".3f", "{}")]
        lines.append(
            [label, *cells, told(_calibrated(score, PAPER)["threshold, all pairs"], ".4f")]
        )
    return _table([*heads, "threshold by `--rule paper`"], lines)


# docs/contamination.md


def contamination_teachers() -> list[str]:
    """What teachers gain on a test that they saw, and on one that they did not."""
    changes: Columns = {
        "change on `test`": ("change, test [95 %]", "+.3f"),
        "change on `fresh`": ("change, fresh [95 %]", "+.3f"),
        "the first less the second": ("the first change less the second", "+.3f"),
    }
    lines = []
    for name, system, label in (
        ("contamination_planted", "teacher bert_cat, lce", "BERT_CAT, three trainings"),
        ("contamination_planted_tk", "teacher tk, lce", "TK, one training, over queries"),
    ):
        found = rows(name, "share inherited [95 %]", f"Teacher {system.split()[1].rstrip(',')}")
        clean, seen = (
            find(found, {"system": system, "contaminated": answer}) for answer in ("no", "yes")
        )
        means = [told(row["nDCG@10, test [95 %]"], ".3f", "{}") for row in (clean, seen)]
        lines.append([label, *means, *_cells(seen, changes)])
    return _table(["teacher", "clean", "contaminated", *changes], lines)


RATES: Columns = {
    "false alarms, before": ("false alarms before", ".1f"),
    "false alarms": ("false alarms", ".1f"),
    "power at 0.05, before": ("power at 0.05 before", ".1f"),
    "power at 0.05": ("at 0.05", ".1f"),
    "the call prints": ("the same, printed by the call", ".0f"),
    "clean models that it calls not suspicious": ("clean: not suspicious", ".1f"),
}
NO_BANK, BANK = "–", "10 × 7"
FRESH, PARAPHRASES = "200 + 200 fresh", "200 paraphrases"
CALLS: Sequence[tuple[str, int, str]] = (
    *(
        (FRESH, controls, bank)
        for controls, bank in (
            (1, NO_BANK),
            (2, NO_BANK),
            (2, BANK),
            (3, NO_BANK),
            (3, BANK),
            (8, NO_BANK),
            (8, BANK),
        )
    ),
    *(
        (PARAPHRASES, controls, bank)
        for controls, bank in ((1, NO_BANK), (3, NO_BANK), (8, NO_BANK), (8, BANK))
    ),
)


def suspect_rates() -> list[str]:
    """How often a suspicion is wrong, and what it finds, by controls and bank."""
    found = rows("suspect_rates", "controls")
    lines = [
        [
            against,
            str(controls),
            bank,
            *_cells(find(found, {"against": against, "controls": controls, "bank": bank}), RATES),
        ]
        for against, controls, bank in CALLS
    ]
    return _table(["against", "controls", "bank", *RATES], lines)


def suspect_queries() -> list[str]:
    """The same by the number of queries."""
    powers: Columns = {
        "false alarms": ("false alarms", ".1f"),
        "power at 0.02": ("power at 0.02", ".1f"),
        "at 0.05": ("at 0.05", ".1f"),
        "at 0.1": ("at 0.1", ".1f"),
    }
    printed = "power printed by the call, mean"
    lines = [
        [told(row["against"]), *_cells(row, powers), told(row[printed], ".0f", "{} / {} / {}")]
        for row in rows("suspect_rates", printed, "By queries")
    ]
    return _table(["against", *powers, "the call prints"], lines)


# docs/models.md


def convergence() -> list[str]:
    """How often a training is called not finished, by its curve and the number of its
    validations.
    """
    validations = (4, 6, 10, 20, 50)
    flat = {
        "flat, independent noise: false alarms": "independent noise",
        "flat, neighbours correlated by 0.3": "neighbours agree by 0.3",
        "flat, neighbours correlated by 0.6": "neighbours agree by 0.6",
    }
    curves = {
        "linear rise of 0.1 over the training": "linear, +0.1",
        "linear rise of 0.05": "linear, +0.05",
        "saturating, 0.014 still to come": "saturating, rate 3",
        "saturating, 0.002 still to come": "saturating, rate 5",
        "saturated, nothing to come": "saturating, rate 20",
    }
    alarms, power = rows("convergence", "independent noise"), rows("convergence", "still to come")
    lines = [
        [
            label,
            *(
                told(find(alarms, {"validations": number})[head], ".1%", "{}")
                for number in validations
            ),
        ]
        for label, head in flat.items()
    ]
    lines += [
        [
            label,
            *(
                told(find(power, {"curve": curve})[f"{number} validations"], ".1%")
                for number in validations
            ),
        ]
        for label, curve in curves.items()
    ]
    first, *others = validations
    return _table(
        ["validation", f"{first} validations", *map(str, others)], lines, numbers=len(validations)
    )


# docs/pools.md


def pool_groups() -> list[str]:
    """Error rates of the test whether kind matters."""
    columns: Columns = {
        "false alarms, before": ("false alarms before", ".1%"),
        "false alarms": ("false alarms", ".1%"),
        "a gap of 0.03 is called worse": ("power at 0.03", ".1%"),
        "groups for 80 %": ("groups for 80 % power", ".0f"),
    }
    labels = ("pools", "measure", "against")
    lines = [
        [*(told(row[label]) for label in labels), *_cells(row, columns)]
        for row in rows("pool_groups", "nominal")
    ]
    return _table([*labels, *columns], lines)


def pool_verdict() -> list[str]:
    """What a verdict predicts of runs whose truth is known."""
    columns: Columns = {
        "runs": ("new runs", ".0f"),
        "of groups": ("groups", ".0f"),
        "cannot tell": ("cannot tell", ".0f"),
        "unjudged": ("unjudged", ".1%"),
        "width of the bounds": ("width of bounds", ".3f"),
        "true score within the 95 % prediction interval": (
            "truth within the 95 % prediction interval",
            ".1%",
        ),
        "the answer claims": ("the command says", ".1%"),
        "its width": ("its width", ".3f"),
    }
    labels = {
        ("round 5, in the top 10 of no other group"): (
            "TREC-COVID round 5, judgements without what is in the top 10 of no other group"
        ),
        "round 5, retrieved by no other group": "the same, without what no other group retrieved",
        ("round 5, traditional pool, neural runs"): (
            "the same, pool of traditional runs, neural runs of other groups"
        ),
        "simulated rounds": "10 simulated rounds",
        "simulated rounds, groups unknown": "the same, groups unknown",
    }
    found = rows("pool_verdict", "new runs")
    lines = [[label, *_cells(find(found, {"": name}), columns)] for name, label in labels.items()]
    return _table(["data", *columns], lines, numbers=len(columns))


BENCHMARK_TABLES: Mapping[str, Callable[[], list[str]]] = {
    "contamination_teachers": contamination_teachers,
    "convergence": convergence,
    "leakage_encoders": leakage_encoders,
    "leakage_rules": leakage_rules,
    "leakage_scores": leakage_scores,
    "peers": peers,
    "pool_groups": pool_groups,
    "pool_verdict": pool_verdict,
    "speed": speed,
    "suspect_queries": suspect_queries,
    "suspect_rates": suspect_rates,
}
