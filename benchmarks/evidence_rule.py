"""How often does a rule choose the sentence with the answer, and what becomes of an audit that moves the sentence it chose?

    OMP_NUM_THREADS=1 python benchmarks/evidence_rule.py STATE [--data FOLDER]   # about five minutes of one processor; a stopped call goes on

Writes benchmarks/results/evidence_rule.json (the counts) and benchmarks/results/evidence_rule_HARDWARE_DATE.md (the tables). FOLDER has ``squad/dev-v1.1.json``,
``squad/train44-v1.1.json`` and ``msmarco_spans/qa_v1.1_form.jsonl``.

**The rule's error.** A question counts where its passage has two sentences or more and its earliest answer stands in one of them. The rule is right where the sentence that it chooses holds an
answer, of any annotator. Intervals are 95 %, by a jackknife over passages.

**Audits.** Samples of 200 questions of SQuAD, all of a passage together as far as it has room, nine competitors each (``audit_power``). Each sample is audited with its answers and with the
sentences of each rule; the scorers are the same, so that a preference for the place of the true sentence is known.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from audit_power import Sample, Score, placed, squad_audited, squad_samples
from audit_power import overlap as words_in_common
from blind_scorers import PLAIN
from measuring import hardware, kept_part, result_place

import positionbias as pb
from positionbias.audit.evidence_rule import Asked, chosen_place, collection_terms, model_rule
from positionbias.core.collection import Collection
from positionbias.core.progress import set_quiet
from positionbias.core.seeds import generator
from positionbias.evaluation.clustered import clustered_mean
from positionbias.firststage.terms import Analyzer
from positionbias.models.checkpoint import load_checkpoint
from positionbias.positions.answers import answered_passages
from positionbias.positions.locate import TokenisedPassage, locate
from positionbias.positions.settings import Matching
from positionbias.results.audit import DEVIATIONS
from positionbias.results.payloads import Contrast, Preference
from positionbias.text.sentences import sentence_spans

RESULTS = Path(__file__).parent / "results"
SEED = 1
RULES = ("terms", "minilm")
SETS = ("SQuAD dev", "SQuAD train44", "MS MARCO spans")
SAMPLES, QUERIES = 45, 200  # the errors are measured on all of them
AUDITED = 16  # of the samples
SHAPE, SIZES = "straight, front to end", (0.3, 0.6)
BLIND = ("best sentence", "window", "noise 0.3")
OVERLAPS = ((0.0, 0.0), (0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0))


@dataclass(frozen=True)
class Question:
    """A question, its passage in sentences, and which of these hold an answer; the first of them is the true one."""

    query_id: str
    query: str
    passage_id: str
    group: str
    spans: list[tuple[int, int]]
    sentences: list[str]
    holding: list[int]

    @property
    def true(self) -> int:
        return self.holding[0]


def questions(collection: Collection, split: str, group: Callable[[str], str] = str) -> tuple[list[Question], dict[str, int]]:
    """The questions that count, in the order of their passages, and how many are left out, by reason."""
    texts = {query.query_id: query.text for query in collection.queries(split)}
    answers = collection.answers(split)
    found: list[Question] = []
    left_out = dict.fromkeys(("passage of one sentence", "answer not located", "answer in more than one sentence"), 0)
    for passage, indices in answered_passages(collection, answers):
        spans = sentence_spans(passage.text)
        tokens = TokenisedPassage(passage.text, Matching())
        by_query: dict[str, list[Any]] = {}
        for index in indices:
            by_query.setdefault(answers[index].query_id, []).extend(locate(tokens, answers[index]).spans)
        for query_id, located in by_query.items():
            held = {
                number for start, end in located for number, (first, last) in enumerate(spans) if first <= start and end <= last
            }
            earliest = min(located, default=None)
            if len(spans) < 2:
                left_out["passage of one sentence"] += 1
            elif earliest is None:
                left_out["answer not located"] += 1
            elif not any(first <= earliest[0] and earliest[1] <= last for first, last in spans):
                left_out["answer in more than one sentence"] += 1
            else:
                own = [passage.text[first:last] for first, last in spans]
                found.append(
                    Question(query_id, texts[query_id], passage.passage_id, group(passage.passage_id), spans, own, sorted(held))
                )
    return found, left_out


def chosen(rule: Any, asked: Sequence[Question]) -> list[int | None]:
    """The sentence that a rule chooses for each question; None: none."""
    # a query of MS MARCO has two passages
    scores = rule.score([Asked(f"{one.query_id} {one.passage_id}", one.query, one.sentences) for one in asked])
    return [chosen_place(row, SEED, one.query_id, sparse=rule.sparse) for row, one in zip(scores, asked, strict=True)]


def share(hits: np.ndarray, clusters: Sequence[str]) -> list[float | int | None]:
    """[questions, share, low, high]."""
    if not len(hits):
        return [0, None, None, None]
    found = clustered_mean(hits.astype(float), clusters)
    bounds = found.interval
    return [
        len(hits),
        found.value,
        None if bounds is None else max(0.0, bounds.low),
        None if bounds is None else min(1.0, bounds.high),
    ]


def mean(values: np.ndarray, clusters: Sequence[str]) -> list[float | int | None]:
    """[questions, mean, low, high]."""
    found = clustered_mean(values, clusters)
    return [len(values), found.value, *((None, None) if found.interval is None else (found.interval.low, found.interval.high))]


def third(place: int, count: int) -> str:
    """The third of the passage in which a sentence stands, by its place among the sentences."""
    relative = place / (count - 1)
    return "first third" if relative < 1 / 3 else "middle third" if relative <= 2 / 3 else "last third"


def overlap_of(query: str, sentence: str, analyzer: Analyzer) -> float:
    """The share of the query's distinct terms that stand in a sentence."""
    terms = set(analyzer(query))
    return len(terms & set(analyzer(sentence))) / len(terms) if terms else 0.0


def band(value: float) -> str:
    return next(f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in OVERLAPS if value <= high)


def errors(asked: Sequence[Question], picks: Sequence[int | None]) -> dict[str, Any]:
    """How often a rule is right, in all and by what may matter; and where it goes where it is wrong."""
    analyzer = Analyzer()
    hit = np.array([pick in one.holding for one, pick in zip(asked, picks, strict=True)])
    clusters = [one.passage_id for one in asked]
    chance = np.array([len(one.holding) / len(one.sentences) for one in asked])
    counts = [len(one.sentences) for one in asked]
    by: dict[str, list[str]] = {
        "place of the true sentence": [third(one.true, count) for one, count in zip(asked, counts, strict=True)],
        "the true sentence": ["the first" if one.true == 0 else "the last" if one.true == count - 1 else "between" for one, count in zip(asked, counts, strict=True)],
        "sentences": [str(count) if count < 8 else "8 or more" for count in counts],
        "shared terms": [band(overlap_of(one.query, one.sentences[one.true], analyzer)) for one in asked],
    }  # fmt: skip
    made = np.array([pick is not None for pick in picks])
    moved = np.array([0.0 if pick is None else (pick - one.true) / (count - 1) if pick not in one.holding else 0.0
                      for one, pick, count in zip(asked, picks, counts, strict=True)])  # fmt: skip
    # where a wrong sentence drawn at random would lie
    by_chance = np.array([np.mean([(place - one.true) / (count - 1) for place in range(count) if place not in one.holding] or [0.0])
                          for one, count in zip(asked, counts, strict=True)])  # fmt: skip
    wrong = made & ~hit
    thirds = ("first third", "middle third", "last third")
    confusion = {true: dict.fromkeys(thirds, 0) for true in thirds}
    for one, pick, count in zip(asked, picks, counts, strict=True):
        if pick is not None:
            confusion[third(one.true, count)][third(one.true if pick in one.holding else pick, count)] += 1
    return {
        "all": share(hit, clusters),
        "chance": float(chance.mean()),
        "none chosen": int((~made).sum()),
        "passages": len(set(clusters)),
        "by": {
            name: {
                value: [*share(hit[at], [c for c, keep in zip(clusters, at, strict=True) if keep]), float(chance[at].mean())]
                for value in sorted(set(values), key=_order)
                if (at := np.array([one == value for one in values])).any()
            }
            for name, values in by.items()
        },
        "displacement": {
            "all": mean(moved[made], [c for c, keep in zip(clusters, made, strict=True) if keep]),
            "wrong": mean(moved[wrong], [c for c, keep in zip(clusters, wrong, strict=True) if keep]),
            "wrong at random": mean(by_chance[wrong], [c for c, keep in zip(clusters, wrong, strict=True) if keep]),
        },
        "confusion": confusion,
        "groups": _groups(asked, hit),
    }


def _order(value: str) -> tuple[int, str]:
    known = ("the first", "between", "the last", "first third", "middle third", "last third")
    return (known.index(value), "") if value in known else (len(known), value)


def _groups(asked: Sequence[Question], hit: np.ndarray) -> list[float]:
    """The rule's share by article of 50 questions or more: the least, the quartiles and the most; empty without articles."""
    groups: dict[str, list[bool]] = {}
    for one, right in zip(asked, hit.tolist(), strict=True):
        groups.setdefault(one.group, []).append(right)
    shares = [float(np.mean(own)) for own in groups.values() if len(own) >= 50]
    return np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]).tolist() if len(shares) > 2 else []


def articles(file: Path) -> Mapping[str, str]:
    """The article of each paragraph, by its text."""
    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    return {paragraph["context"]: article["title"] for article in data for paragraph in article["paragraphs"]}


def opened(data: Path, folder: Path) -> dict[str, tuple[Collection, str, Mapping[str, str]]]:
    """Each set's collection, split, and article by text."""
    dev, train = data / "squad/dev-v1.1.json", data / "squad/train44-v1.1.json"
    spans = pb.import_msmarco_qa(test=[data / "msmarco_spans/qa_v1.1_form.jsonl"], out=folder / "msmarco")
    return {
        SETS[0]: (pb.import_squad(test=dev, out=folder / "dev"), "test", articles(dev)),
        SETS[1]: (pb.import_squad(test=train, out=folder / "train44"), "test", articles(train)),
        SETS[2]: (spans, "test", {}),
    }


def measure(data: Path, name: str, drawn: Container[str]) -> dict[str, Any]:
    """The errors of both rules on one set's questions that are drawn, of ``terms`` also with the idf of every set, and the sentences chosen."""
    found: dict[str, Any] = {"set": name, "idf": {}, "chosen": {}}
    with TemporaryDirectory() as folder:
        sets = opened(data, Path(folder))
        collection, split, titles = sets[name]
        groups = {passage.passage_id: titles.get(passage.text, "") for passage in collection.passages()}
        every, found["left out"] = questions(collection, split, groups.__getitem__)
        asked = [one for one in every if name == SETS[2] or one.query_id in drawn]
        found |= {"questions": len(asked), "of": len(every)}
        for source, (other, _, _) in sets.items():
            picks = chosen(collection_terms(other), asked)
            hits = np.array([pick in one.holding for one, pick in zip(asked, picks, strict=True)])
            found["idf"][source] = share(hits, [one.passage_id for one in asked])
        for rule, of in (("terms", collection_terms(collection)), ("minilm", model_rule(load_checkpoint("minilm")))):
            picks = chosen(of, asked)
            found[rule] = errors(asked, picks)
            rows = zip(asked, picks, strict=True)
            found["chosen"][rule] = {one.query_id: one.spans[pick] for one, pick in rows if pick is not None}
    return found


# ---- audits


def with_chosen(sample: Sample, spans: Mapping[str, Sequence[int]]) -> Sample:
    """The sample with the sentences that a rule chose for its evidence; questions without one are left out."""
    asked, evidence, texts = sample
    moved = {name: replace(item, start=spans[name][0], end=spans[name][1]) for name, item in evidence.items() if name in spans}
    return [query for query in asked if query.query_id in moved], moved, texts


def scorers(sample: Sample) -> Iterator[tuple[str, Score]]:
    """Scorers blind to places by name, and those of a known preference for the place of the true sentence."""
    asked, _, texts = sample
    pool, rng, plain = list(texts.known.values()), generator(1, "unit"), words_in_common(None)
    unit = float(np.mean([np.std(plain(query.text, [pool[place] for place in rng.choice(len(pool), 10)])) for query in asked]))
    for name in BLIND:
        yield name, lambda query, passages, of=PLAIN[name]: [of(query, text) for text in passages]
    yield "no preference", placed(sample, "none", 0.0, unit)
    for size in SIZES:
        yield f"front {size:g}", placed(sample, SHAPE, size, unit)


def audited(number: int, sample: Sample, spans: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, Any]:
    """A sample's audits by scorer and evidence."""
    of = {"answers": sample, **{rule: with_chosen(sample, own) for rule, own in spans.items()}}
    rows: dict[str, Any] = {"number": number, "audits": {}}
    for name, score in scorers(sample):
        kept = remembered(score)
        for evidence, own in of.items():
            made = squad_audited(own, kept)
            ends = next(one for one in made["effects"] if one[:3] == [Contrast.ENDS, DEVIATIONS, ""])
            rows["audits"][f"{name}|{evidence}"] = [made["preference"], *ends[3:6]]
    return rows


def remembered(score: Score) -> Score:
    """The scorer, asked once of each query and text."""
    known: dict[tuple[str, str], float] = {}

    def of(query: str, passages: Sequence[str]) -> list[float]:
        new = [text for text in dict.fromkeys(passages) if (query, text) not in known]
        known.update(zip([(query, text) for text in new], score(query, new), strict=True) if new else ())
        return [known[query, text] for text in passages]

    return of


# ---- tables


def percentage(row: Sequence[float | int | None]) -> str:
    """A share with its interval."""
    _, value, low, high = row[:4]
    if value is None:
        return "–"
    return f"{100 * value:.1f} %" + ("" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]")


def signed(row: Sequence[float | int | None]) -> str:
    """A mean with its interval."""
    _, value, low, high = row[:4]
    if value is None:
        return "–"
    return f"{value:+.3f}" + ("" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]")


def error_tables(sets: Mapping[str, Any]) -> list[str]:
    """How often the rules are right, by set and by what may matter."""
    lines = [
        "## The chosen sentence holds the answer",
        "",
        "Chance: a sentence drawn at random. Neither rule has a constant that was fitted to data, so every set is held out. Of SQuAD the questions of 45 samples of 200 count, both files together, of MS MARCO all.",
        "",
    ]
    lines += [
        "| set | questions | passages | chance | terms | minilm | terms chose none |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, of in sets.items():
        terms = of["terms"]
        cells = (
            f"{of['questions']:,}",
            f"{terms['passages']:,}",
            f"{100 * terms['chance']:.1f} %",
            percentage(terms["all"]),
            percentage(of["minilm"]["all"]),
            str(terms["none chosen"]),
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += [
        "",
        "Left out, of all questions of a set: "
        + "; ".join(
            f"{name}: " + ", ".join(f"{count:,} {why}" for why, count in of["left out"].items()) for name, of in sets.items()
        )
        + ".",
    ]
    lines += [
        "",
        "Questions of an article share its style. The share by article of 50 questions or more, least / quartiles / most:",
        "",
    ]
    for name, of in sets.items():
        for rule in RULES:
            if of[rule]["groups"]:
                lines.append(f"- {name}, {rule}: {' / '.join(f'{100 * value:.0f} %' for value in of[rule]['groups'])}")
    lines += [
        "",
        "`terms` with the idf of another set's passages:",
        "",
        f"| idf of | {' | '.join(sets)} |",
        f"|---|{'---:|' * len(sets)}",
    ]
    lines += [f"| {source} | {' | '.join(percentage(of['idf'][source]) for of in sets.values())} |" for source in sets]
    for name, of in sets.items():
        lines += ["", f"### {name}", "", "| by | | questions | chance | terms | minilm |", "|---|---|---:|---:|---:|---:|"]
        for what, rows in of["terms"]["by"].items():
            for value, row in rows.items():
                beside = of["minilm"]["by"][what][value]
                lines.append(
                    f"| {what} | {value} | {row[0]:,} | {100 * row[4]:.1f} % | {percentage(row)} | {percentage(beside)} |"
                )
    return lines


def place_tables(sets: Mapping[str, Any]) -> list[str]:
    """Where the rules go where they are wrong."""
    lines = [
        "## Where a wrong sentence stands",
        "",
        "Displacement: the place of the chosen sentence less that of the true one, from 0 (first sentence) to 1 (last); below 0 the rule errs to the front. "
        "Right choices count as 0. At random: the mean of all wrong sentences of the same questions.",
        "",
    ]
    lines += ["| set | rule | all | where wrong | at random, of the same |", "|---|---|---:|---:|---:|"]
    for name, of in sets.items():
        for rule in RULES:
            moved = of[rule]["displacement"]
            lines.append(
                f"| {name} | {rule} | {signed(moved['all'])} | {signed(moved['wrong'])} | {signed(moved['wrong at random'])} |"
            )
    lines += [
        "",
        "Questions by the third of the true sentence (rows) and of the chosen one:",
        "",
        "| set | rule | true | first third | middle third | last third |",
        "|---|---|---|---:|---:|---:|",
    ]
    for name, of in sets.items():
        for rule in RULES:
            for true, row in of[rule]["confusion"].items():
                lines.append(f"| {name} | {rule} | {true} | {' | '.join(f'{count:,}' for count in row.values())} |")
    return lines


def audit_tables(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What audits say with the answers and with each rule's sentences."""
    from scipy.stats import binomtest, t

    names = list(dict.fromkeys(key.partition("|")[0] for row in rows for key in row))
    kinds = ("answers", *RULES)
    lines = ["## Audits of known scorers", "", f"{len(rows)} disjoint samples of {QUERIES} questions of SQuAD (both files), two orders of the other sentences, margin 0.1 deviations. *Front 0.3* and *front 0.6* add that many deviations, "
             "falling in a straight line from front to end with the place of the sentence that truly holds the answer; all others know of no place (`blind_scorers`; *no preference*: common words and noise), "
             "but those that read neighbours may show small effects of their own on real text.", "",
             "Audits that found the front preferred / any other preference / could not tell, of all; for blind scorers a preference is a false alarm. Effect: the mean of end − front over the samples, in deviations, with a 95 % t interval.", ""]  # fmt: skip
    lines += [
        f"| scorer | {' | '.join(f'{kind}: front / other / cannot tell | effect' for kind in kinds)} |",
        f"|---|{'---:|---:|' * len(kinds)}",
    ]
    for name in names:
        cells = []
        for kind in kinds:
            own = [row[f"{name}|{kind}"] for row in rows]
            front = sum(one[0] == Preference.FRONT for one in own)
            unknown = sum(one[0] == Preference.UNKNOWN for one in own)
            none = sum(one[0] == Preference.NONE for one in own)
            ends = np.array([one[1] for one in own], float)
            half = t.ppf(0.975, len(ends) - 1) * ends.std(ddof=1) / len(ends) ** 0.5
            cells += [
                f"{front} / {len(own) - front - unknown - none} / {unknown} of {len(own)}",
                f"{ends.mean():+.3f} [{ends.mean() - half:+.3f}, {ends.mean() + half:+.3f}]",
            ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "False alarms of all blind scorers together, with the exact 95 % interval (scorers share samples):", ""]
    for kind in kinds:
        own = [one for row in rows for key, one in row.items() if key.endswith(f"|{kind}") and not key.startswith("front")]
        alarms = sum(one[0] not in (Preference.NONE, Preference.UNKNOWN) for one in own)
        bounds = binomtest(alarms, len(own)).proportion_ci(0.95, method="exact")
        lines.append(
            f"- {kind}: {alarms} of {len(own)}, {100 * alarms / len(own):.1f} % [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"
        )
    return lines


def table(sets: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page."""
    head = ["# How often a rule chooses the sentence with the answer", "", "    OMP_NUM_THREADS=1 python benchmarks/evidence_rule.py STATE", "", f"{made}.", "",
            "*terms*: the sentence whose query terms, each counted once and weighted by BM25's idf over the collection, sum highest, ties drawn. "
            "*minilm*: the one whose vector of all-MiniLM-L6-v2 is closest to the question's."]  # fmt: skip
    return "\n".join([*head, "", *error_tables(sets), "", *place_tables(sets), "", *audit_tables(rows), ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("POSBIAS_DATA", "")))
    parser.add_argument("--audited", type=int, default=AUDITED)
    given = parser.parse_args()
    set_quiet(True)
    samples = list(islice(squad_samples(given.data / "squad", QUERIES), SAMPLES))
    drawn = {query.query_id for asked, _, _ in samples for query in asked}
    parts = [
        kept_part(given.state / f"errors-{number}.json", partial(measure, given.data, name, drawn))
        for number, name in enumerate(SETS)
    ]
    spans = {rule: {**parts[0]["chosen"][rule], **parts[1]["chosen"][rule]} for rule in RULES}
    rows = [
        kept_part(given.state / f"sample-{number:03d}.json", partial(audited, number, sample, spans))
        for number, sample in enumerate(samples[: given.audited])
    ]
    seconds = sum(part["seconds"] for part in (*parts, *rows))
    sets = {part.pop("set"): part for part in parts}
    for part in parts:
        del part["chosen"], part["seconds"]
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "torch", "positionbias"))
    made = f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; {seconds / 60:.0f} minutes of one processor"
    kept = {"made": made, "sets": sets, "audits": [row["audits"] for row in rows]}
    (RESULTS / "evidence_rule.json").write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")
    result_place("evidence_rule").write_text(table(sets, kept["audits"], made), encoding="utf-8")


if __name__ == "__main__":
    main()
