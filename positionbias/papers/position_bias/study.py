"""Run the studies of position, which are one grid of trainings and tests, and the demo.

    rotate → BM25 candidates (one run, made on the original text, for both test sets)
    → train each model on the original and on the rotated passages
    → re-rank original and rotated test passages with both → measures, tests, MATS → report

What else the trainings differ in (``Facts.variant``, ``Facts.source``) are the arms of a study:

    --positions  TK with each kind of positions
    remedies     train without a remedy, and with each remedy in data, loss or model; give the first
                 each remedy at inference; also move the answering sentence of test passages
    transfer     train on the target; on another collection first; on its rotated passages first;
                 test all on the target's original passages

Every step is restartable (``experiments.step``). The original and the rotated test share queries,
judgements and candidates, and differ only in the text that a re-ranker reads. Every training seed
is combined with every rotation draw. A model trained on the passages of one draw is tested on the
original passages and on those of that draw, others on those of all draws. The paper says of
positions only that relative ones brought no improvement (end of §7).

Bias is measured in two ways, as a remedy makes its own manipulation harmless by construction: the
change of quality when passages are rotated, and the effect of moving the answering sentence, the
end less the front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import as_ended, check_candidates, check_splits
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.step import record_of
from positionbias.experiments.workspace import Workspace
from positionbias.models.kinds import has_term_vectors
from positionbias.models.remedies import AnyRemedy, Remedy
from positionbias.models.shapes import TKConfig
from positionbias.papers.position_bias import AT_INFERENCE, NO_REMEDY, TAUGHT, VARIANTS
from positionbias.papers.position_bias.measured import (
    ORIGINAL,
    PositionStudy,
    Text,
    Trained,
    measure_positions,
)
from positionbias.papers.position_bias.settings import (
    TRAIN,
    GridSettings,
    PositionBiasSettings,
    RemedySettings,
    TransferSettings,
)
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

NOTES = (
    (
        "Original and rotated test share queries, judgements and candidates, made on the original "
        "text."
    ),
    "One re-ranking depth a model, tuned on its validation queries, used on both test sets.",
    "Every training seed meets every rotation draw.",
)
CONSISTENCY = 0.1  # the weight of that loss [decision]
OFFSET = 200  # of random offsets, about the longest passages that these models read [decision]
TEACHER = Remedy("rotate", 4)  # with which the scores of the model without a remedy teach
TAUGHT_LOSS = "margin_mse"  # of its student [decision]


def candidate_runs(
    workspace: Workspace, collection: Path, settings: GridSettings, splits: Sequence[str]
) -> dict[str, Path]:
    """Return BM25's candidates by split."""
    depths = dict.fromkeys(splits, settings.depth) | {TRAIN: settings.train_depth}
    return {
        split: workspace.candidates(collection, split, depths[split], settings.bm25)
        for split in splits
    }


def test_runs(
    workspace: Workspace, collection: Path, settings: GridSettings, runs: Mapping[str, Path]
) -> dict[str, Path]:
    """Return the candidates to re-rank by test split, for all queries or the requested number."""
    number, chosen = settings.test_queries, {split: runs[split] for split in settings.tests}
    if number is None:
        return chosen
    return {
        split: workspace.test_sample(collection, split, run, number, seed=settings.seed)
        for split, run in chosen.items()
    }


class Training(NamedTuple):
    """A training to make: the facts of its results, its name, the passages it reads and its plan.

    ``then`` are made with this trained model: with a ``remedy`` at inference it is given that,
    ``taught`` is trained by its scores, other trainings continue from it. What is ``begun`` only
    for these is not tested.
    """

    facts: Facts
    name: str
    collection: Path
    plan: TrainPlan
    then: tuple[Training, ...] = ()
    remedy: AnyRemedy | None = None
    taught: bool = False
    begun: bool = False


@dataclass(frozen=True)
class Grid:
    """The tests of a study: every text of the passages, the candidates by split, and those of the
    test splits that are re-ranked. ``rotated`` are by draw, of the passages that are tested, or of
    the ``source`` that models are trained on first.

    Called, it makes a training and those made with it, each tested on all texts.
    """

    workspace: Workspace
    collection: Collection
    settings: GridSettings
    texts: Mapping[Text, Path]
    runs: Mapping[str, Path]
    tests: Mapping[str, Path]
    rotated: Mapping[int, Path]
    source: Collection | None = None

    @classmethod
    def of(
        cls,
        collection: Collection,
        settings: GridSettings,
        workspace: Workspace,
        source: Collection | None = None,
    ) -> Grid:
        """Rotate the passages, and retrieve the candidates.

        Raises:
            InputError: as ``check_splits``, or given candidates that do not fit the collection.
        """
        check_splits(collection, settings.splits, settings.tests)
        check_candidates(settings.candidates, collection)
        first, place = source or collection, collection.path
        apart = workspace if source is None else workspace.within("source")
        rotated = {
            draw: apart.rotated(first.path, settings.rotation(draw))
            for draw in settings.rotation_draws
        }
        splits = [split for split in settings.splits if split not in settings.candidates]
        runs = {**candidate_runs(workspace, place, settings, splits), **settings.candidates}
        tests = test_runs(workspace, place, settings, runs)
        texts: dict[Text, Path] = {ORIGINAL: place}
        if source is None:
            texts |= {("rotated", draw): path for draw, path in rotated.items()}
        return cls(workspace, collection, settings, texts, runs, tests, rotated, source)

    def plan(self, model: ModelSettings, seed: int) -> TrainPlan:
        """Return the plan of a training on the collection."""
        validation = self.settings.validation
        return model.plan(
            candidates=self.runs[TRAIN], validation=(self.runs[validation], validation), seed=seed
        )

    def results(
        self,
        title: str,
        trainings: Iterable[Training],
        *,
        command: str = "study position-bias",
        notes: Sequence[str] = (),
    ) -> Path:
        """Make and test every training; return the folder of the results."""
        settings, workspace = self.settings, self.workspace
        # where rotated passages are tested, so are those ordered by position alone
        baseline = self.texts if self.source is None else {}
        by_position = self._runs(baseline, workspace.by_position)
        parts = workspace.side_by_side(self, trainings, settings.models)
        study = PositionStudy(
            self.collection.path,
            settings,
            tuple(self.tests.values()),
            self.rotated,
            [trained for part in parts for trained in part],
            by_position,
            source=None if self.source is None else self.source.path,
            map_shards=workspace.map_shards,
        )
        return workspace.results(
            title,
            command,
            {"settings": record_of(settings)},
            study.inputs(),
            lambda: measure_positions(study),
            notes=(*NOTES, *notes),
            seed=settings.seed,
        )

    def __call__(self, training: Training, base: Path | None = None) -> list[Trained]:
        """Make and test them; ``base`` is the model with which ``training`` is made."""
        path = self._made(training, base)
        trained = Trained(as_ended(training.facts, path, *([base] if base else [])), path, {})
        if not training.begun:
            trained = self._tested(trained, at_inference=training.remedy is not None)
        return [trained, *(one for then in training.then for one in self(then, path))]

    def _made(self, training: Training, base: Path | None) -> Path:
        workspace, plan = self.workspace, training.plan
        if base is not None and training.remedy is not None:
            return workspace.remedied(base, training.remedy)
        if base is not None and training.taught:
            teacher, original = workspace.remedied(base, TEACHER), self.texts[ORIGINAL]
            # negatives come from all of a given run
            depth = None if TRAIN in self.settings.candidates else self.settings.train_depth
            scores = workspace.taught(teacher, original, TRAIN, self.runs[TRAIN], depth)
            loss = replace(plan.training, loss=TAUGHT_LOSS)
            plan = replace(plan, teacher_scores=scores, training=loss)
        elif base is not None:
            plan = replace(plan, start=base, encoder=None)
        return workspace.trained(training.name, training.collection, plan)

    def _tested(self, trained: Trained, *, at_inference: bool) -> Trained:
        """Re-rank all texts, and measure MATS of trained models with term vectors on them."""
        workspace, settings, path = self.workspace, self.settings, trained.path
        own = trained.facts.rotation
        texts = {
            text: on for text, on in self.texts.items() if own is None or text[1] in (None, own)
        }
        probed: dict[Text, Path] = {}
        if self.source is None and not at_inference and has_term_vectors(trained.facts.model):
            probed = texts
        number, moved = settings.probe_passages, None
        if isinstance(settings, RemedySettings):
            split, run = next(iter(self.tests.items()))
            moved = workspace.moved(path, self.texts[ORIGINAL], split, run, settings.audit)
        return trained._replace(
            runs=self._runs(texts, partial(workspace.reranked, path)),
            probes={
                text: workspace.probed(path, on, _named(text).rstrip("-"), number, settings.seed)
                for text, on in probed.items()
            },
            moved=moved,
        )

    def _runs(
        self, texts: Mapping[Text, Path], ranked: Callable[..., Path]
    ) -> dict[Text, tuple[Path, ...]]:
        """Return the test candidates of each text in another order."""
        return {
            text: tuple(
                ranked(on, split, run, on=_named(text)) for split, run in self.tests.items()
            )
            for text, on in texts.items()
        }


def _named(text: Text) -> str:
    """Return the beginning of the names of tests of a text."""
    test, draw = text
    return f"{test}-" if draw is None else f"{test}-{draw}-"


def run_position_bias(
    collection: Collection, settings: PositionBiasSettings, workspace: Workspace
) -> Path:
    """Run the study on ``collection`` in the workspace, for each kind of positions if there are
    several; return the folder of its results.

    Raises:
        InputError: as ``Grid.of``.
    """
    grid = Grid.of(collection, settings, workspace)
    return grid.results(f"Position bias: {collection.name}", _trainings(grid, settings))


def _trainings(grid: Grid, settings: PositionBiasSettings) -> Iterator[Training]:
    """Yield all trainings, one seed after another, original passages first, so that an interrupted
    study has whole comparisons.
    """
    arms = [("", "", model) for model in settings.models]
    if settings.positions:
        (usual,) = settings.models
        arms = [
            (VARIANTS[name], name, replace(usual, model=replace(usual.model, positions=name)))
            for name in settings.positions
        ]
    for seed, (variant, positions, model) in product(settings.training_seeds, arms):
        for (text, draw), path in grid.texts.items():
            began = model.pretrained
            facts = Facts(
                model.kind, text, rotation=draw, seed=seed, pretrained=began, variant=variant
            )
            parts = [model.kind, positions, f"{_named((text, draw))}seed-{seed}"]
            yield Training(facts, "-".join(filter(None, parts)), path, grid.plan(model, seed))


ONCE = "rotated once"
OF_POSITIONS = {variant: positions for positions, variant in VARIANTS.items()}


def with_remedy(remedy: str, plan: TrainPlan) -> TrainPlan:
    """Return the plan with a remedy in the reading, loss or model."""
    training, seed = plan.training, plan.training.seed
    if remedy in OF_POSITIONS:
        return replace(plan, model=replace(plan.model, positions=OF_POSITIONS[remedy]))
    changes: dict[str, dict[str, Any]] = {
        "rotated at reading": {"rotate": Rotation(seed=seed)},
        "shuffled at reading": {"shuffle": SentenceShuffle(seed=seed)},
        "consistent under rotation": {"training": replace(training, consistency=CONSISTENCY)},
        "random offsets": {"training": replace(training, offset_positions=OFFSET)},
    }
    return replace(plan, **changes.get(remedy, {}))


def run_remedies(collection: Collection, settings: RemedySettings, workspace: Workspace) -> Path:
    """Run the study of remedies in the workspace; return the folder of its results.

    Raises:
        InputError: as ``Grid.of``.
    """
    grid = Grid.of(collection, settings, workspace)
    # a draw that no test has
    once = workspace.rotated(collection.path, settings.rotation(settings.rotation_draws[-1] + 1))
    notes = (
        "The remedies share everything else.",
        f"A model “{ONCE}” is trained on passages that are rotated by a draw that no test has.",
        f"Not tuned: a weight of consistency of {CONSISTENCY:g}, offsets of at most {OFFSET}, and "
        f"{TEACHER} of the teacher of a model “{TAUGHT}”, which is the one without a remedy.",
    )
    trainings = _remedied(grid, settings, once)
    title = f"Remedies: {collection.name}"
    return grid.results(title, trainings, command="study remedies", notes=notes)


def _remedied(grid: Grid, settings: RemedySettings, once: Path) -> Iterator[Training]:
    """Yield every training, one seed after another, so that an interrupted study has whole
    comparisons; the one without a remedy has with it what is made of it.
    """
    for seed, model in product(settings.training_seeds, settings.models):

        def training(
            variant: str, seed: int = seed, model: ModelSettings = model, **how: Any
        ) -> Training:
            facts = Facts(
                model.kind, "original", seed=seed, pretrained=model.pretrained, variant=variant
            )
            name = f"{model.kind}-{variant.replace(' ', '-')}-seed-{seed}"
            place = once if variant == ONCE else grid.texts[ORIGINAL]
            plan = with_remedy(variant, grid.plan(model, seed))
            return Training(facts, name, place, plan, **how)

        names = settings.in_training(model)
        given = [
            training(f"{remedy}{AT_INFERENCE}", remedy=remedy)
            for remedy in settings.at_inference(model)
        ]
        given += [training(name, taught=True) for name in names if name == TAUGHT]
        yield training(NO_REMEDY, then=tuple(given))
        yield from (training(name) for name in names if name != TAUGHT)


def run_transfer(
    source: Collection, target: Collection, settings: TransferSettings, workspace: Workspace
) -> Path:
    """Run the study of another first collection (Table 5) in the workspace; return the folder of
    its results.

    A training on the target continues from the checkpoint of the source, with an optimiser of its
    own.

    Raises:
        SettingError: the collections are the same.
        InputError: as ``Grid.of``.
    """
    if source.checksum == target.checksum:
        raise SettingError(
            f"transfer: wanted two collections; found {source.path} twice; give another SOURCE or "
            "TARGET"
        )
    splits = (TRAIN, settings.validation)
    check_splits(source, splits)
    grid = Grid.of(target, settings, workspace, source)
    runs = candidate_runs(workspace.within("source"), source.path, settings, splits)
    before = replace(grid, collection=source, runs=runs)
    notes = (
        "The training on the target continues from the source's checkpoint, with an optimiser of "
        "its own. A seed is that of both trainings.",
    )
    title = f"Transfer: {source.name} to {target.name}"
    trainings = _transferred(grid, before)
    return grid.results(title, trainings, command="study transfer", notes=notes)


def _transferred(grid: Grid, before: Grid) -> Iterator[Training]:
    """Yield every training on the target alone, then those on each text of the source before it."""
    first, place = before.collection, grid.collection.path
    texts = [(ORIGINAL, first.path), *((("rotated", d), path) for d, path in grid.rotated.items())]
    for seed, model in product(grid.settings.training_seeds, grid.settings.models):
        plan, kind = grid.plan(model, seed), model.kind
        alone = Facts(kind, "original", seed=seed, pretrained=model.pretrained)
        yield Training(alone, f"{kind}-seed-{seed}", place, plan)
        for (text, draw), path in texts:
            rest = f"{_named((text, draw))}seed-{seed}"
            after = replace(alone, source=f"{first.name} ({text})", rotation=draw)
            began = replace(alone, training=text, rotation=draw, variant=f"on {first.name}")
            then = Training(after, f"{kind}-after-{rest}", place, plan)
            own = before.plan(model, seed)
            yield Training(began, f"{kind}-on-source-{rest}", path, own, (then,), begun=True)


# every answer's place is drawn from the biased density
DEMO_COLLECTION = PlantedSettings(
    1.0, queries=5_000, passages=20_000, validation_share=0.05, test_share=0.15, sentences=(3, 4)
)
DEMO_STUDY = PositionBiasSettings(
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

    workspace.make("plant", place, asdict(planted), {}, make)
    settings = replace(DEMO_STUDY, seed=seed)
    return run_position_bias(Collection(place), settings, workspace)
