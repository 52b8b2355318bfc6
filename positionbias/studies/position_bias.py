"""The position-bias study: where answers sit, what re-rankers make of it, and what rotation changes.

    rotate → BM25 candidates (one run, made on the original text, for both test sets) → train each model on the original and on the
    rotated passages → re-rank original and rotated test passages with both → measures, tests, MATS → report

Every step is restartable (``studies.step``). The original and the rotated test share queries, judgements and candidates: what a
re-ranker reads is all that differs. Every training seed meets every rotation draw; a model trained on the passages of one draw is
tested on the original passages and on those of that draw, one trained on the original passages on those of all draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.run import read_run
from positionbias.evaluation.evaluate import check_run
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.models.kinds import has_term_vectors
from positionbias.positions.rotate import Rotation
from positionbias.results.result import TEXTS, Facts
from positionbias.studies.measured import measure_study
from positionbias.studies.model_settings import ModelSettings
from positionbias.studies.systems import Subject, SystemRuns, subject_of
from positionbias.studies.tested import Measured
from positionbias.studies.workshop import Training, Workshop

__all__ = [
    "NOTES",
    "Passages",
    "StudySettings",
    "both_texts",
    "candidate_runs",
    "check_splits",
    "position_bias",
    "test_runs",
    "tested",
    "trained",
]

NOTES = (
    "Original and rotated test share queries, judgements and candidates, made on the original text [decision].",
    "One re-ranking depth a model, tuned on its validation queries, used on both test sets [decision].",
    "Every training seed meets every rotation draw [decision].",
)


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What the study is run with.

    ``seeds`` are those of the trainings, ``draws`` those of the rotations, ``rotation`` all else about them. ``depth`` is that of
    validation and test candidates, ``train_depth`` that from which negatives are drawn; ``candidates`` are runs to take instead of
    BM25's, by split. Several ``tests`` are one set of queries. Measures, where none are named, are the paper's, with a test
    passage relevant from grade ``relevant_from``. ``probe_passages`` None probes MATS on all passages; ``seed`` is that of the bootstrap and
    of the passages probed.
    """

    models: tuple[ModelSettings, ...] = (ModelSettings(),)
    seeds: tuple[int, ...] = (1,)
    draws: tuple[int, ...] = (1,)
    rotation: Rotation = field(default_factory=Rotation)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    depth: int = 100
    train_depth: int = 100
    candidates: Mapping[str, Path] = field(default_factory=dict)
    validation: str = "validation"
    tests: tuple[str, ...] = ("test",)
    test_queries: int | None = None
    rotate_at_reading: bool = False
    relevant_from: int = 1
    measures: tuple[str, ...] = ()
    probe_passages: int | None = None
    trainings: tuple[str, ...] = TEXTS
    seed: int = 1

    def __post_init__(self) -> None:
        for flag, values in (("--models", [m.kind for m in self.models]), ("--seeds", self.seeds), ("--rotations", self.draws)):
            if not values or len(set(values)) < len(values):
                found = ", ".join(map(str, values)) or "none"
                raise SettingError(f"{flag}: wanted at least one, each once; found {found}; give each once")
        unknown = [name for name in self.trainings if name not in TEXTS]
        if unknown or not self.trainings:
            raise SettingError(
                f"--only: wanted some of {', '.join(TEXTS)}; found {', '.join(unknown) or 'none'}; give one of these"
            )
        for flag, number in (
            ("--depth", self.depth),
            ("--train-depth", self.train_depth),
            ("--relevant-from", self.relevant_from),
            ("--test-queries", 1 if self.test_queries is None else self.test_queries),
        ):
            if number < 1:
                raise SettingError(f"{flag}: wanted at least 1; found {number}; raise it")
        if unused := [split for split in self.candidates if split not in self.splits]:
            raise SettingError(
                f"--candidates: wanted splits of the study ({', '.join(self.splits)}); found {unused[0]!r}; name one of these"
            )
        if not self.measures:
            level = f"(rel={self.relevant_from})" if self.relevant_from > 1 else ""
            object.__setattr__(self, "measures", ("nDCG@10", f"RR{level}@10", f"R{level}@10"))

    @property
    def splits(self) -> tuple[str, ...]:
        """Every split that the study reads."""
        return ("train", self.validation, *self.tests)

    def rotations(self) -> dict[int, Rotation]:
        """The rotations by their draw."""
        return {draw: replace(self.rotation, seed=draw) for draw in self.draws}

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready, files by name."""
        plain = (
            "depth",
            "train_depth",
            "test_queries",
            "validation",
            "rotate_at_reading",
            "relevant_from",
            "probe_passages",
            "seed",
        )
        return {
            "models": [model.record() for model in self.models],
            "seeds": list(self.seeds),
            "draws": list(self.draws),
            "rotation": {key: value for key, value in asdict(self.rotation).items() if key != "seed"},
            "bm25": asdict(self.bm25),
            "candidates": {split: path.name for split, path in self.candidates.items()},
            "tests": list(self.tests),
            "measures": list(self.measures),
            "trainings": [name for name in TEXTS if name in self.trainings],
            **{name: getattr(self, name) for name in plain},
        }


def check_splits(collection: Collection, settings: StudySettings) -> None:
    """See that the collection has the splits, that no two test splits share a query, and that given candidates are its own.

    Raises:
        InputError: one of these does not hold.
    """
    if missing := [split for split in settings.splits if split not in collection.splits]:
        raise InputError(
            f"{collection.path}: wanted the splits {', '.join(settings.splits)}; found no {', '.join(missing)} "
            f"(there are {', '.join(collection.splits) or 'none'}); import it with all of them (SQuAD, MS MARCO: --validation N), "
            "or name others by --test and --validation-split"
        )
    seen: dict[str, str] = {}
    for split in settings.tests:
        for query in collection.queries(split):
            if query.query_id in seen:
                raise InputError(
                    f"--test: wanted splits that share no query; found {query.query_id!r} in {seen[query.query_id]} and in {split}; "
                    "study them one by one"
                )
            seen[query.query_id] = split
    for split, path in settings.candidates.items():
        check_run(read_run(path), collection, split)


def candidate_runs(shop: Workshop, collection: Path, settings: StudySettings, splits: tuple[str, ...]) -> dict[str, Path]:
    """Candidates by split: a given run, else BM25's."""
    runs = {}
    for split in splits:
        depth = settings.train_depth if split == "train" else settings.depth
        given = settings.candidates.get(split)
        runs[split] = given if given is not None else shop.candidates(collection, split, depth, settings.bm25)
    return runs


def test_runs(shop: Workshop, collection: Path, settings: StudySettings, runs: Mapping[str, Path]) -> dict[str, Path]:
    """The candidates that are re-ranked, by test split: of all queries, or of as many as are asked for."""
    number = settings.test_queries
    chosen = {split: runs[split] for split in settings.tests}
    if number is None:
        return chosen
    return {split: shop.test_sample(collection, split, run, number, seed=settings.seed) for split, run in chosen.items()}


def position_bias(collection: Collection, settings: StudySettings, shop: Workshop) -> Path:
    """Run the study on ``collection`` in the workshop's folder; give back the folder of its results.

    Raises:
        InputError: as ``check_splits``.
    """
    check_splits(collection, settings)
    passages = both_texts(shop, collection, settings)
    runs = candidate_runs(shop, collection.path, settings, settings.splits)
    measured = tested(shop, passages, runs, settings, trained(shop, passages, runs, settings))
    return shop.results(
        f"Position bias: {collection.name}",
        "study position-bias",
        {**settings.record(), "collection": dict(collection.manifest.settings)},
        measured.inputs(),
        lambda: measure_study(measured, settings.measures, relevant_from=settings.relevant_from, seed=settings.seed),
        notes=NOTES,
        seed=settings.seed,
    )


class Passages(NamedTuple):
    """A collection as it is, and rotated by each draw."""

    original: Path
    rotated: Mapping[int, Path]

    def texts(self, draws: tuple[int, ...]) -> Iterator[tuple[str, int | None, Path]]:
        """Which text, of which draw, and where it is."""
        yield "original", None, self.original
        for draw in draws:
            yield "rotated", draw, self.rotated[draw]


def both_texts(shop: Workshop, collection: Collection, settings: StudySettings) -> Passages:
    """The collection and its rotations."""
    return Passages(
        collection.path, {draw: shop.rotated(collection.path, rotation) for draw, rotation in settings.rotations().items()}
    )


def tested(
    shop: Workshop, passages: Passages, runs: Mapping[str, Path], settings: StudySettings, trained: Iterable[Subject]
) -> Measured:
    """Each model, as it comes, on the original test passages and on the rotated ones, with its probes; and the baselines."""
    runs = test_runs(shop, passages.original, settings, runs)
    baselines = [
        SystemRuns(
            "position-only",
            Facts(model="position-only", test=test, rotation=draw),
            _by_position(shop, on, settings, runs, _named(test, draw)),
        )
        for test, draw, on in passages.texts(settings.draws)
    ]
    subjects, systems, probes = [], [], []
    for subject in trained:
        subjects.append(subject)
        draws = settings.draws if subject.facts.rotation is None else (subject.facts.rotation,)
        for test, draw, text in passages.texts(draws):
            on = _named(test, draw)
            facts = replace(
                subject.facts, test=test, rotation=draw if subject.facts.rotation is None else subject.facts.rotation
            )
            done = tuple(shop.reranked(subject.path, text, split, runs[split], on=on) for split in settings.tests)
            systems.append(SystemRuns(subject.system, facts, done))
            if has_term_vectors(facts.model):
                amount, seed = settings.probe_passages, settings.seed
                probes.append(shop.probed(subject.path, text, on=on, passages=amount, seed=seed, facts=facts))
    candidates = tuple(runs[split] for split in settings.tests)
    sample = settings.test_queries, settings.seed
    return Measured(*passages, settings.tests, candidates, baselines, systems, probes, subjects, sample)


def _by_position(
    shop: Workshop, passages: Path, settings: StudySettings, runs: Mapping[str, Path], on: str
) -> tuple[Path, ...]:
    return tuple(shop.by_position(passages, split, runs[split], on=on) for split in settings.tests)


def _named(test: str, draw: int | None) -> str:
    return test if draw is None else f"{test}-{draw}"


def trained(
    shop: Workshop, passages: Passages, runs: Mapping[str, Path], settings: StudySettings, *, variant: str = "", label: str = ""
) -> Iterator[Subject]:
    """Every training, one seed after another, the original passages first: so that a study cut short has whole comparisons.

    ``variant`` is what the results say that these trainings have in common (``Facts``), ``label`` what their files say of it.
    """
    part = f"-{label}" if label else ""
    for seed in settings.seeds:
        for model in settings.models:
            facts = Facts(model=model.kind, seed=seed, pretrained=model.pretrained, variant=variant)
            given = runs["train"], runs[settings.validation]
            wanted: list[tuple[Facts, Training]] = []
            if "original" in settings.trainings:
                plan = model.plan(*given, seed=seed, validation_split=settings.validation)
                name = f"{model.kind}{part}-original-seed-{seed}"
                wanted.append((replace(facts, training="original"), Training(name, passages.original, plan)))
            for draw, rotation in settings.rotations().items() if "rotated" in settings.trainings else ():
                at_reading = settings.rotate_at_reading
                rotate = rotation if at_reading else None
                plan = model.plan(*given, seed=seed, rotate=rotate, validation_split=settings.validation)
                name = f"{model.kind}{part}-rotated-{draw}-seed-{seed}"
                text = passages.original if at_reading else passages.rotated[draw]
                wanted.append((replace(facts, training="rotated", rotation=draw), Training(name, text, plan)))
            made = shop.trained_each([training for _, training in wanted])
            yield from (subject_of(of, path) for (of, _), path in zip(wanted, made, strict=True))
