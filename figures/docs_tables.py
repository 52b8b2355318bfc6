"""The tables of README and docs that are made of benchmarks' numbers: which rows and columns of them, and under which headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmark_numbers import Cell, Row, find, rows, told
from speed_tables import peers, speed

from positionbias.core.formatting import count, decimal
from positionbias.leakage.thresholds import KNOWN

__all__ = ["BENCHMARK_TABLES"]

Columns = Mapping[str, tuple[str, str]]  # a heading here: the benchmark's heading, and a form of numbers


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
        precision, held = told(row[PRECISION], ".3f", "{} ({})"), told(row["held-out precision, mean"], ".3f")
        lines.append([label, decimal(known.cosine, 4), precision, held, told(row[KEPT], ".3f", "{}")])
    return _table(heads, lines)


def leakage_rules() -> list[str]:
    """What the paper's rule and the lower bound keep of the wanted precision, on other topics."""
    heads = ["rule, cosine of `minilm`", "threshold", "held-out precision, mean (lowest)", "repeats at 0.9 or more"]
    heads += ["labelled leaks kept", "threshold too low in truth"]
    lines = []
    for rule, label in ((PAPER, "`--rule paper`"), (BOUND, "lower bound, the default")):
        row = _calibrated("cosine of `minilm`", rule)
        low = find(rows("leakage_thresholds", "threshold too low"), {"score": "cosine of `minilm`", "rule": rule})
        held = f"{told(row['held-out precision, mean'], '.3f')} ({told(row['lowest'], '.3f')})"
        threshold, kept = told(row["threshold, all pairs"], ".4f"), told(row[KEPT], ".3f", "{}")
        lines.append(
            [label, threshold, held, told(row["repeats at 0.9 or more"], ".1%"), kept, told(low["threshold too low"], ".1%")]
        )
    return _table(heads, lines)


def leakage_scores() -> list[str]:
    """Thresholds from the labelled pairs, by score."""
    heads = ["score", "threshold (lower bound)", "precision there", "held-out precision", "labelled leaks kept, held out"]
    lines = []
    for score, label in SCORES.items():
        row = _calibrated(score, BOUND)
        cells = [told(row["threshold, all pairs"], ".4f"), told(row[PRECISION], ".3f", "{}")]
        cells += [told(row["held-out precision, mean"], ".3f"), told(row[KEPT], ".3f", "{}")]
        lines.append([label, *cells, told(_calibrated(score, PAPER)["threshold, all pairs"], ".4f")])
    return _table([*heads, "threshold by `--rule paper`"], lines)


LEAKED: Columns = {
    "before: swaps printed": ("before: swaps printed", ".1f"),
    '"changed", %': ("changed, % [95 % CI]", ".1f"),
    "any swap named, %": ("any swap named, %", ".1f"),
    "of the named, false, %": ("false among named, %", ".1f"),
}
ON_RUNS, SIMULATED = "Planted leakage", "Simulated systems"
LEAKAGES: Sequence[tuple[str, int, list[int | float], float]] = (
    ("False alarms: topics marked at random", 20, [7, 30], 0),
    ("False alarms: topics marked at random", 20, [25, 50], 0),
    (ON_RUNS, 20, [25, 50], 0.1),
    (ON_RUNS, 20, [25, 50], 0.2),
    (ON_RUNS, 20, [7, 30], 0.2),
    (ON_RUNS, 5, [25, 50], 0.2),
    (SIMULATED, 20, [200, 1000], 0.05),
)


def leaked_order() -> list[str]:
    """What is said of the order of systems where nothing leaks, and where a third of them gains by it."""
    lines = []
    for section, systems, leaked, gain in LEAKAGES:
        wanted: Row = {"systems": systems, "leaked": leaked, "gain": gain}
        row = find(rows("leaked_null", "before: swaps printed", section), wanted)
        name = f"{systems}, simulated" if section == SIMULATED else str(systems)
        gains = f"{gain:g}" if gain else "none: marked at random"
        lines.append([name, _of(leaked), gains, *_cells(row, LEAKED)])
    return _table(["systems", "leaked", "gain of a third of the systems", *LEAKED], lines)


EASY: Columns = {
    "without classes of difficulty": ("random splits of all queries", ".1f"),
    "within classes, as it is": ("within classes of difficulty (as it is)", ".1f"),
}


def leaked_easy() -> list[str]:
    """False alarms where the queries that are marked are easy."""
    found = [row for row in rows("leaked_null", "marked") if row["marked"] == "easy"]
    heads = ["systems", "easy topics marked", *(f'"changed", %, {head}' for head in EASY)]
    return _table(heads, [[told(row["systems"]), _of(row["leaked"]), *_cells(row, EASY)] for row in found])


FOUND: Columns = {
    "precision": ("precision", ".3f"),
    "recall": ("recall", ".3f"),
    "identical": ("recall, identical", ".3f"),
    "specialization": ("recall, specialization", ".3f"),
    "reformulation": ("recall, reformulation", ".3f"),
    "generalization": ("recall, generalization", ".3f"),
}
DETECTORS = {
    "lexical, Jaccard 0.6": "lexical, Jaccard 0.6",
    "lexical, Jaccard 0.8": "lexical, Jaccard 0.8",
    "semantic, cosine 0.7": "semantic (`minilm`), cosine 0.7",
    "semantic, cosine 0.85": "semantic (`minilm`), cosine 0.85",
    "semantic, cosine 0.8973": "semantic (`minilm`), cosine 0.8973, its own",
    "both, cosine 0.8973, Jaccard 0.6": "both, 0.8973 and 0.6 (the defaults)",
}


def leakage_found() -> list[str]:
    """What the detectors find of a planted leakage."""
    found = rows("leakage_thresholds", "detector")
    return _table(
        ["detector", *FOUND], [[label, *_cells(find(found, {"detector": name}), FOUND)] for name, label in DETECTORS.items()]
    )


REMEMBERED: Columns = {
    "nDCG@10, leaked queries": ("change, leaked queries", "+.3f"),
    "nDCG@10, clean queries": ("change, clean queries", "+.3f"),
    "nDCG@10, all queries": ("change, all queries", "+.3f"),
    "rank of leaked passages": ("change of rank", "+.2f"),
    "of leaked passages it did not see": ("of those held back", "+.2f"),
}
TRAININGS: Sequence[tuple[str, float]] = (
    ("KNRM, rate 0.01, 1 epoch", 0.25),
    ("KNRM, rate 0.01, 1 epoch", 1),
    ("KNRM, rate 0.01, 5 epochs", 0.25),
    ("KNRM, rate 0.01, 5 epochs", 1),
    ("TK, rate 0.001, 1 epoch", 1),
    ("TK, rate 0.001, 5 epochs", 0.25),
    ("TK, rate 0.001, 5 epochs", 1),
)


def leakage_remembered() -> list[str]:
    """What models remember of queries that leaked into their training."""
    found = rows("leakage_planted", "change of rank")
    lines = [
        [training, f"{share:g}", *_cells(find(found, {"training": training, "share": share}), REMEMBERED)]
        for training, share in TRAININGS
    ]
    return _table(["training", "share that leaks", *REMEMBERED], lines)


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
        clean, seen = (find(found, {"system": system, "contaminated": answer}) for answer in ("no", "yes"))
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
        for controls, bank in ((1, NO_BANK), (2, NO_BANK), (2, BANK), (3, NO_BANK), (3, BANK), (8, NO_BANK), (8, BANK))
    ),
    *((PARAPHRASES, controls, bank) for controls, bank in ((1, NO_BANK), (3, NO_BANK), (8, NO_BANK), (8, BANK))),
)


def suspect_rates() -> list[str]:
    """How often a suspicion is wrong, and what it finds, by controls and bank."""
    found = rows("suspect_rates", "controls")
    lines = [
        [against, str(controls), bank, *_cells(find(found, {"against": against, "controls": controls, "bank": bank}), RATES)]
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


def suspect_planted() -> list[str]:
    """The answers about planted models."""
    answers = ("suspicious", "not suspicious", "cannot tell")
    models = {
        "each clean one in turn": "each clean one in turn",
        "trained on all test judgements": "trained on all test judgements",
        "trained on those of a tenth of the test queries": "trained on those of a tenth of the test queries",
        "student of a teacher that saw all test judgements": "student, by KL, of the teacher that saw all",
    }
    found = rows("suspect_planted", "excess, mean")
    lines = []
    for model, label in models.items():
        row = find(found, {"model": model, "against": "fresh", "controls": 8})
        lines.append(
            [label, told(row["controls"]), told(row["excess, mean"], "+.3f"), *(_of(row[answer]) for answer in answers)]
        )
    return _table(["model", "controls", "excess, mean nDCG@10", *answers], lines)


# docs/models.md


def convergence() -> list[str]:
    """How often a training is called not finished, by its curve and the number of its validations."""
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
        [label, *(told(find(alarms, {"validations": number})[head], ".1%", "{}") for number in validations)]
        for label, head in flat.items()
    ]
    lines += [
        [label, *(told(find(power, {"curve": curve})[f"{number} validations"], ".1%") for number in validations)]
        for label, curve in curves.items()
    ]
    first, *others = validations
    return _table(["validation", f"{first} validations", *map(str, others)], lines, numbers=len(validations))


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
    lines = [[*(told(row[label]) for label in labels), *_cells(row, columns)] for row in rows("pool_groups", "nominal")]
    return _table([*labels, *columns], lines)


def pool_verdict() -> list[str]:
    """What a verdict predicts of runs whose truth is known."""
    columns: Columns = {
        "runs": ("new runs", ".0f"),
        "of groups": ("groups", ".0f"),
        "cannot tell": ("cannot tell", ".0f"),
        "unjudged": ("unjudged", ".1%"),
        "width of the bounds": ("width of bounds", ".3f"),
        "true score within the 95 % prediction interval": ("truth within the 95 % prediction interval", ".1%"),
        "the answer claims": ("the command says", ".1%"),
        "its width": ("its width", ".3f"),
    }
    labels = {
        "round 5, in the top 10 of no other group": "TREC-COVID round 5, judgements without what is in the top 10 of no other group",
        "round 5, retrieved by no other group": "the same, without what no other group retrieved",
        "round 5, traditional pool, neural runs": "the same, pool of traditional runs, neural runs of other groups",
        "simulated rounds": "10 simulated rounds",
        "simulated rounds, groups unknown": "the same, groups unknown",
    }
    found = rows("pool_verdict", "new runs")
    lines = [[label, *_cells(find(found, {"": name}), columns)] for name, label in labels.items()]
    return _table(["data", *columns], lines, numbers=len(columns))


# docs/dense.md


def dense_search() -> list[str]:
    """Exact and approximate search of a million vectors."""
    searches = {
        "exact, `--index exact`": "exact",
        "exact, faiss IndexFlatIP in float32": "faiss's own exact search",
        "HNSW, search width 100": "HNSW, search width 100",
        "HNSW, search width 200": "HNSW, search width 200",
        "HNSW, search width 800": "HNSW, search width 800",
        "IVF, probes 8": "IVF (1,024 lists), 8 probes",
        "IVF, probes 32": "IVF, 32 probes",
        "IVF, probes 128": "IVF, 128 probes",
    }
    found, built = rows("dense_ann", "search"), rows("dense_ann", "index")
    lines = []
    for name, label in searches.items():
        row = find(found, {"search": name})
        index = next((one for one in built if name.lower().startswith(str(one["index"]))), None)
        cost = [told(index["build, processor s"]), told(index["memory with the index open, MiB"])] if index else ["–", "–"]
        lines.append([label, told(row["recall@100"], ".3f"), told(row["queries/s by processor time"]), *cost])
    return _table(
        ["index", "recall@100 of the exact", "queries a processor second", "build, processor s", "in memory, MiB"],
        lines,
        numbers=4,
    )


# docs/cluster.md

BILLION = 1_000_000_000


def cluster_bytes() -> list[str]:
    """What a billion passages take, by the bytes of one."""
    found = rows("step_rates", "bytes a passage")
    lines = [
        [told(row["what"]), told(row["bytes a passage"], ".1f"), f"{_number(row['bytes a passage']):,.0f} GB"] for row in found
    ]
    return _table(["what", "bytes a passage", "a billion passages"], lines, numbers=2)


RAW = {
    "debias of the raw TSV, BlingFire's words": "debias, blingfire words, 2 workers",
    "debias of the raw TSV, words at white space": "debias, whitespace words, 2 workers",
}


def cluster_time() -> list[str]:
    """How long a billion passages take, by the rate of a core."""
    rates = {told(row["step"]): _number(row["MB of TSV a second"]) for row in rows("step_rates", "MB of TSV a second")}
    both = rows("debias_speed", "MB/s")
    rates |= {label: _number(find(both, {"": name})["MB/s"]) / 2 for label, name in RAW.items()}
    size = BILLION * _number(find(rows("step_rates", "bytes a passage"), {"what": "`collection.tsv`"})["bytes a passage"]) / 1e6
    lines = []
    for step, rate in rates.items():
        hours = size / rate / 3600
        lines.append(
            [step, decimal(rate, 0), decimal(hours, 1), f"{decimal(hours / 2, 1)} h", f"{count(round(hours * 60 / 64))} min"]
        )
    return _table(["step", "MB of TSV a second and core", "core-hours", "2 cores", "64 cores"], lines, numbers=4)


def _number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return cell


# docs/results.md


def corpus_speed() -> list[str]:
    """Steps over an invented corpus of MS MARCO's size."""
    debias = rows("debias_speed", "MB/s")

    def rate(name: str) -> str:
        return told(find(debias, {"": name})["MB/s"])

    plain, words = (find(debias, {"": f"debias, {kind} words, 2 workers"}) for kind in ("whitespace", "blingfire"))
    limit = "the limit: BlingFire's C function, 2 processes"
    texts = find(rows("lookups", "look-ups/s"), {"texts from": "collection", "among passages": 8_841_823})
    histograms = [
        find(rows("histogram_growth", "run"), {"rows": 1_000_000, "run": f"{way}, 2 workers"})
        for way in ("offsets", "matching")
    ]
    built = [find(rows("bm25_backends", "index, MB"), {"backend": backend}) for backend in ("bm25s", "lucene")]
    searched = [
        find(rows("bm25_backends", "queries/s, again"), {"backend": backend, "workers": 1}) for backend in ("bm25s", "lucene")
    ]
    lines = [
        [
            "`debias` of the raw TSV, white-space words, two workers",
            f"{told(plain['MB/s'])} MB/s ({told(plain['seconds'])} s); `cat FILE > FILE2`: {rate('cat FILE > FILE2')} MB/s; "
            f"peak memory of all processes {told(plain['peak memory, MB'])} MB",
        ],
        [
            "the same, BlingFire's words",
            f"{told(words['MB/s'])} MB/s ({told(words['seconds'])} s). The limit is BlingFire's own C function in two processes: {rate(limit)} MB/s for the calls alone "
            f"(ours is {told(words['of the limit'], '.0%')} of it), {rate(f'{limit}, with reading and finding the texts')} with reading the file and finding the texts; "
            f"the plain Python loop: {rate('the plain loop, 1 process')} MB/s",
        ],
        [
            "texts by random ids, 1,000 batches of 1,000",
            f"{told(texts['look-ups/s'])} a second; {told(texts['RssAnon, MB'])} MB of anonymous memory",
        ],
        [
            "`histogram` of 1,000,000 answers, two workers",
            f"{told(histograms[0]['s'])} s with offsets, {told(histograms[1]['s'])} s matching; {told(histograms[0]['of it anonymous'])} of anonymous memory",
        ],
        [
            "`retrieve`: index by bm25s / Lucene",
            f"{_both(built, 'of all processors, s')} s of processor time; {_both(built, 'index, MB')} MB on disk",
        ],
        [
            "`retrieve`: top 1,000, bm25s / Lucene",
            f"{_both(searched, 'queries/s, again')} queries a second with one worker; {_both(searched, 'of it anonymous, MB')} MB of anonymous memory",
        ],
    ]
    return _table(["step", "measured"], lines)


def _both(found: Sequence[Row], head: str) -> str:
    return " / ".join(told(row[head]) for row in found)


def model_speed() -> list[str]:
    """Steps with models, each beside a peer of the same run."""
    once = rows("rerank_cached", "once each, s")
    memory = [told(row["beyond these, MB"]) for row in rows("corpus_memory", "beyond these, MB")]
    depths = {told(row["way"]): told(row["processor, s"]) for row in rows("depth_tuning", "way")}
    clicks = {told(row[""]): row for row in rows("clicks_sampling", "processor seconds")}
    whole, loop = (clicks[f"{name}, worked out"] for name in ("posbias trainset clicks", "plain loop"))
    search = {told(row["search"]): row for row in rows("dense_ann", "search")}
    built = {told(row["index"]): told(row["build, processor s"]) for row in rows("dense_ann", "index")}
    near = [search["HNSW, search width 100"], search["IVF, probes 8"]]
    by_processor = "queries/s by processor time"
    exact = told(search["exact, `--index exact`"][by_processor])
    lines = [
        [
            "TK and BERT_DOT re-ranking, 10,570 questions × 30",
            f"{' and '.join(told(row['once each, s']) for row in once)} s",
            f"pair by pair {' and '.join(told(row['speed-up']) for row in once)} times as long (on a sample)",
        ],
        [
            "memory beyond weights and optimiser over the 8.8 M invented passages, 6,980 × 1,000 candidates read and written: re-ranking by TK, BERT_DOT, BERT_CAT; training TK",
            f"{', '.join(memory[:3])}; {memory[3]} MB",
            "–",
        ],
        [
            "depth tuning, 6,980 × 1,000 candidates, every depth",
            f"{depths['one pass, re-ranked in this process']} s of processor time, {depths['one pass, read from files of their own']} where the two runs come from separate files",
            "– (equal to ir_measures at every depth of a sample)",
        ],
        [
            "training triples of clicks: 685,649 queries × 500 candidates (343 million lines), 10 of 21.8 million triples kept",
            f"{told(whole['processor seconds'])} s of processor time, worked out from 50,000 queries",
            f"{told(loop['processor seconds'])} s, and {told(loop['peak memory']).lstrip('+')} more memory: a plain loop, worked out from the same queries",
        ],
        [
            "exact search of 1,048,576 vectors × 384, 500 queries, depth 100",
            f"{exact} queries a second of processor time",
            f"{told(search['exact, faiss IndexFlatIP in float32'][by_processor])} (faiss, flat)",
        ],
        [
            "HNSW and IVF on the same vectors",
            f"{' and '.join(told(row[by_processor]) for row in near)} queries/s at recall {' and '.join(told(row['recall@100'], '.2f') for row in near)}; "
            f"built in {built['hnsw']} and {built['ivf']} s of processor time",
            f"exact: {exact} queries/s",
        ],
    ]
    return _table(["work", "ours", "peer"], lines)


def billion_search() -> list[str]:
    """What search takes at each measured size, and at a billion vectors by how it grows: codes of 96 bytes, 64 probes."""
    exact = rows("ivf_pq", "the merge")
    built, learned = ([row for row in rows("ivf_pq", "learning, s") if row["code"] == code] for code in (96, 48))
    asked = [row for row in rows("ivf_pq", "probes of lists") if row["code"] == 96 and _first(row["probes of lists"]) == 64]
    last = _first(exact[-1]["vectors"])

    def line(name: str, found: Sequence[Row], head: str, power: float, *, unit: float = 1.0) -> list[str]:
        measured = [_first(row[head]) / unit for row in found]
        there = measured[-1] * (BILLION / last) ** power
        return [name, *(f"{value:,.3g}" for value in measured), f"{float(f'{there:.2g}'):,.10g}"]

    recalled = [told(row["recall@100, rescored"], ".3f") for row in asked]
    lines = [
        line("exact search, core-seconds for 1,000 queries", exact, "exact, ms a query: one pass", 1),
        line("IVF-PQ: codes in memory, GB", built, "in memory, MiB", 1, unit=1e9 / 2**20),
        line("learning lists (and codes of 48 bytes), core-seconds", learned, "learning, s", 1),
        line("putting vectors into lists, core-seconds", built, "into lists, s", 1.5),
        line("computing codes, core-seconds", built, "codes, s", 1),
        line("search, core-seconds for 1,000 queries", asked, "ms a query", 0.5),
        ["recall@100 of the exact, the best 1,000 scored again", *recalled, "not known"],
    ]
    return _table(["what", *(count(_first(row["vectors"])) for row in exact), "a billion"], lines, numbers=len(exact) + 1)


def _first(cell: Cell) -> float:
    """Return a cell's number, or the first of several."""
    value = cell[0] if isinstance(cell, list) else cell
    assert not isinstance(value, str)
    return value


BENCHMARK_TABLES: Mapping[str, Callable[[], list[str]]] = {
    "billion_search": billion_search,
    "cluster_bytes": cluster_bytes,
    "cluster_time": cluster_time,
    "contamination_teachers": contamination_teachers,
    "convergence": convergence,
    "corpus_speed": corpus_speed,
    "dense_search": dense_search,
    "leakage_encoders": leakage_encoders,
    "leakage_found": leakage_found,
    "leakage_remembered": leakage_remembered,
    "leakage_rules": leakage_rules,
    "leakage_scores": leakage_scores,
    "leaked_easy": leaked_easy,
    "leaked_order": leaked_order,
    "model_speed": model_speed,
    "peers": peers,
    "pool_groups": pool_groups,
    "pool_verdict": pool_verdict,
    "speed": speed,
    "suspect_planted": suspect_planted,
    "suspect_queries": suspect_queries,
    "suspect_rates": suspect_rates,
}
