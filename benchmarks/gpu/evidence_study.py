"""What the evidence is made of: the collections with their arms, the models, and the units of work
in the order of their value.

A *unit* is one training and all that is measured of it. It leaves one line of numbers, so that a
chain that was stopped goes on from those lines, also on another machine where no model is left.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from positionbias.audit.settings import AuditSettings
from positionbias.core.collection import Collection
from positionbias.core.files import sha256_file
from positionbias.core.publish import atomic_folder
from positionbias.engine.choose import Engine
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.step import Steps
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.settings import Bm25Settings
from positionbias.formats.attach import Attachment
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.formats.squad import import_squad
from positionbias.formats.validation_draw import ValidationDraw
from positionbias.models.distil import distil
from positionbias.models.settings import DistilSettings
from positionbias.models.shapes import BertCatConfig, BertDotConfig, TKConfig
from positionbias.positions.place import place
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import Density, Placing
from positionbias.training.config import TrainConfig

__all__ = [
    "MODELS",
    "ROTATED",
    "SEED",
    "SIZES",
    "Size",
    "Study",
    "Unit",
    "cores",
    "models",
    "studies",
    "units",
    "unpacked_encoder",
]

ROTATED = "rotated"
MODELS = ("bert_cat", "bert_dot", "tk")  # most valuable first
SEED = 1  # of placing, of the validation questions drawn, of the audit
TREC = ("dl19", "dl20")


@dataclass(frozen=True, slots=True)
class Unit:
    """One training: of which study and model, on which arm, with which seed. The seed is also that
    of the rotation draw, so that seeds vary in both.
    """

    study: str
    model: str
    arm: str
    seed: int

    @property
    def name(self) -> str:
        """As files and the log have it."""
        return f"{self.study}-{self.model}-{self.arm}-seed-{self.seed}"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is done: trainings of encoders and of TK, TK's shape, validation queries, candidates
    of SQuAD's and of MS MARCO's queries, what an audit asks of how many queries, the rounds
    ``(study, seed, models)``, most valuable first, and models ``(study, model)`` whose candidates
    are all re-ranked, because at the depth that validation likes best they would leave the first
    stage's order as it is."""

    encoders: TrainConfig
    tk: TrainConfig
    shape: TKConfig
    validation: Mapping[str, int]
    depths: Mapping[str, int]
    audit: AuditSettings
    audited: int
    rounds: tuple[tuple[str, int, tuple[str, ...]], ...]
    whole: tuple[tuple[str, str], ...] = ()

    def seeds(self, study: str) -> list[int]:
        """A study's training seeds."""
        return list(dict.fromkeys(seed for name, seed, _ in self.rounds if name == study))


_QUIET: dict[str, Any] = {"probe_passages": 0, "save_minutes": 1.0}
_AUDIT: dict[str, Any] = {"seed": SEED}
SIZES = {
    "full": Size(
        encoders=TrainConfig(
            learning_rate=3e-5,
            warmup_steps=100,
            max_steps=1_200,
            validate_every=100,
            patience=4,
            bucket=8,
            **_QUIET,
        ),
        tk=TrainConfig(
            learning_rate=3e-4,
            kernel_learning_rate=1e-2,
            max_steps=3_000,
            validate_every=200,
            patience=5,
            bucket=8,
            **_QUIET,
        ),
        shape=TKConfig(),
        validation={"squad": 1_000, "msmarco": 200},
        depths={"squad": 30, "msmarco": 100},
        audit=AuditSettings(**_AUDIT),
        audited=1_000,
        rounds=(
            *(("squad", seed, MODELS) for seed in (1, 2, 3)),
            *(("msmarco", seed, MODELS) for seed in (1, 2, 3)),
            *(("squad", seed, MODELS) for seed in (4, 5)),
        ),
        whole=(("squad", "bert_dot"),),
    ),
    "toy": Size(
        encoders=TrainConfig(
            batch_size=4, learning_rate=0.01, max_steps=4, validate_every=2, threads=1, **_QUIET
        ),
        tk=TrainConfig(batch_size=4, max_steps=4, validate_every=2, threads=1, **_QUIET),
        shape=TKConfig(dimension=8, layers=1, heads=2, head_size=3, feed_forward=6),
        validation={"squad": 12, "msmarco": 8},
        depths={"squad": 5, "msmarco": 5},
        audit=AuditSettings(needles=6, depth=5, **_AUDIT),
        audited=6,
        rounds=(("squad", 1, MODELS), ("msmarco", 1, MODELS)),
    ),
    # two cores and ten hours: a small TK with three seeds, encoders with two
    "cpu": Size(
        encoders=TrainConfig(
            batch_size=16,
            learning_rate=3e-5,
            warmup_steps=20,
            max_steps=300,
            validate_every=50,
            patience=4,
            dropout=False,
            bucket=16,
            **_QUIET,
        ),
        tk=TrainConfig(
            learning_rate=2e-3,
            kernel_learning_rate=1e-2,
            warmup_share=0.05,
            schedule="linear",
            max_steps=1_000,
            validate_every=100,
            threads=1,
            **_QUIET,
        ),
        shape=TKConfig(dimension=128, layers=1, heads=8, head_size=16, feed_forward=64),
        validation={"squad": 500, "levels": 500, "msmarco": 200},
        depths={"squad": 10, "levels": 10, "msmarco": 50},
        audit=AuditSettings(**_AUDIT),
        audited=500,
        rounds=(
            *(("squad", seed, ("tk",)) for seed in (1, 2, 3)),
            *(("levels", seed, ("tk",)) for seed in (1, 2, 3)),
            *(("squad", seed, ("bert_cat", "bert_dot")) for seed in (1, 2)),
        ),
    ),
}


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class Study:
    """One collection and its arms: ``arms`` as made, the first of them also rotated. ``splits`` are
    tested as one set of queries; ``given`` are their candidates where they come with the data.
    ``audited`` is the arm whose test passages an audit takes; empty: none has known answers."""

    name: str
    arms: Mapping[str, Path]
    splits: tuple[str, ...]
    given: Mapping[str, Path]
    relevant_from: int
    audited: str
    depth: int
    workspace: Workspace

    @property
    def trainings(self) -> tuple[str, ...]:
        """The arms that models are trained and tested on, the rotated one last."""
        return (*self.arms, ROTATED)

    def passages(self, arm: str, seed: int) -> Path:
        """An arm's collection; the rotated one is that of the seed's own draw."""
        first = next(iter(self.arms.values()))
        return (
            self.workspace.rotated(first, Rotation(seed=seed)) if arm == ROTATED else self.arms[arm]
        )

    def candidates(self, split: str) -> Path:
        """One run for all arms: that of the release, else BM25's on the first arm, whose passages
        have the same words as those of all others.
        """
        if split in self.given:
            return self.given[split]
        return self.workspace.candidates(
            next(iter(self.arms.values())), split, self.depth, Bm25Settings()
        )


def studies(data: Path, work: Path, size: Size) -> dict[str, Study]:
    """The studies of the size's rounds, their collections imported and placed where that was not
    done before.
    """
    levels = {"front": Density("front", 1.0), "half": Density("front", 0.5), "uniform": Density()}
    as_msmarco = {
        "front": Density.parse(str(data / "squad" / "density.json")),
        "uniform": Density(),
    }
    made: dict[str, Callable[[Path], Study]] = {
        "squad": lambda folder: _squad("squad", as_msmarco, data / "squad", folder, size),
        "levels": lambda folder: _squad("levels", levels, data / "squad", folder, size),
        "msmarco": lambda folder: _msmarco(data / "msmarco", folder, size),
    }
    return {name: make(work / name) for name, make in made.items() if size.seeds(name)}


def _tell(line: str) -> None:
    """What a step took; that it was done before is asked for each unit, and not told."""
    if not line.endswith("done before"):
        print(line, flush=True)


def _squad(name: str, density: Mapping[str, Density], data: Path, work: Path, size: Size) -> Study:
    """SQuAD, an arm for each density that its evidence is placed by; the audit takes the last,
    which is uniform.
    """
    workspace = Workspace(work, _tell, engine=Engine(workers=cores()))
    files = {role: data / f"{role}.json.gz" for role in ("train", "test")}
    asked: dict[str, Any] = {"validation": size.validation[name], "seed": SEED}
    source = work / "source"
    imported = partial(
        import_squad, [files["train"]], files["test"], source, **asked, overwrite=True
    )
    _made(workspace.steps, source, asked, files, imported)
    arms = {}
    for arm, where in density.items():
        arms[arm] = work / arm
        options: dict[str, Any] = {
            "map_shards": workspace.map_shards,
            "overwrite": True,
            "name": f"{name}-{arm}",
        }
        placed = partial(place, Collection(source), arms[arm], Placing(where, seed=SEED), **options)
        record = {"density": where.record(), "source": Collection(source).checksum, "seed": SEED}
        _made(workspace.steps, arms[arm], record, {}, placed)
    return Study(name, arms, ("test",), {}, 1, "uniform", size.depths[name], workspace)


def _msmarco(data: Path, work: Path, size: Size) -> Study:
    """The MS MARCO sample, tested on TREC DL 2019 and 2020 with the candidates that came with
    them.
    """
    workspace = Workspace(work, _tell, engine=Engine(workers=cores()))
    parts = [data / "collection.tsv.gz", data / "queries.train.tsv", data / "qrels.train.tsv"]
    attached = [
        Attachment(name, data / f"queries.{name}.tsv", data / f"qrels.{name}.txt") for name in TREC
    ]

    files = {
        path.name: path
        for path in (*parts, *(file for one in attached for file in (one.queries, one.qrels)))
    }
    asked: dict[str, Any] = {"validation": size.validation["msmarco"], "seed": SEED}
    original = work / "original"
    release = MsmarcoSettings(
        attach=attached, validation=ValidationDraw(size.validation["msmarco"], seed=SEED)
    )
    imported = partial(import_msmarco, parts, original, release=release, overwrite=True)
    _made(workspace.steps, original, asked, files, imported)
    given = {name: data / f"bm25.{name}.run" for name in TREC}
    return Study(
        "msmarco", {"original": original}, TREC, given, 2, "", size.depths["msmarco"], workspace
    )


def _made(
    steps: Steps,
    artefact: Path,
    settings: Mapping[str, object],
    files: Mapping[str, Path],
    make: Callable[[], object],
) -> Path:
    return steps.make(
        artefact.name,
        artefact,
        settings,
        {role: sha256_file(path) for role, path in files.items()},
        make,
    )


def _word_vectors(study: Study, encoder: Path, dimension: int) -> Path:
    """What TK starts from: vectors of the study's words, distilled from the encoder."""
    out = study.workspace.folder / "words.safetensors"
    collections = [Collection(path) for path in study.arms.values()]
    make = partial(
        distil,
        collections,
        str(encoder),
        out,
        DistilSettings(dimension, sif_coefficient=0.0),
        threads=cores(),
        overwrite=True,
    )
    record = {
        "dimension": dimension,
        "passages": [collection.checksum for collection in collections],
    }
    return _made(
        study.workspace.steps, out, record, {"encoder": encoder / "model.safetensors"}, make
    )


def unpacked_encoder(data: Path, work: Path) -> Path:
    """The packed encoder in the folder ``work``, unpacked where it was not."""
    folder = work / "minilm"
    if not folder.is_dir():
        with atomic_folder(folder) as partial:
            for path in sorted((data / "minilm").glob("*.gz")):
                with gzip.open(path) as packed, open(partial / path.stem, "wb") as whole:
                    shutil.copyfileobj(packed, whole)
    return folder


def models(size: Size, study: Study, encoder: Path) -> dict[str, ModelSettings]:
    """The models by kind. Encoders are trained in bfloat16 where there is a GPU; TK, whose kernels
    are narrow, in float32.
    """
    precision = "bfloat16" if torch.cuda.is_available() else "float32"
    training = replace(size.encoders, precision=precision, most_depth=study.depth)
    words = _word_vectors(study, encoder, size.shape.dimension)
    found = {
        "bert_cat": ModelSettings("bert_cat", BertCatConfig(), training, encoder=str(encoder)),
        "bert_dot": ModelSettings("bert_dot", BertDotConfig(), training, encoder=str(encoder)),
        "tk": ModelSettings(
            "tk",
            size.shape,
            replace(size.tk, precision="float32", most_depth=study.depth),
            word_vectors=words,
        ),
    }
    for kind, model in found.items():
        if (study.name, kind) in size.whole:
            found[kind] = replace(model, training=replace(model.training, least_depth=study.depth))
    return found


def units(size: Size, found: Mapping[str, Study]) -> Iterator[Unit]:
    """All units, most valuable first: round by round, so that what is done when time is up are
    whole comparisons.
    """
    for name, seed, kinds in size.rounds:
        for model in kinds:
            for arm in found[name].trainings:
                yield Unit(name, model, arm, seed)
