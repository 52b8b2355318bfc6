"""A model as a function from texts to vectors, all that looking for leakage asks of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from positionbias.core.errors import SettingError, models_extra
from positionbias.core.json_text import JsonObject
from positionbias.core.outcome import Read
from positionbias.engine.per_process import PerProcess
from positionbias.leakage.settings import ENCODER, Encoder, FindSettings

if TYPE_CHECKING:
    from positionbias.dense.single_vectors import SingleVectors
    from positionbias.models.checkpoint import Checkpoint

# by encoder, the lowest cosine with a precision of surely 0.9 on 741 labelled pairs of an MS MARCO
# query and a Robust04 topic (``benchmarks/leakage_thresholds.py``)
THRESHOLDS = {"minilm": 0.8973, ENCODER: 0.9376}
LABELLED = (
    "where 741 labelled pairs of MS MARCO queries and Robust04 topics with a cosine of at least "
    "0.90 have a precision of at least 0.9 with 95 % confidence"
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


def open_semantic(encoder: Encoder, threshold: float | None) -> Semantic:
    """Return the encoder on its device, with the threshold that was given, or else its own.

    Raises:
        DependencyError: the extra ``models`` is not installed; the detector that needs it, and the
            one that does not, are named.
        InputError: no such model.
        SettingError: one that gives a text no single vector, or no threshold for an encoder whose
            cosines nobody has labelled.
    """
    with models_extra("--detector semantic, or both", "give --detector lexical"):
        from positionbias.dense.single_vectors import EncoderElsewhere, SingleVectors

        name = encoder.encoder or ENCODER
        if threshold is None and name not in THRESHOLDS:
            raise SettingError(
                f"--threshold: wanted a cosine for the encoder {name}, as each encoder has its own "
                f"scale; found none (known: {' and '.join(THRESHOLDS)}); give one, or find one by "
                "posbias leakage label"
            )
        model, config = encoder.loading(), encoder.config
        elsewhere = EncoderElsewhere.of(encoder.loading, model, config)
        here = SingleVectors(model, config, flag="--encoder")
        cosine = THRESHOLDS[name] if threshold is None else threshold
        basis = "as given: precision unknown" if threshold is not None else LABELLED
        return Semantic(
            model,
            QueryVectors(PerProcess(elsewhere, here)),
            cosine,
            f"cosine from {cosine:g} ({model.name}), {basis}",
        )


def at_threshold(settings: FindSettings, semantic: Semantic | None) -> FindSettings:
    """Return the settings with the encoder's threshold, if there is an encoder."""
    return replace(settings, threshold=semantic.threshold) if semantic else settings


def search_record(settings: FindSettings, semantic: Semantic | None) -> JsonObject:
    """Return a search's settings for the manifest."""
    return {"encoder": semantic.model.name if semantic else None, **asdict(settings)}
