"""Run the position-bias study and its arms, and the demo: answer positions, their effect on
re-rankers, and the effect of rotation.

    rotate → BM25 candidates (one run, made on the original text, for both test sets)
    → train each model on the original and on the rotated passages
    → re-rank original and rotated test passages with both → measures, tests, MATS → report

Every step is restartable (``experiments.step``). The original and the rotated test share queries,
judgements and candidates, and differ only in the text that a re-ranker reads. Every training seed
is combined with every rotation draw. A model trained on the passages of one draw is tested on the
original passages and on those of that draw, one trained on the original passages on those of all
draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core import rows
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.json_text import Json
from positionbias.evaluation.records import Facts
from positionbias.experiments.artefacts import as_ended
from positionbias.experiments.candidates import check_candidates
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.kinds import has_term_vectors
from positionbias.models.remedies import AnyRemedy
from positionbias.models.shapes import TKConfig
from positionbias.papers.position_bias.measured import (
    ORIGINAL,
    PositionStudy,
    Text,
    Trained,
    best_of,
    measure_positions,
)
from positionbias.papers.position_bias.settings import TRAIN, GridSettings, RemedySettings
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

__all__ = [
    "DEMO_COLLECTION",
    "DEMO_STUDY",
    "NOTES",
    "Arms",
    "Grid",
    "Passages",
    "Wanted",
    "candidate_runs",
    "check_splits",
    "plain_arms",
    "run_arms",
    "run_demo",
    "test_runs",
    "wanted_trainings",
]


TAUGHT_LOSS = "margin_mse"  # of a student of a model with a remedy [decision]
NOTES = (
    (
        "Original and rotated test share queries, judgements and candidates, made on the original "
        "text."
    ),
    "One re-ranking depth a model, tuned on its validation queries, used on both test sets.",
    "Every training seed meets every rotation draw.",
)


def check_splits(collection: Collection, settings: GridSettings) -> None:
    """Check that the collection has the splits, that test splits share no query, and that given
    candidates fit the collection.

    Raises:
        InputError: one of these does not hold.
    """
    if missing := [split for split in settings.splits if split not in collection.splits]:
        raise InputError(
            f"{collection.path}: wanted the splits {', '.join(settings.splits)}; found no "
            f"{', '.join(missing)} (there are {', '.join(collection.splits) or 'none'}); import it "
            "with all of them (SQuAD, MS MARCO: --validation-queries N), or name others by "
            "--test-split and --validation-split"
        )
    seen: dict[str, str] = {}
    for split in settings.tests:
        for query in collection.queries(split):
            if query.query_id in seen:
                raise InputError(
                    f"--test-split: wanted splits that share no query; found {query.query_id!r} in "
                    f"{seen[query.query_id]} and in {split}; study them separately"
                )
            seen[query.query_id] = split
    check_candidates(settings.candidates, collection)


def candidate_runs(
    workspace: Workspace, collection: Path, settings: GridSettings, splits: tuple[str, ...]
) -> dict[str, Path]:
    """Return the candidates by split: a given run, else BM25's."""
    runs = {}
    for split in splits:
        depth = settings.train_depth if split == TRAIN else settings.depth
        given = settings.candidates.get(split)
        runs[split] = (
            given
            if given is not None
            else workspace.candidates(collection, split, depth, settings.bm25)
        )
    return runs


def test_runs(
    workspace: Workspace, collection: Path, settings: GridSettings, runs: Mapping[str, Path]
) -> dict[str, Path]:
    """Return the candidates to re-rank by test split, for all queries or the requested number."""
    number = settings.test_queries
    chosen = {split: runs[split] for split in settings.tests}
    if number is None:
        return chosen
    return {
        split: workspace.test_sample(collection, split, run, number, seed=settings.seed)
        for split, run in chosen.items()
    }


class Passages(NamedTuple):
    """An original collection, and its rotation by each draw."""

    original: Path
    rotated: Mapping[int, Path]

    def texts(self, draws: tuple[int, ...]) -> Iterator[tuple[Text, Path]]:
        """Yield the original and each rotated text with its path."""
        yield ORIGINAL, self.original
        for draw in draws:
            yield ("rotated", draw), self.rotated[draw]


class Wanted(NamedTuple):
    """A training to make: the facts of its results, its name, and what ``Workspace.trained`` takes.

    ``choices`` are the same with other settings, by name, of which the best on the validation
    passages ``choose_on`` is tested. ``then`` are made with this trained model: with a ``remedy``
    it is given that, with ``taught_with`` its scores with that remedy teach a training of their
    own.
    """

    facts: Facts
    name: str
    collection: Path
    plan: TrainPlan
    remedy: AnyRemedy | None = None
    taught_with: AnyRemedy | None = None
    choices: tuple[tuple[str, Wanted], ...] = ()
    choose_on: Path | None = None
    then: tuple[Wanted, ...] = ()

    @property
    def at_inference(self) -> bool:
        """True if nothing is trained."""
        return self.remedy is not None or any(one.remedy is not None for _, one in self.choices)


class Arms(NamedTuple):
    """What a study trains: its ``title``, every training, the collections of its levels by variant,
    and what its manifest says of them.
    """

    title: str
    wanted: Iterable[Wanted]
    levels: Mapping[str, Path] = {}
    record: Mapping[str, Json] = {}
    notes: Sequence[str] = ()
    command: str = "study position-bias"


def run_arms(
    collection: Collection,
    settings: GridSettings,
    workspace: Workspace,
    make: Callable[[Grid], Arms],
) -> Path:
    """Make every training of the arms, test it, and return the folder of the results.

    Raises:
        InputError: as ``check_splits``.
    """
    check_splits(collection, settings)
    passages = Passages(
        collection.path,
        {
            draw: workspace.rotated(collection.path, rotation)
            for draw, rotation in settings.rotations.items()
        },
    )
    runs = candidate_runs(workspace, collection.path, settings, settings.splits)
    tests = test_runs(workspace, collection.path, settings, runs)
    grid = Grid(workspace, collection, settings, passages, runs, tests)
    arms = make(grid)
    study = grid.study(arms)
    return workspace.results(
        f"{arms.title}: {collection.name}",
        arms.command,
        {**settings.record(), **arms.record, "collection": dict(collection.manifest.settings)},
        study.inputs(),
        lambda: measure_positions(study),
        notes=(*NOTES, *arms.notes),
        seed=settings.seed,
    )


def plain_arms(grid: Grid) -> Arms:
    """Return the trainings on original and on rotated passages."""
    wanted = wanted_trainings(grid.passages, grid.runs, grid.settings)
    return Arms("Position bias", wanted)


@dataclass(frozen=True)
class Grid:
    """The trainings and tests of a study: the passages, the candidates by split, and those of the
    test splits that are re-ranked.

    Called, it makes a wanted model and those made with it, each tested on all test passages.
    """

    workspace: Workspace
    collection: Collection
    settings: GridSettings
    passages: Passages
    runs: Mapping[str, Path]
    tests: Mapping[str, Path]

    def study(self, arms: Arms) -> PositionStudy:
        """Return the inputs of measuring: each training's model on original and rotated test
        passages, its probes, and the baselines.
        """
        settings, workspace = self.settings, self.workspace
        by_position = {
            text: tuple(
                workspace.by_position(on, split, self.tests[split], on=f"{_named(text)}-")
                for split in settings.tests
            )
            for text, on in self.passages.texts(settings.draws)
        }
        parts = workspace.side_by_side(self, arms.wanted, settings.models)
        trained = [one for part in parts for one in part]
        candidates = tuple(self.tests[split] for split in settings.tests)
        return PositionStudy(
            self.passages.original,
            settings,
            candidates,
            self.passages.rotated,
            trained,
            by_position,
            arms.levels,
            map_shards=workspace.map_shards,
        )

    def __call__(self, wanted: Wanted, base: Path | None = None) -> list[Trained]:
        """Make and test them; ``base`` is the model with which ``wanted`` is made."""
        path, choice = (
            self._chosen(wanted, base) if wanted.choices else (self._model(wanted, base), None)
        )
        own = self._tested(wanted, path, choice)
        return [own, *(one for then in wanted.then for one in self(then, path))]

    def _model(self, wanted: Wanted, base: Path | None) -> Path:
        workspace, plan = self.workspace, wanted.plan
        if wanted.remedy is not None:
            assert base is not None
            return workspace.remedied(base, wanted.remedy)
        if wanted.taught_with is not None:
            assert base is not None
            teacher, original = workspace.remedied(base, wanted.taught_with), self.passages.original
            # negatives come from all of a given run
            depth = None if TRAIN in self.settings.candidates else self.settings.train_depth
            scores = workspace.taught(teacher, original, TRAIN, self.runs[TRAIN], depth)
            plan = replace(
                plan, teacher_scores=scores, training=replace(plan.training, loss=TAUGHT_LOSS)
            )
        return workspace.trained(wanted.name, wanted.collection, plan)

    def _chosen(self, wanted: Wanted, base: Path | None) -> tuple[Path, Path]:
        """Return the model whose quality on rotated validation passages is the best of all choices,
        and all of these values.
        """
        assert wanted.choose_on is not None
        settings, split, text = self.settings, self.settings.validation, wanted.choose_on
        made = {name: self._model(one, base) for name, one in wanted.choices}
        runs = {
            name: self.workspace.reranked(path, text, split, self.runs[split], on="rotated-")
            for name, path in made.items()
        }
        choice = self.workspace.evaluated(
            wanted.name, runs, text, split, settings.measures[0], seed=settings.seed
        )
        unknown = choice in self.workspace.steps.unmade
        return made[next(iter(made)) if unknown else best_of(rows.load(choice))], choice

    def _tested(self, wanted: Wanted, path: Path, choice: Path | None) -> Trained:
        workspace, settings, tests = self.workspace, self.settings, self.tests
        facts = as_ended(wanted.facts, path)
        runs: dict[Text, tuple[Path, ...]] = {}
        probes: dict[Text, Path] = {}
        draws = settings.draws if facts.rotation is None else (facts.rotation,)
        for text, on in self.passages.texts(draws):
            name = _named(text)
            runs[text] = tuple(
                workspace.reranked(path, on, split, tests[split], on=f"{name}-")
                for split in settings.tests
            )
            if has_term_vectors(facts.model) and not wanted.at_inference:
                amount, seed = settings.probe_passages, settings.seed
                probes[text] = workspace.probed(path, on, on=name, passages=amount, seed=seed)
        moved = None
        if isinstance(settings, RemedySettings):
            split, original = settings.tests[0], self.passages.original
            moved = workspace.moved(path, original, split, tests[split], settings.audit)
        return Trained(facts, path, runs, probes, moved, choice)


def _named(text: Text) -> str:
    test, draw = text
    return test if draw is None else f"{test}-{draw}"


def wanted_trainings(
    passages: Passages,
    runs: Mapping[str, Path],
    settings: GridSettings,
    *,
    variant: str = "",
    label: str = "",
) -> Iterator[Wanted]:
    """Yield all trainings, one seed after another, original passages first, so that an interrupted
    study has whole comparisons.

    ``variant`` is the variation that these trainings share, in results (``Facts``), and ``label``
    its name in files.
    """
    part = f"-{label}" if label else ""
    for seed in settings.seeds:
        for model in settings.models:
            facts = Facts(model=model.kind, seed=seed, pretrained=model.pretrained, variant=variant)
            validation = runs[settings.validation], settings.validation
            given: dict[str, Any] = {"candidates": runs[TRAIN], "validation": validation}
            if "original" in settings.trainings:
                plan = model.plan(**given, seed=seed)
                name = f"{model.kind}{part}-original-seed-{seed}"
                yield Wanted(replace(facts, training="original"), name, passages.original, plan)
            for draw, rotation in (
                settings.rotations.items() if "rotated" in settings.trainings else ()
            ):
                at_reading = settings.rotate_at_reading
                rotate = rotation if at_reading else None
                plan = model.plan(**given, seed=seed, rotate=rotate)
                name = f"{model.kind}{part}-rotated-{draw}-seed-{seed}"
                text = passages.original if at_reading else passages.rotated[draw]
                yield Wanted(replace(facts, training="rotated", rotation=draw), name, text, plan)


# every answer's place is drawn from the biased density
DEMO_COLLECTION = PlantedSettings(
    1.0, queries=5_000, passages=20_000, validation_share=0.05, test_share=0.15, sentences=(3, 4)
)
DEMO_STUDY = GridSettings(
    models=(
        ModelSettings(
            "tk",
            # smaller than the paper's, so that two trainings finish within minutes
            TKConfig(dimension=64, heads=4, head_size=16, feed_forward=64, layers=1),
            TrainConfig(
                learning_rate=4e-3,
                kernel_learning_rate=1e-2,
                max_steps=1_800,
                validate_every=100,
                warmup_share=0.05,
                schedule="linear",  # enough for the curve to be flat at the end
                probe_passages=200,
                threads=1,  # such a small model is slower on two
            ),
        ),
    ),
    # one passage answers a query and three mention its words; other negatives teach little
    depth=5,
    train_depth=5,
    probe_passages=2_000,
)


def run_demo(workspace: Workspace, *, seed: int = 1) -> Path:
    """Make a small planted collection in the workspace and run the study on it; return the folder
    of results.
    """
    planted = replace(DEMO_COLLECTION, seed=seed)
    place = workspace.folder / "collection"

    def make() -> None:
        write_planted(place, planted, name="planted", overwrite=True)

    workspace.steps.make("plant", place, asdict(planted), {}, make)
    settings = replace(DEMO_STUDY, seed=seed, seeds=(seed,), draws=(seed,))
    return run_arms(Collection(place), settings, workspace, plain_arms)
