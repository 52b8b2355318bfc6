"""KNRM: cosines of word vectors, kernel pooling, one layer to the score (Xiong, Dai, Callan, Liu and Power 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from positionbias.core.errors import SettingError
from positionbias.models.kernels import KernelPooling, cosine_matrix
from positionbias.models.word_model import WordModel, check_embedding_deviation, check_sizes
from positionbias.text.vocabulary import Vocabulary

__all__ = ["KNRM", "LOG_SHARE", "KNRMConfig", "check_kernels"]

LOG_SHARE = 0.01  # what the authors' code makes of a logarithm, so that tanh does not saturate


@dataclass(frozen=True, slots=True)
class KNRMConfig:
    """KNRM's shape (the paper's §4.4): 11 kernels, the first at a cosine of 1 and so narrow that only the same word meets it."""

    dimension: int = 300
    kernels: int = 11
    kernel_sigma: float = 0.1
    exact_sigma: float = 1e-3
    query_length: int = 30
    passage_length: int = 200
    embedding_deviation: float = 0.4

    def __post_init__(self) -> None:
        check_sizes(self, "dimension", "query_length", "passage_length")
        check_kernels(self)
        check_embedding_deviation(self)


def check_kernels(config: Any) -> None:
    """Whether a shape's ``kernels``, ``kernel_sigma`` and ``exact_sigma`` make kernels.

    Raises:
        SettingError: they do not, by the flag of the first.
    """
    if config.kernels < 3:
        raise SettingError(f"--kernels: wanted at least 3; found {config.kernels}; raise it")
    for name in ("kernel_sigma", "exact_sigma"):
        # the square of a narrower one divides to more than float32 holds
        if not 1e-6 <= getattr(config, name) < math.inf:
            found = f"--{name.replace('_', '-')}: wanted a number from 1e-6; found {getattr(config, name)}"
            raise SettingError(f"{found}; the paper's are 0.1 and 0.001")


class KNRM(WordModel):
    """The model: s = tanh(w · φ + b), φ_k = 0.01 · Σ_i log max(Σ_j exp(−(M_ij − µ_k)² / 2σ_k²), 1e-10) (Eqs. 2–6; the 0.01 is of
    the authors' code). The word vectors are learned; w starts by Glorot's rule, b at 0.

    A score lies between −1 and 1. It has no vectors for the probe of position: a word's is the same wherever it stands.
    """

    kind: ClassVar[str] = "knrm"
    shape: ClassVar[type] = KNRMConfig
    config: KNRMConfig

    def __init__(self, config: KNRMConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None) -> None:
        super().__init__(config, vocabulary, word_vectors)
        sigmas = (config.exact_sigma, *[config.kernel_sigma] * (config.kernels - 1))
        spread = math.sqrt(6 / (config.kernels + 1))
        self.pooling = KernelPooling("reference", config.kernels, sigmas, scaled=False, spread=spread)
        self.bias = nn.Parameter(torch.zeros(()))

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Scores ``(batch,)`` from word vectors ``(batch, len, dim)`` and masks; a query batch of 1 serves all passages."""
        with torch.autocast(query.device.type, enabled=False):  # a cosine of half precision is not 1 to a thousandth
            cosines = cosine_matrix(query.float(), passage.float())  # (batch, query_len, passage_len)
            return torch.tanh(LOG_SHARE * self.pooling(cosines, query_mask, passage_mask) + self.bias)
