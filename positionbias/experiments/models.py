"""The models of a study: their settings, and the options that describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import manifest_if_any
from positionbias.core.settings import Seed, setting
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.kinds import begins_with, config_class
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

if TYPE_CHECKING:
    from positionbias.training.plan import TrainPlan

OWN = ("seed",)  # settings for which the study has options


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model of a study; ``model`` None is the kind's own shape."""

    kind: str = "tk"
    model: Any = None
    training: TrainConfig = field(default_factory=TrainConfig)
    word_vectors: Path | None = None
    encoder: str | None = None

    def __post_init__(self) -> None:
        if self.model is None:
            object.__setattr__(self, "model", config_class(self.kind)())
        self.plan(candidates=Path())  # report conflicts before the study begins

    def plan(
        self,
        *,
        seed: int = 1,
        training: TrainConfig | None = None,
        validation: tuple[Path, str] | None = None,
        **data: Any,
    ) -> TrainPlan:
        """Return the plan of one training of this model; ``data`` are its other fields, such as
        ``candidates`` or ``trainset``.

        ``validation`` is a run and its split; without it the last weights are kept. A training from
        a checkpoint ``start`` uses neither the encoder nor words of its own.
        """
        if validation is not None:
            run, split = validation
            data |= {"validation_candidates": run, "validation_split": split}
        if begins_with(self.kind) == "encoder":
            data.pop("words_of", None)
        return TrainPlan(
            kind=self.kind,
            model=self.model,
            training=replace(training or self.training, seed=seed),
            word_vectors=self.word_vectors,
            encoder=None if data.get("start") else self.encoder,
            **data,
        )

    @property
    def pretrained(self) -> str:
        """Name the initial weights of a training; empty if they are random."""
        if self.word_vectors is None:
            return "" if self.encoder is None else Path(self.encoder).name
        made = manifest_if_any(self.word_vectors)
        encoder = made.settings.get("encoder") if made else None
        name = encoder.get("name") if isinstance(encoder, dict) else encoder
        return self.word_vectors.name + (f" ({Path(str(name)).name})" if name else "")

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        deciding = self.plan(candidates=Path()).training.deciding()
        return {
            "kind": self.kind,
            "model": asdict(self.model),
            "training": {name: value for name, value in deciding.items() if name not in OWN},
            "begins with": self.pretrained,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySettings:
    """Settings of every study: its models, each trained ``seeds`` times with seeds from ``seed``
    on, which is also that of what the study draws. ``candidates`` are runs to use instead of
    BM25's, by split.
    """

    SHOWN = False

    models: tuple[ModelSettings, ...]
    seeds: int = setting(
        1,
        "Trainings of each model, with seeds from --seed on; three or more have intervals over "
        "trainings.",
        least=1,
        most=1_000,
        absent="3, with --quick 1",
        shown=True,
    )
    depth: int = setting(100, "Candidates per validation or test query.", least=1)
    candidates: Mapping[str, Path] = setting(
        {}, "A run to use instead of BM25's; repeatable.", metavar="SPLIT=RUN"
    )
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    seed: Seed = 1

    @property
    def training_seeds(self) -> range:
        """The seeds of the trainings."""
        return range(self.seed, self.seed + self.seeds)
