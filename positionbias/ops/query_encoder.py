"""A model as a function from texts to vectors, which is all that looking for leakage asks of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.core.places import model_place
from positionbias.core.progress import say
from positionbias.core.settings import check_settings, setting
from positionbias.models.kinds import KINDS
from positionbias.ops.outcome import Read

if TYPE_CHECKING:
    from positionbias.leakage.kept_vectors import KeptVectors
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["ENCODER", "Encoder", "Semantic", "say_kept"]

ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"  # the paper's


@dataclass(frozen=True, slots=True)
class Encoder:
    """Which model makes vectors of queries, and how it computes."""

    encoder: str | None = setting(
        None,
        "What encodes queries: a folder, a model's id on the hub, or minilm, whose weights come as a pip package.",
        metavar="NAME",
        place="read",
    )
    kind: str | None = setting(
        None,
        "What the model is, where its files do not say: bi-encoder for a plain encoder, mono_t5 for a T5.",
        choices=("cross-encoder", "bi-encoder", "multi-vector", "sparse", *KINDS),
        absent="what its files say",
    )
    device: str = setting(
        "auto", "Where the encoder computes; auto is the GPU where there is one.", choices=("auto", "cpu", "cuda")
    )
    precision: str = setting(
        "auto",
        "Of matrix products; auto is float32 on a CPU and bfloat16 on a GPU, or float16 on one without.",
        choices=("auto", "float32", "bfloat16", "float16"),
    )
    batch_tokens: int = setting(0, "Padded tokens in a batch; 0 leaves it to the device.", least=0)

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
        from positionbias.ranking.config import RankingConfig, pick_device

        device, config = pick_device(self.device), RankingConfig(self.batch_tokens, self.precision)  # type: ignore[arg-type]
        checkpoint = load_checkpoint(model_place(self.encoder or ENCODER), self.kind)
        checkpoint.model.to(device)
        read_as = {**shape_of(checkpoint.model), "checksum": checkpoint.manifest.content["checksum"]}
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
        chosen = threshold_for(name, checksum := model.manifest.content["checksum"], threshold)
        known = known_threshold(name, checksum) if threshold is None else None
        rests_on = known.told() if known else f"cosine from {chosen:g} ({model.name}), as given: precision unknown"
        return Semantic(model, vectors, chosen, rests_on)


@dataclass(frozen=True, slots=True)
class Semantic:
    """What finds pairs by meaning: a model, its vectors of queries, the cosine from which a pair counts, and what that rests on, in words."""

    model: Checkpoint
    vectors: KeptVectors
    threshold: float
    rests_on: str

    def read(self) -> Read:
        """Return the model as an input."""
        return Read("encoder", self.model.path, self.model.manifest.content["checksum"])


def say_kept(vectors: KeptVectors) -> None:
    """Say how many queries were encoded, how many had been before, and where their vectors are."""
    say(f"{vectors.made:,} texts encoded, {vectors.reused:,} reused; vectors kept in {vectors.folder}")
