"""A model as a function from texts to vectors, which is all that looking for leakage asks of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.core.errors import bad_input
from positionbias.core.places import model_place, pasted
from positionbias.core.progress import say
from positionbias.core.settings import Panel, check_settings, declared_setting, setting, settings_of
from positionbias.models.kinds import READ_AS
from positionbias.ops.outcome import Read
from positionbias.ranking.config import DEVICES, PRECISIONS, Precision, RankingConfig, pick_device

if TYPE_CHECKING:
    from positionbias.leakage.kept_vectors import KeptVectors
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["ENCODER", "Encoder", "OpenedEncoder", "Semantic", "say_kept"]

ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"  # the paper's
_CONFIG = settings_of(RankingConfig)


@dataclass(frozen=True, slots=True)
class Encoder:
    """The model that makes vectors of queries, and its device and precision."""

    encoder: str | None = setting(
        None,
        "What encodes queries: a folder, a model's id on the hub, or minilm, whose weights come as a pip package.",
        metavar="PATH|ID",
        place="read",
    )
    kind: str | None = declared_setting(None, READ_AS)
    device: str = setting(
        DEVICES[0], "Device to compute on; auto is the GPU if there is one.", choices=DEVICES, panel=Panel.COMPUTING
    )
    precision: Precision = declared_setting(PRECISIONS[0], _CONFIG["precision"])
    batch_tokens: int = declared_setting(0, _CONFIG["batch_tokens"])

    def __post_init__(self) -> None:
        check_settings(self)

    def open(self) -> tuple[Checkpoint, KeptVectors]:
        """Return the model on its device, and its vectors of queries, which are kept for the next command.

        Raises:
            InputError: no such model.
            SettingError: one that gives a text no single vector, or a GPU that is not there.
        """
        from positionbias.dense.single_vectors import SingleVectors
        from positionbias.leakage.kept_vectors import KeptVectors
        from positionbias.models.checkpoint import load_checkpoint, shape_of

        device, config = pick_device(self.device), RankingConfig(self.batch_tokens, self.precision)
        checkpoint = load_checkpoint(model_place(self.encoder or ENCODER), self.kind)
        config.check(checkpoint.model, device)
        checkpoint.model.to(device)
        read_as = {**shape_of(checkpoint.model), "checksum": checkpoint.manifest.checksum}
        read_as |= {"device": device.type, "precision": str(config.dtype(device))}
        encode = SingleVectors(checkpoint, config, flag="--encoder").queries
        return checkpoint, KeptVectors(encode, json.dumps(read_as, sort_keys=True, default=str))

    def semantic(self, threshold: float | None) -> Semantic:
        """Return the encoder with the threshold that was given, or else with its own.

        Raises:
            InputError: no such model.
            SettingError: one that gives a text no single vector, or no threshold for an encoder whose cosines nobody has labelled.
        """
        from positionbias.leakage.thresholds import known_threshold, threshold_for

        name = self.encoder or ENCODER
        model, vectors = self.open()
        chosen = threshold_for(name, checksum := model.manifest.checksum, threshold)
        known = known_threshold(name, checksum) if threshold is None else None
        rests_on = known.told() if known else f"cosine from {chosen:g} ({model.name}), as given: precision unknown"
        return Semantic(model, vectors, chosen, rests_on)


@dataclass(frozen=True, slots=True)
class Semantic:
    """A search by meaning: a model, its vectors of queries, the cosine from which a pair counts, and the evidence for it in words."""

    model: Checkpoint
    vectors: KeptVectors
    threshold: float
    rests_on: str

    def read(self) -> Read:
        """Return the model as an input."""
        return Read("encoder", self.model.path, self.model.manifest.checksum)


@dataclass(frozen=True, slots=True)
class OpenedEncoder:
    """How another process opens the encoder of this one, which must be the same: calling it returns what makes vectors.

    It computes on as many threads as this process, where their number changes last bits.
    """

    encoder: Encoder
    checksum: str
    device: str
    threads: int | None

    @classmethod
    def of(cls, encoder: Encoder, model: Checkpoint) -> OpenedEncoder:
        """Return how to open ``encoder``, which is ``model`` here."""
        config = RankingConfig(encoder.batch_tokens, encoder.precision)
        return cls(encoder, model.manifest.checksum, model.model.device.type, config.fixed_threads(model.model))

    def __call__(self) -> KeptVectors:
        """Return what makes vectors, and keeps them.

        Raises:
            InputError: another model, or another kind of device.
        """
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        checkpoint, vectors = self.encoder.open()
        found = checkpoint.manifest.checksum, checkpoint.model.device.type
        if found != (self.checksum, self.device):
            raise bad_input(
                checkpoint.path,
                wanted=f"the model {self.checksum[:12]} on {self.device}, as in the command's own process",
                found=f"{found[0][:12]} on {found[1]} in a worker process",
                do="do not change it while it is used, and give --device",
            )
        return vectors


def say_kept(vectors: KeptVectors) -> None:
    """Say how many queries were encoded, how many had been before, and where their vectors are."""
    say(f"{vectors.made:,} texts encoded, {vectors.reused:,} reused; vectors kept in {pasted(vectors.folder)}")
