"""How often posbias contamination suspect cries wolf, and how often it finds what is there: students whose past is known, on planted collections.

    OMP_NUM_THREADS=1 python benchmarks/suspect_planted.py FOLDER     # writes benchmarks/results/suspect_planted_HARDWARE_DATE.md

Each collection is drawn anew (its test queries, their paraphrases, and as many fresh queries), so that collections are independent trials. On each a
few small TKs are trained: clean ones (one is the suspect, the others its controls), one on all test judgements besides, one on those of a tenth
of the test queries, and two students that see training queries alone, by the scores of the second and of a clean teacher. A model's values are kept
in FOLDER, so a stopped call goes on, and one with fewer --collections makes the table of these.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measuring import hardware, result_place

from positionbias.contamination.contrast import Contrast, Measured, against_fresh, against_paraphrases
from positionbias.contamination.suspect import SuspectSettings, suspect
from positionbias.contamination.trainsets import ContaminatedSettings, write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.payloads import Statistics
from positionbias.core.progress import set_quiet
from positionbias.core.run import Run, read_run
from positionbias.evaluation.measures import per_query
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.tk import TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.ranking.rerank import rescore
from positionbias.ranking.teach import teach
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan
from positionbias.training.train import train_model

TRAINING, TESTS, DEPTH = 800, 200, 8
MEASURE, ALPHA = "nDCG@10", 0.05
SHAPE = TKConfig(dimension=24, layers=1, heads=2, head_size=12, feed_forward=24)
SETTINGS = SuspectSettings(measure=MEASURE, alpha=ALPHA, permutations=2_000)
CONTROLS = ("clean-2", "clean-3", "clean-4")
SHARES = {"seen": 1.0, "seen a tenth": 0.1}


class Suspected(NamedTuple):
    """A model of a collection, and what it is."""

    name: str
    words: str


SUSPECTED = (
    Suspected("clean-1", "clean"),
    Suspected("seen", "trained on all test judgements"),
    Suspected("seen a tenth", "trained on those of a tenth of the test queries"),
    Suspected("student-clean", "student of a clean teacher"),
    Suspected("student-seen", "student of a teacher that saw all test judgements"),
)


class Planted:
    """One collection with its candidates, and what each model makes of it, kept by name."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder, self.number = folder / f"{number:02}", number
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / "planted"
        if not place.exists():
            write_planted(place, planted_settings(number))
        self.collection = Collection(place)
        for split in ("train", "test", "fresh"):
            if not self.run(split).exists():
                retrieve_run(self.collection, split, DEPTH, Bm25Settings(), self.run(split))
        candidates = {split: read_run(self.run(split)) for split in ("test", "fresh")}
        self.candidates = {**candidates, "paraphrased": candidates["test"]}

    def run(self, split: str) -> Path:
        return self.folder / f"{split}.run"

    def trainset(self, share: float) -> Path:
        place = self.folder / f"set-{share:g}"
        if not place.exists():
            targets = ("test",) if share else ()
            settings = ContaminatedSettings(
                targets=targets, share=share or 1.0, target_relevant_from=1, group_size=DEPTH, depth=DEPTH, seed=self.number
            )
            write_contaminated_set(place, self.collection, self.run("train"), settings)
        return place

    def model(self, name: str) -> Path:
        """A trained model's place: ``clean-N`` differ in the seed alone, a student has the seed of its teacher."""
        place = self.folder / f"{name.replace(' ', '-')}.ckpt"
        if place.exists():
            return place
        kind, _, past = name.partition("-")
        seed = 10 * self.number + (int(past) if past.isdigit() else 1)
        if kind == "student":
            scores = self.folder / f"scores-{past}"
            if not scores.exists():
                teacher = load_checkpoint(self.model("clean-1" if past == "clean" else past))
                teach(teacher, self.collection, "train", self.run("train"), scores)
            given: dict[str, Any] = {"teacher_scores": scores, "teacher_depth": DEPTH}
        else:
            given = {"trainset": self.trainset(SHARES.get(name, 0.0))}
        plan = TrainPlan(kind="tk", model=SHAPE, training=training("kl" if kind == "student" else "lce", seed), **given)
        train_model(self.collection, plan, place)
        return place

    def measured(self, name: str) -> dict[str, dict[str, float]]:
        """A model's measure by split and query, from the file where it has been kept."""
        place = self.folder / f"{name.replace(' ', '-')}.json"
        if not place.exists():
            model = load_checkpoint(self.model(name)).model
            runs = {
                split: rescore(model, self.collection, self.collection.queries(split), run, name=name).run
                for split, run in self.candidates.items()
            }
            place.write_text(json.dumps(self.values(runs)))
        found: dict[str, dict[str, float]] = json.loads(place.read_text())
        return found

    def values(self, runs: Mapping[str, Run]) -> dict[str, dict[str, float]]:
        return {split: per_query(run, self.collection.qrels(split), [MEASURE])[MEASURE] for split, run in runs.items()}


def planted_settings(number: int) -> PlantedSettings:
    """Short passages, so that a training takes seconds; eight passages a query."""
    queries = TRAINING + TESTS
    return PlantedSettings(
        front_loading=0.0, queries=queries, passages=DEPTH * (queries + TESTS), validation_share=0.0, test_share=TESTS / queries,
        fresh_queries=TESTS, paraphrased=True, sentences=(2, 2), seed=number,
    )  # fmt: skip


def training(loss: str, seed: int) -> TrainConfig:
    return TrainConfig(
        learning_rate=1e-2, kernel_learning_rate=1e-2, epochs=7, batch_size=16, group_size=3, loss=loss, probe_passages=0, threads=1, seed=seed,
    )  # fmt: skip


class Test(NamedTuple):
    """One suspect on one collection, by one design, against so many controls."""

    suspected: str
    design: str
    controls: int
    value: float
    p: float
    among: float | None
    suspicious: bool


def tests(planted: Planted) -> list[Test]:
    """Every suspect by both designs, without controls, with one and with three; the four clean models in turn too."""
    of = {name: planted.measured(name) for name in ("clean-1", *CONTROLS, *(item.name for item in SUSPECTED[1:]))}
    order = planted.values(planted.candidates)
    found = []
    for design, contrast in contrasts(planted).items():
        for item in SUSPECTED:
            for number in (0, 1, 3):
                found.append(_test(item.name, item.name, CONTROLS[:number], of, order, contrast, design, planted))
        for name in ("clean-1", *CONTROLS):
            others = [other for other in ("clean-1", *CONTROLS) if other != name]
            found.append(_test("each clean one in turn", name, others, of, order, contrast, design, planted))
    return found


def contrasts(planted: Planted) -> dict[str, Contrast]:
    ids = {split: {query.query_id for query in planted.collection.queries(split)} for split in ("test", "fresh")}
    paired = against_paraphrases(ids["test"], ids["test"], None, names=("test", "paraphrased"), clusters={})
    unpaired = against_fresh(ids["test"], ids["fresh"], names=("test", "fresh"), clusters={}, fresh_clusters={})
    return {"paraphrased": paired, "fresh": unpaired}


def _test(
    row: str, name: str, controls: Sequence[str], of: Mapping[str, Any], order: Mapping[str, Any], contrast: Contrast, design: str, planted: Planted
) -> Test:  # fmt: skip
    def system(label: str, values: Mapping[str, Any]) -> Measured:
        return Measured(label, values["test"], values[design])

    known = [system(label, of[label]) for label in controls]
    results = suspect(
        system(name, of[name]),
        known,
        system("bm25", order),
        contrast,
        SETTINGS,
        collection=planted.collection.name,
        split="test",
    )
    payload, value = results[0].payload, results[0].value
    assert isinstance(payload, Statistics)
    assert value is not None
    rows = payload.rows
    return Test(row, design, len(controls), value, rows["p"], rows["p_among_controls"], rows["suspicious"])


def share(hits: Sequence[bool]) -> str:
    """How many, and the Clopper–Pearson interval of the share."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(sum(hits), len(hits), method="beta")
    return f"{sum(hits)} of {len(hits)} [{low:.2f}, {high:.2f}]"


def table(found: Sequence[Test]) -> list[str]:
    words = {item.name: item.words for item in SUSPECTED}
    head = ["model", "against", "controls", "suspicion, mean", "its deviation", "p over queries ≤ 0.05", "p among controls ≤ 0.05", "suspicious"]  # fmt: skip
    lines = [_row(head), "|" + "---|" * len(head)]
    for key in dict.fromkeys((test.suspected, test.design, test.controls) for test in found):
        own = [test for test in found if (test.suspected, test.design, test.controls) == key]
        among = [test.among <= ALPHA for test in own if test.among is not None]
        values = [test.value for test in own]
        cells = [words.get(key[0], key[0]), key[1], str(key[2]), f"{np.mean(values):+.3f}", f"{np.std(values, ddof=1):.3f}" if len(values) > 1 else "–"]  # fmt: skip
        cells += [
            share([test.p <= ALPHA for test in own]),
            share(among) if among else "–",
            share([test.suspicious for test in own]),
        ]
        lines.append(_row(cells))
    return lines


def means(collections: Sequence[Planted]) -> list[str]:
    """nDCG@10 of each kind of model on each split, over collections."""
    splits = ("test", "paraphrased", "fresh")
    lines = [_row(["model", *splits]), "|" + "---|" * 4]
    rows = {"BM25": [planted.values(planted.candidates) for planted in collections]}
    rows |= {item.words: [planted.measured(item.name) for planted in collections] for item in SUSPECTED}
    for name, values in rows.items():
        cells = [np.mean([np.mean(list(of[split].values())) for of in values]) for split in splits]
        lines.append(_row([name, *(f"{cell:.3f}" for cell in cells)]))
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def report(collections: Sequence[Planted], found: Sequence[Test], minutes: float) -> list[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "scipy", "positionbias"))
    models = 1 + len(CONTROLS) + len(SUSPECTED) - 1
    return [
        "# A model suspected of having seen the test: false alarms and power, planted",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; {minutes:.1f} processor minutes, one thread.",
        "",
        f"    OMP_NUM_THREADS=1 python benchmarks/suspect_planted.py FOLDER --collections {len(collections)}",
        "",
        f"{len(collections)} collections, each drawn anew: {TRAINING} training queries, {TESTS} test queries (each with a paraphrase) and {TESTS} fresh ones, {DEPTH} "
        f"candidates each. {models} TKs on each, {SHAPE.dimension} wide, seven epochs, LCE on groups of three, no validation. Controls are clean models of other seeds. The teacher that saw the test is "
        "the model trained on all test judgements; students see training queries alone, negatives from the teacher's order, KL. One-sided tests at 0.05, "
        "2,000 permutations; intervals are Clopper and Pearson's. Rates of the clean model are false alarms, of the others power; of students there may be nothing to find.",
        "",
        *table(found),
        "",
        'The rows "each clean one in turn" have the four clean models of a collection as suspect, the three others as controls: four to a collection, so not independent, and their '
        "intervals too narrow. Without controls the reference is BM25's order, which is the same for a query and its paraphrase.",
        "",
        f"{MEASURE}, mean over collections:",
        "",
        *means(collections),
    ]  # fmt: skip


def spent(place: Path, minutes: float) -> float:
    """These minutes and those of the calls before, which finished models for this one."""
    total = minutes + (float(place.read_text()) if place.exists() else 0.0)
    place.write_text(str(total))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--collections", type=int, default=20)
    given = parser.parse_args()
    set_quiet(True)
    collections, found, minutes = [], [], 0.0
    for number in range(1, given.collections + 1):
        started = time.process_time()
        planted = Planted(given.folder, number)
        found += tests(planted)
        collections.append(planted)
        minutes = spent(given.folder / "minutes", (time.process_time() - started) / 60)
        print(f"{number} of {given.collections} collections, {minutes:.1f} processor minutes", flush=True)
        if number % 5 == 0:
            print("\n".join(table(found)), flush=True)
    text = "\n".join(report(collections, found, minutes)) + "\n"
    result_place("suspect_planted").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
