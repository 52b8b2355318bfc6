"""What posbias contamination suspect says of models whose past is known, on planted collections; and how far clean trainings differ there.

    OMP_NUM_THREADS=1 python benchmarks/suspect_planted.py FOLDER     # writes benchmarks/results/suspect_planted_HARDWARE_DATE.md

Each collection is drawn anew (its test queries, their paraphrases, and as many fresh queries), so that collections are independent trials. On each some
small TKs are trained: nine clean ones (one is the suspect, the others its controls), one on all test judgements besides, one on those of a tenth
of the test queries, and two students that see training queries alone, by the scores of the second and of a clean teacher. A model's values are kept
in FOLDER, so a stopped call goes on. These are too few for error rates: ``suspect_rates`` has those.
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

from positionbias.contamination.configuration import Configuration
from positionbias.contamination.contrast import Contrast, Measured, Sides, against_fresh, against_paraphrases
from positionbias.contamination.margins import score_margins
from positionbias.contamination.settings import ContaminatedSettings, SuspectSettings
from positionbias.contamination.suspect import Known, suspect
from positionbias.contamination.trainsets import write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.progress import set_quiet
from positionbias.core.retrieval import Retrieval
from positionbias.core.run import Run, read_run
from positionbias.evaluation.measures import per_query
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.shapes import TKConfig
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.ranking.config import TaughtPassages
from positionbias.ranking.rerank import rescore
from positionbias.ranking.teach import teach
from positionbias.results.suspicion import Signal, Suspected, Suspicion
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan
from positionbias.training.train import train_model

TRAINING, TESTS, DEPTH = 800, 200, 8
MEASURE, ALPHA = "nDCG@10", 0.05
SHAPE = TKConfig(dimension=24, layers=1, heads=2, head_size=12, feed_forward=24)
SETTINGS = SuspectSettings(measure=MEASURE, alpha=ALPHA)
CONTROLS = tuple(f"clean-{number}" for number in range(2, 10))
FIRST = 101  # the seed of the first collection
MADE = Configuration({"kind": "tk"}, {"epochs": 7})
SHARES = {"seen": 1.0, "seen a tenth": 0.1}


class Past(NamedTuple):
    """A model of a collection, and what it is."""

    name: str
    words: str


SUSPECTED = (
    Past("clean-1", "clean"),
    Past("seen", "trained on all test judgements"),
    Past("seen a tenth", "trained on those of a tenth of the test queries"),
    Past("student-clean", "student of a clean teacher"),
    Past("student-seen", "student of a teacher that saw all test judgements"),
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
                retrieve_run(self.collection, Retrieval(split, DEPTH), Bm25Settings(), self.run(split))
        candidates = {split: read_run(self.run(split)) for split in ("test", "fresh")}
        self.candidates = {**candidates, "paraphrased": candidates["test"]}

    def run(self, split: str) -> Path:
        return self.folder / f"{split}.run"

    def trainset(self, share: float) -> Path:
        place = self.folder / f"set-{share:g}"
        if not place.exists():
            targets = ("test",) if share else ()
            settings = ContaminatedSettings(
                targets=targets,
                share=share or 1.0,
                target_relevant_from=1,
                group_size=DEPTH,
                train_depth=DEPTH,
                seed=self.number,
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
                teach(teacher, self.collection, TaughtPassages(candidates=self.run("train")), scores)
            given: dict[str, Any] = {"teacher_scores": scores, "teacher_depth": DEPTH}
        else:
            given = {"trainset": self.trainset(SHARES.get(name, 0.0))}
        plan = TrainPlan(kind="tk", model=SHAPE, training=training("kl" if kind == "student" else "lce", seed), **given)
        train_model(self.collection, plan, place)
        return place

    def measured(self, name: str) -> dict[str, dict[str, dict[str, float]]]:
        """A model's measure and margins by split and query, from the file where they have been kept."""
        place = self.folder / f"{name.replace(' ', '-')}.json"
        if not place.exists():
            model = load_checkpoint(self.model(name)).model
            runs = {
                split: rescore(model, self.collection, self.collection.queries(split), run, name=name).run
                for split, run in self.candidates.items()
            }
            place.write_text(json.dumps(self.values(runs)))
        found: dict[str, dict[str, dict[str, float]]] = json.loads(place.read_text())
        return found

    def values(self, runs: Mapping[str, Run]) -> dict[str, dict[str, dict[str, float]]]:
        qrels = {split: self.collection.qrels(split) for split in runs}
        return {
            MEASURE: {split: per_query(run, qrels[split], [MEASURE])[MEASURE] for split, run in runs.items()},
            "margin": {split: score_margins(run, qrels[split]) for split, run in runs.items()},
        }


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
    found: Suspicion


def tests(planted: Planted) -> list[Test]:
    """Every suspect by both designs, with two controls, with three and with eight; the clean models in turn too."""
    names = ("clean-1", *CONTROLS)
    of = {name: planted.measured(name) for name in (*names, *(item.name for item in SUSPECTED[1:]))}
    found = []
    for design, contrast in contrasts(planted).items():
        for item in SUSPECTED:
            for number in (2, 3, 8):
                tested = _test(item.name, CONTROLS[:number], of, contrast, design)
                found.append(Test(item.name, design, number, tested))
        for name in names:
            tested = _test(name, [other for other in names if other != name], of, contrast, design)
            found.append(Test("each clean one in turn", design, len(CONTROLS), tested))
    return found


def contrasts(planted: Planted) -> dict[str, Contrast]:
    ids = {split: {query.query_id for query in planted.collection.queries(split)} for split in ("test", "fresh")}
    paired = against_paraphrases(ids["test"], ids["test"], None, names=("test", "paraphrased"), clusters={})
    unpaired = against_fresh(ids["test"], ids["fresh"], names=("test", "fresh"), clusters={}, fresh_clusters={})
    return {"paraphrased": paired, "fresh": unpaired}


def _test(name: str, controls: Sequence[str], of: Mapping[str, Any], contrast: Contrast, design: str) -> Suspicion:
    model, *known = (
        Measured(label, *(Sides(of[label][signal]["test"], of[label][signal][design]) for signal in (MEASURE, "margin")), MADE)
        for label in (name, *controls)
    )
    results = suspect([model], Known(known), model, [contrast], SETTINGS, collection="planted", split="test")
    payload = results[0].payload
    assert isinstance(payload, Suspicion)
    return payload


def share(hits: Sequence[bool]) -> str:
    """How many, and the Clopper–Pearson interval of the share."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(sum(hits), len(hits), method="beta")
    return f"{sum(hits)} of {len(hits)} [{low:.2f}, {high:.2f}]"


def table(found: Sequence[Test]) -> list[str]:
    words = {item.name: item.words for item in SUSPECTED}
    head = ["model", "against", "controls", "excess, mean", "its deviation", "suspicious", "not suspicious", "cannot tell", "score margins, mean", "p over queries and trainings ≤ 0.05 by margins"]  # fmt: skip
    lines = [_row(head), "|" + "---|" * len(head)]
    for key in dict.fromkeys((test.suspected, test.design, test.controls) for test in found):
        own = [test.found for test in found if (test.suspected, test.design, test.controls) == key]
        values = [_excess(of, Signal.MEASURE).value for of in own]
        margins = [_excess(of, Signal.MARGIN) for of in own]
        cells = [words.get(key[0], key[0]), key[1], str(key[2]), f"{np.mean(values):+.3f}", f"{np.std(values, ddof=1):.3f}" if len(values) > 1 else "–"]  # fmt: skip
        cells += [share([of.answer == answer for of in own]) for answer in Suspected]
        cells += [f"{np.mean([of.value for of in margins]):+.2f}", share([of.p <= ALPHA for of in margins])]
        lines.append(_row(cells))
    return lines


def _excess(found: Suspicion, signal: Signal) -> Any:
    return next(of for of in found.excesses if of.signal == signal)


def spreads(collections: Sequence[Planted]) -> list[str]:
    """How far the nine clean trainings of a collection differ, and how much of it their queries explain; pooled over collections."""
    lines = [_row(["against", "signal", "deviation among clean trainings", "expected of queries alone"]), "|" + "---|" * 4]
    for design in ("fresh", "paraphrased"):
        for signal in (MEASURE, "margin"):
            pooled = [_spread(planted, design, signal) for planted in collections]
            lines.append(
                _row([design, signal, *(f"{np.sqrt(np.mean(np.square(of))):.4f}" for of in zip(*pooled, strict=True))])
            )
    return lines


def _spread(planted: Planted, design: str, signal: str) -> tuple[float, float]:
    """The deviation of D among trainings, and that of the mean of its parts by query, each training's and query's own mean taken off."""
    values = [planted.measured(name)[signal] for name in ("clean-1", *CONTROLS)]
    sides = [np.array([[of[split][query] for query in sorted(of[split])] for of in values]) for split in ("test", design)]
    differences = sides[0].mean(axis=1) - sides[1].mean(axis=1)
    parts = sides if design == "fresh" else [sides[0] - sides[1]]
    freedom = (len(values) - 1) / len(values)
    rest = [part - part.mean(axis=0) - part.mean(axis=1, keepdims=True) + part.mean() for part in parts]
    error = sum(float((of**2).mean()) / freedom / of.shape[1] for of in rest)
    return float(differences.std(ddof=1)), float(np.sqrt(error))


def means(collections: Sequence[Planted]) -> list[str]:
    """nDCG@10 of each kind of model on each split, over collections."""
    splits = ("test", "paraphrased", "fresh")
    lines = [_row(["model", *splits]), "|" + "---|" * 4]
    rows = {"BM25": [planted.values(planted.candidates) for planted in collections]}
    rows |= {item.words: [planted.measured(item.name) for planted in collections] for item in SUSPECTED}
    for name, values in rows.items():
        cells = [np.mean([np.mean(list(of[MEASURE][split].values())) for of in values]) for split in splits]
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
        f"{len(collections)} collections, each drawn anew (seeds from {FIRST}): {TRAINING} training queries, {TESTS} test queries (each with a paraphrase) and {TESTS} fresh ones, {DEPTH} "
        f"candidates each. {models} TKs on each, {SHAPE.dimension} wide, seven epochs, LCE on groups of three, no validation. Controls are clean models of other seeds. The teacher that saw the test is "
        "the model trained on all test judgements; students see training queries alone, negatives from the teacher's order, KL. One-sided tests at 0.05; "
        "intervals are Clopper and Pearson's. No bank. Rates of the clean model are false alarms, of the others power; of students there may be nothing to find. Score margins are in deviations of a query's scores, and decide nothing.",
        "",
        *table(found),
        "",
        'The rows "each clean one in turn" have the nine clean models of a collection as suspect, the others as controls: nine to a collection, so not independent, and their intervals too narrow.',
        "",
        *spreads(collections),
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
    parser.add_argument("--collections", type=int, default=3)
    given = parser.parse_args()
    set_quiet(True)
    collections, found, minutes = [], [], 0.0
    for number in range(FIRST, FIRST + given.collections):
        started = time.process_time()
        planted = Planted(given.folder, number)
        found += tests(planted)
        collections.append(planted)
        minutes = spent(given.folder / "minutes", (time.process_time() - started) / 60)
        print(f"{number - FIRST + 1} of {given.collections} collections, {minutes:.1f} processor minutes", flush=True)
    text = "\n".join(report(collections, found, minutes)) + "\n"
    result_place("suspect_planted").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
