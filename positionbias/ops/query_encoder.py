"""A model as a function from texts to vectors, which is all that looking for leakage asks of
one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.core.places import pasted
from positionbias.core.progress import say
from positionbias.core.settings import Panel, check_settings, declared_setting, setting, settings_of
from positionbias.models.kinds import READ_AS
from positionbias.ops.outcome import Read
from positionbias.ranking.config import (
    DEVICES,
    PRECISIONS,
    Computing,
    Loading,
    Precision,
    RankingConfig,
)

if TYPE_CHECKING:
    from positionbias.dense.single_vectors import EncoderElsewhere
    from positionbias.leakage.kept_vectors import KeptVectors
    from positionbias.leakage.nearest import Encode
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["ENCODER", "Encoder", "Semantic", "say_kept"]

ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"  # the paper's
_CONFIG = settings_of(RankingConfig)


@dataclass(frozen=True, slots=True)
class Encoder:
    """The model that makes vectors of queries, and its device and precision."""

    encoder: str | None = setting(
        None,
        "What encodes queries: a folder, a model's id on the hub, or minilm, whose weights come as "
        "a pip package.",
        metavar="PATH|ID",
        place="read",
    )
    kind: str | None = declared_setting(None, READ_AS)
    query_prompt: str | None = declared_setting(None, settings_of(Computing)["query_prompt"])
    device: str = setting(
        DEVICES[0],
        "Device to compute on; auto is the GPU if there is one.",
        choices=DEVICES,
        panel=Panel.COMPUTING,
    )
    precision: Precision = declared_setting(PRECISIONS[0], _CONFIG["precision"])
    batch_tokens: int = declared_setting(0, _CONFIG["batch_tokens"])

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def config(self) -> RankingConfig:
        """The precision and size of batches."""
        return RankingConfig(self.batch_tokens, self.precision)

    @property
    def loading(self) -> Loading:
        """How the model is loaded, in any process."""
        return Computing(self.device, self.config, self.query_prompt).loading(
            self.encoder or ENCODER, self.kind
        )

    def open(self) -> tuple[Checkpoint, KeptVectors]:
        """Return the model on its device, and its vectors of queries, which are kept for the next
        command.

        Raises:
            InputError: no such model.
            SettingError: one that gives a text no single vector, or a GPU that is not there.
        """
        from positionbias.core.per_process import PerProcess
        from positionbias.dense.single_vectors import EncoderElsewhere, SingleVectors
        from positionbias.leakage.kept_vectors import KeptVectors
        from positionbias.models.checkpoint import shape_of
        from positionbias.ranking.config import Elsewhere

        model, config = self.loading(), self.config
        device = model.model.device
        read_as = {**shape_of(model.model), "checksum": model.manifest.checksum}
        read_as |= {"device": device.type, "precision": str(config.dtype(device))}
        elsewhere = _Queries(EncoderElsewhere(Elsewhere.of(self.loading, model), config))
        here = SingleVectors(model, config, flag="--encoder").queries
        return model, KeptVectors(
            PerProcess(elsewhere, here), json.dumps(read_as, sort_keys=True, default=str)
        )

    def semantic(self, threshold: float | None) -> Semantic:
        """Return the encoder with the threshold that was given, or else with its own.

        Raises:
            InputError: no such model.
            SettingError: one that gives a text no single vector, or no threshold for an encoder
                whose cosines nobody has labelled.
        """
        from positionbias.leakage.thresholds import known_threshold, threshold_for

        name = self.encoder or ENCODER
        model, vectors = self.open()
        chosen = threshold_for(name, checksum := model.manifest.checksum, threshold)
        known = known_threshold(name, checksum) if threshold is None else None
        rests_on = (
            known.told()
            if known
            else f"cosine from {chosen:g} ({model.name}), as given: precision unknown"
        )
        return Semantic(model, vectors, chosen, rests_on)


@dataclass(frozen=True, slots=True)
class _Queries:
    """How another process encodes queries."""

    encoder: EncoderElsewhere

    def __call__(self) -> Encode:
        return self.encoder().queries


@dataclass(frozen=True, slots=True)
class Semantic:
    """A search by meaning: a model, its vectors, the cosine from which a pair counts, and the
    evidence for it in words.
    """

    model: Checkpoint
    vectors: KeptVectors
    threshold: float
    rests_on: str

    def read(self) -> Read:
        """Return the model as an input."""
        return Read("encoder", self.model.path, self.model.manifest.checksum)


def say_kept(vectors: KeptVectors) -> None:
    """Say how many queries were encoded, how many had been before, and where their vectors are."""
    say(
        f"{vectors.made:,} texts encoded, {vectors.reused:,} reused; vectors kept in "
        f"{pasted(vectors.folder)}"
    )
