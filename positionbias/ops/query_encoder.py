"""A model as a function from texts to vectors, which is all that looking for leakage asks of
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.core.errors import SettingError
from positionbias.core.outcome import Read
from positionbias.core.settings import check_settings, declared_setting, setting, settings_of
from positionbias.models.kinds import READ_AS
from positionbias.ranking.config import (
    DEVICES,
    PRECISIONS,
    Computing,
    Elsewhere,
    Loading,
    Precision,
    RankingConfig,
)

if TYPE_CHECKING:
    import numpy as np

    from positionbias.dense.single_vectors import SingleVectors
    from positionbias.engine.per_process import PerProcess
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["ENCODER", "Encoder", "QueryVectors", "Semantic"]

ENCODER = "sentence-transformers/paraphrase-MiniLM-L6-v2"  # the paper's
# by encoder, the lowest cosine with a precision of surely 0.9 on 741 labelled pairs of an MS MARCO
# query and a Robust04 topic (``benchmarks/leakage_thresholds.py``)
THRESHOLDS = {"minilm": 0.8973, ENCODER: 0.9376}
LABELLED = (
    "where 741 labelled pairs of MS MARCO queries and Robust04 topics with a cosine of at least "
    "0.90 have a precision of at least 0.9 with 95 % confidence"
)
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
        shown=False,
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

    def semantic(self, threshold: float | None) -> Semantic:
        """Return the encoder on its device, with the threshold that was given, or else its own.

        Raises:
            InputError: no such model.
            SettingError: one that gives a text no single vector, or no threshold for an encoder
                whose cosines nobody has labelled.
        """
        from positionbias.dense.single_vectors import EncoderElsewhere, SingleVectors
        from positionbias.engine.per_process import PerProcess

        name = self.encoder or ENCODER
        if threshold is None and name not in THRESHOLDS:
            raise SettingError(
                f"--threshold: wanted a cosine for the encoder {name}, as each encoder has its own "
                f"scale; found none (known: {' and '.join(THRESHOLDS)}); give one, or find one by "
                "posbias leakage label"
            )
        model, config = self.loading(), self.config
        elsewhere = EncoderElsewhere(Elsewhere.of(self.loading, model), config)
        here = SingleVectors(model, config, flag="--encoder")
        cosine = THRESHOLDS[name] if threshold is None else threshold
        basis = "as given: precision unknown" if threshold is not None else LABELLED
        return Semantic(
            model,
            QueryVectors(PerProcess(elsewhere, here)),
            cosine,
            f"cosine from {cosine:g} ({model.name}), {basis}",
        )


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """Encodes queries, in any process."""

    encoder: PerProcess[SingleVectors]

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors ``(n, dim)`` float32 of texts."""
        return self.encoder().queries(texts)


@dataclass(frozen=True, slots=True)
class Semantic:
    """A search by meaning: a model, its vectors, the cosine from which a pair counts, and the
    evidence for it in words.
    """

    model: Checkpoint
    vectors: QueryVectors
    threshold: float
    rests_on: str

    def read(self) -> Read:
        """Return the model as an input."""
        return Read("encoder", self.model.path, self.model.manifest.checksum)
