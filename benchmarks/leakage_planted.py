"""Leakage whose truth is known: what the detectors find of it, and what models remember of it as its share of the training set grows.

    python benchmarks/leakage_planted.py FOLDER     # writes benchmarks/results/leakage_planted_HARDWARE_DATE.md

A planted source and target with as many near-duplicates as the largest training set has room for, and more, which are never trained on. Sets
are of one size and kind msm, and differ in the share of their queries that leak. Each model is trained on each set with several seeds, and its
rankings of the test queries are set against those of its like trained without leakage.

Passages of leaked instances that a set does not hold ("held back") are the control: they look like those that it holds, and a model that merely got
better, or worse, from such queries moves both alike. The learning rate is chosen on the validation queries, without leakage. Steps that are
finished are skipped, so a stopped call goes on.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, result_place

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.run import read_run, write_run
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.leaked import unpaired_difference
from positionbias.evaluation.measures import per_query
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.leakage.find import find_pairs
from positionbias.leakage.labels import TYPES
from positionbias.leakage.pairs import read_pairs
from positionbias.leakage.queries import collection_source, field_texts
from positionbias.leakage.settings import FindSettings, LeakedSettings, LexicalSettings, NearestSettings
from positionbias.leakage.truth import ALL_TYPES, against_truth
from positionbias.leakage.write_trainsets import LeakedInputs, write_leaked_set
from positionbias.models.kinds import kind_named
from positionbias.models.shapes import KNRMConfig, TKConfig
from positionbias.ops.query_encoder import Encoder
from positionbias.papers.leakage.memorisation import LeakedPair, leaked_pairs, leaked_places, retrieved_alone, with_leaked
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.training.config import TrainConfig

PLANTED = PlantedSettings(front_loading=0.0, queries=5_000, passages=35_000, test_share=0.4, leaked_queries=1_000)
INSTANCES = 1_600  # of every set: 800 queries
SHARES = (0.0, 0.25, 0.5, 1.0)
DEPTH = 10
# narrower than the papers', so that a training takes seconds
SHAPES = {"knrm": KNRMConfig(dimension=100), "tk": TKConfig(dimension=64, layers=1, heads=4, head_size=16, feed_forward=64)}
RATES = {kind: (own, 10 * own) for kind in SHAPES for own in (kind_named(kind).learning_rate,)}
LONGER = {"knrm": 5, "tk": 5}  # epochs
DETECTORS = [
    *(FindSettings("lexical", lexical=LexicalSettings(jaccard=value)) for value in (0.4, 0.6, 0.8)),
    *(FindSettings("semantic", NearestSettings(floor=value)) for value in (0.7, 0.8, 0.85, 0.8973, 0.91)),
    *(FindSettings("both", NearestSettings(floor=0.8973), LexicalSettings(jaccard=value)) for value in (0.6, 0.8)),
]


def detection(collection: Collection, encoder: str) -> list[str]:
    """One row a detector: precision and recall of all pairs, recall by the true type, precision by the guessed one."""
    source = collection_source("train", collection, "train")
    texts = field_texts(list(collection.queries("test"))).texts
    truth = list(read_pairs(collection.path))
    encode = Encoder(encoder, device="cpu").open()[1].encode
    known: dict[str, np.ndarray] = {}

    def encoded(wanted: Sequence[str]) -> np.ndarray:
        if new := [text for text in dict.fromkeys(wanted) if text not in known]:
            known.update(zip(new, encode(new), strict=True))
        return np.stack([known[text] for text in wanted])

    rows = []
    for settings in DETECTORS:
        pairs = find_pairs([source], texts, settings, encoded).pairs
        found = against_truth(((pair.train_id, pair.test_id) for pair in pairs), truth)
        cells = [_named(settings), f"{found[ALL_TYPES]['pairs_found']:,}", _share(found[ALL_TYPES]["precision"])]
        cells += [_share(found[name]["recall"]) for name in (ALL_TYPES, *TYPES)]
        for name in TYPES:
            guessed = ((pair.train_id, pair.test_id) for pair in pairs if pair.type == name)
            cells.append(_share(against_truth(guessed, truth)[ALL_TYPES]["precision"]))
        rows.append(_row(cells))
    return rows


def _named(settings: FindSettings) -> str:
    lexical, semantic = f"Jaccard {settings.lexical.jaccard:g}", f"cosine {settings.floor:g}"
    return {"lexical": f"lexical, {lexical}", "semantic": f"semantic, {semantic}"}.get(
        settings.detector, f"both, {semantic}, {lexical}"
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class Training:
    """How a model is trained, whatever the set."""

    kind: str
    rate: float
    epochs: int

    def settings(self) -> ModelSettings:
        config = TrainConfig(
            learning_rate=self.rate,
            kernel_learning_rate=1e-2,
            epochs=self.epochs,
            batch_size=16,
            most_depth=DEPTH,
            probe_passages=0,
            threads=1,
        )
        return ModelSettings(self.kind, SHAPES[self.kind], config)

    def __str__(self) -> str:
        return f"{self.kind.upper()}, rate {self.rate:g}, {self.epochs} epoch{'s' if self.epochs > 1 else ''}"


class Experiment:
    """The collection, its training sets by share, and what is made of them."""

    def __init__(self, folder: Path, seeds: Sequence[int]) -> None:
        self.workspace, self.seeds, place = Workspace(folder, print), seeds, folder / "planted"
        if not place.exists():
            write_planted(place, PLANTED)
        self.collection = Collection(place)
        depths = {"train": 20, "validation": DEPTH, "test": DEPTH}
        self.runs = {split: self.workspace.candidates(place, split, depth, Bm25Settings()) for split, depth in depths.items()}
        runs = {"train": self.runs["train"]}
        inputs = LeakedInputs(collection=self.collection, targets=("test",), candidates=runs, pairs=[place])
        self.sets = {share: folder / "sets" / f"share-{share:g}" for share in SHARES}
        wanted = {path: LeakedSettings("msm" if share else "no", INSTANCES, leaked_share=share or None) for share, path in self.sets.items()}  # fmt: skip
        every = folder / "sets" / "every-leak"  # its beginning is what the others hold
        wanted[every] = LeakedSettings("msm", 2 * PLANTED.leaked_queries, leaked_share=1.0)
        for path, settings in wanted.items():
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                write_leaked_set(path, inputs, settings)
        self.pairs = leaked_pairs(Groups(every))
        self.candidates = read_run(self.runs["test"])
        self.to_score = folder / "runs" / "to-score.run"
        if not self.to_score.exists():
            more = [(pair.query_id, passage) for pair in self.pairs for passage in (pair.positive, pair.negative)]
            write_run(self.to_score, with_leaked(self.candidates, more, name="to-score"))
        self.qrels = self.collection.qrels("test")

    def held(self, share: float) -> np.ndarray:
        """Which of ``pairs`` the set of this share holds."""
        own = set(leaked_pairs(Groups(self.sets[share]))) if share else set[LeakedPair]()
        return np.array([pair in own for pair in self.pairs])

    def model(self, training: Training, share: float, seed: int) -> Path:
        name = f"{training.kind}-{training.rate:g}-{training.epochs}-share-{share:g}-seed-{seed}"
        plan = training.settings().plan_on(self.sets[share], seed=seed)
        return self.workspace.trained(name, self.collection.path, plan, groups=INSTANCES // 2)

    def on_validation(self, training: Training) -> float:
        """nDCG@10 of the validation queries without leakage, the mean over seeds."""
        qrels, values = self.collection.qrels("validation"), []
        for seed in self.seeds:
            run = self.workspace.reranked(
                self.model(training, 0.0, seed), self.collection.path, "validation", self.runs["validation"]
            )
            values.append(np.mean(list(per_query(read_run(run), qrels, ["nDCG@10"])["nDCG@10"].values())))
        return float(np.mean(values))

    def measured(self, training: Training, share: float) -> dict[str, Any]:
        """nDCG@10 by query ``(seeds, queries)``; ranks and scores of positives, ranks of negatives, ``(seeds, pairs)``."""
        found: dict[str, list[Any]] = {"nDCG@10": [], "rank": [], "score": [], "negative": []}
        for seed in self.seeds:
            scored = read_run(
                self.workspace.reranked(self.model(training, share, seed), self.collection.path, "test", self.to_score)
            )
            by_query = per_query(retrieved_alone(scored, self.candidates), self.qrels, ["nDCG@10"])["nDCG@10"]
            positive = leaked_places(scored, self.candidates, [(pair.query_id, pair.positive) for pair in self.pairs])
            negative = leaked_places(scored, self.candidates, [(pair.query_id, pair.negative) for pair in self.pairs])
            found["queries"] = list(by_query)
            values = (list(by_query.values()), positive.ranks, positive.scores, negative.ranks)
            for name, of in zip(("nDCG@10", "rank", "score", "negative"), values, strict=True):
                found[name].append(of)
        return {name: np.array(of) for name, of in found.items()}


def against_none(experiment: Experiment, training: Training) -> list[str]:
    """One row a share: what leakage changes, query by query and passage by passage, against the same training without it."""
    found = {share: experiment.measured(training, share) for share in SHARES}
    none, place_of = found[0.0], {query_id: place for place, query_id in enumerate(found[0.0]["queries"])}
    of_pairs = np.array([place_of[pair.query_id] for pair in experiment.pairs])
    clean = np.setdiff1d(np.arange(len(place_of)), of_pairs)
    smallest = experiment.held(min(share for share in SHARES if share))
    rows = []
    for share in SHARES[1:]:
        held, with_leaks = experiment.held(share), found[share]
        change = {name: with_leaks[name] - none[name] for name in ("nDCG@10", "rank", "score", "negative")}
        change["offset"] = change["negative"] - change["rank"]
        means = {name: of.mean(axis=0) for name, of in change.items()}
        leaked = of_pairs[held]
        rows.append(
            _row(
                [
                    str(training),
                    f"{share:g}",
                    f"{held.sum():,}",
                    f"{none['nDCG@10'][:, leaked].mean():.3f}",
                    _mean(means["nDCG@10"][leaked]),
                    _mean(means["nDCG@10"][clean]),
                    _mean(means["nDCG@10"]),
                    f"{none['rank'][:, held].mean():.2f}",
                    _mean(means["rank"][held]),
                    _mean(means["rank"][smallest]),
                    _mean(means["rank"][~held]),
                    *(_apart(means[name][held], means[name][~held]) for name in ("rank", "score", "offset")),
                    " ".join(f"{value:+.2f}" for value in change["rank"][:, held].mean(axis=1)),
                ]
            )
        )
    return rows


def _mean(values: np.ndarray) -> str:
    return _shown(float(values.mean()), bootstrap_mean(values, None, seed=1))


def _apart(held: np.ndarray, held_back: np.ndarray) -> str:
    value, interval = unpaired_difference(held, held_back, seed=1)
    return "–" if value is None else _shown(value, interval)


def _shown(value: float, interval: Interval | None) -> str:
    return f"{value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]" if interval else f"{value:+.3f}"


def trainings(experiment: Experiment, kinds: Sequence[str]) -> tuple[list[Training], Mapping[str, float]]:
    """Each kind at its own rate, at the one that does best on the validation queries, and there for more epochs; these queries' nDCG@10."""
    chosen: list[Training] = []
    told: dict[str, float] = {}
    for kind in kinds:
        tried = {Training(kind, rate, 1): 0.0 for rate in RATES[kind]}
        tried = {training: experiment.on_validation(training) for training in tried}
        best = max(tried, key=tried.__getitem__)
        for longer in [Training(kind, best.rate, LONGER[kind])] if kind in LONGER else []:
            tried[longer] = experiment.on_validation(longer)
        told |= {str(training): value for training, value in tried.items()}
        chosen += [training for training in tried if training.rate in (RATES[kind][0], best.rate)]
    return chosen, told


DETECTED = ["detector", "pairs found", "precision", "recall"]
DETECTED += [f"recall, {name}" for name in TYPES] + [f"precision, guessed {name}" for name in TYPES]
CHANGED = [
    "training", "share", "leaked queries", "nDCG@10 of leaked queries without", "change, leaked queries", "change, clean queries", "change, all queries",
    "rank of leaked passages without", "change of rank", "of those in all sets", "of those held back",
    "rank, leaked − held back", "score, leaked − held back", "rank offset, leaked − held back", "change of rank by seed",
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", action="append", choices=sorted(SHAPES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--encoder", default="minilm")
    given = parser.parse_args()
    kinds = given.model or list(SHAPES)
    started = time.process_time()
    experiment = Experiment(given.folder, range(1, given.seeds + 1))
    detected = detection(experiment.collection, given.encoder)
    chosen, on_validation = trainings(experiment, kinds)
    changed = [row for training in chosen for row in against_none(experiment, training)]
    minutes = spent(given.folder / "minutes", (time.process_time() - started) / 60)
    text = "\n".join(report(experiment, given, detected, changed, on_validation, minutes)) + "\n"
    result_place("leakage_planted").write_text(text)
    print(text)


def spent(place: Path, minutes: float) -> float:
    """These minutes and those of the calls before, which finished steps for this one."""
    total = minutes + (float(place.read_text()) if place.exists() else 0.0)
    place.write_text(str(total))
    return total


def report(
    experiment: Experiment,
    given: argparse.Namespace,
    detected: Sequence[str],
    changed: Sequence[str],
    on_validation: Mapping[str, float],
    minutes: float,
) -> list[str]:
    kinds = "".join(f" --model {kind}" for kind in given.model or [])
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "positionbias"))
    tests, queries = len(experiment.collection.queries("test")), INSTANCES // 2
    bm25 = np.mean(list(per_query(experiment.candidates, experiment.qrels, ["nDCG@10"])["nDCG@10"].values()))
    return [
        "# Planted leakage: found, and remembered",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; seeds 1 to {given.seeds}; "
        f"{minutes:.1f} processor minutes, one thread.",
        "",
        f"    OMP_NUM_THREADS=1 python benchmarks/leakage_planted.py FOLDER{kinds} --seeds {given.seeds} --encoder {given.encoder}",
        "",
        f"{PLANTED.leaked_queries:,} of {tests:,} test queries have one near-duplicate each among the training queries, a quarter of each type. "
        "Recall is by the true type, precision by the type that is guessed of what was found.",
        "",
        _row(DETECTED),
        "|" + "---|" * len(DETECTED),
        *detected,
        "",
        f"Sets of {queries:,} queries (two instances each), of which a share leaks, drawn once; a model for each of {given.seeds} seeds and each set. "
        "Changes are against the same training on the set without leakage: paired by query, averaged over seeds; 95 % bootstrap intervals "
        f"over queries, not over trainings. Leaked queries are those that the set leaks, clean ones the {tests - PLANTED.leaked_queries:,} that nothing leaks, of {tests:,} in all; held back are the passages of "
        f"leaks that a set does not hold (of {PLANTED.leaked_queries:,}). Ranks are among {DEPTH} candidates, 1 the best; BM25 has an nDCG@10 of {bm25:.3f} over all test queries.",
        "",
        _row(CHANGED),
        "|" + "---|" * len(CHANGED),
        *changed,
        "",
        "nDCG@10 of the validation queries, without leakage, mean over seeds (the rate is chosen by it): "
        + "; ".join(f"{name}: {value:.3f}" for name, value in on_validation.items())
        + ".",
    ]


if __name__ == "__main__":
    main()
