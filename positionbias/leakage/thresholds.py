"""Default cosine thresholds for encoders with labelled cosines.

Calibrated by ``calibrate`` (the lower 95 % bound of the precision at least 0.9) on the 741 pairs of
an MS MARCO query and a Robust04 topic that the leakage paper's authors labelled.
``benchmarks/leakage_thresholds.py`` computes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.errors import SettingError

__all__ = ["KNOWN", "KnownThreshold", "known_threshold", "threshold_for"]

LABELLED_ON = "741 labelled pairs of an MS MARCO query and a Robust04 topic"


@dataclass(frozen=True, slots=True)
class KnownThreshold:
    """An encoder's threshold: ``checksum`` of the model ("" if only its name is known); precision
    and its lower bound on all labelled pairs; precision and share of labelled leaks kept, by
    cross-validation over topics."""

    encoder: str
    checksum: str
    cosine: float
    precision: float
    lower: float
    held_out: float
    found: float

    def told(self) -> str:
        """Return the basis of the threshold in a sentence."""
        return (
            f"cosine from {self.cosine:g} ({self.encoder}): precision {self.precision:.3f} (at "
            f"least {self.lower:.3f} with 95 % confidence; {self.held_out:.3f} on held-out topics) "
            f"on {LABELLED_ON} with a cosine of at least 0.90"
        )


KNOWN = (
    KnownThreshold(
        "minilm",
        "351c3c7791d4d48adabf90c8efb3a66a8908a7627748bac0145953c2b221e6d9",
        0.8973,
        0.928,
        0.900,
        0.927,
        0.781,
    ),
    KnownThreshold(
        "sentence-transformers/paraphrase-MiniLM-L6-v2", "", 0.9376, 0.931, 0.901, 0.928, 0.731
    ),
)


def known_threshold(encoder: str, checksum: str) -> KnownThreshold | None:
    """Return the threshold of the encoder with this name and checksum; None without labelled
    cosines.
    """
    return next(
        (
            item
            for item in KNOWN
            if (item.checksum == checksum if item.checksum else item.encoder == encoder)
        ),
        None,
    )


def threshold_for(encoder: str, checksum: str, given: float | None) -> float:
    """Return the given cosine, else the encoder's own threshold.

    Raises:
        SettingError: no cosine given, and none labelled for the encoder.
    """
    known = known_threshold(encoder, checksum)
    if given is None and known is None:
        names = " and ".join(item.encoder for item in KNOWN)
        raise SettingError(
            f"--threshold: wanted a cosine for the encoder {encoder}, as each encoder has its own "
            f"scale; found none (known: {names}); give one, or find one from labelled pairs with: "
            f"posbias leakage calibrate PAIRS --encoder {encoder}"
        )
    return given if given is not None else known.cosine  # type: ignore[union-attr]
