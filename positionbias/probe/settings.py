"""Settings of a probe of term vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from positionbias.core.errors import SettingError
from positionbias.core.settings import Seeded, Setting, check_settings, setting

PairMode = Literal["different", "all"]
PAIR_MODES: tuple[PairMode, ...] = ("different", "all")
Layers = tuple[int, ...] | Literal["all"] | None
"""The layers whose states are term vectors: their numbers, all, or None for the last."""
PROBE_LAYERS = Setting(
    "Layers of an encoder after which to measure; 0 is the embeddings.",
    metavar="K,K…|all",
    absent="the last; tk has one set of term vectors",
    shown=False,
)


def layers_of(given: Layers | str) -> Layers:
    """Return the layers that a text names, or layers as they are.

    >>> layers_of("0,3")
    (0, 3)

    Raises:
        SettingError: a text that is neither numbers nor "all".
    """
    if not isinstance(given, str):
        return given
    if given == "all":
        return "all"
    try:
        return tuple(int(layer) for layer in given.split(","))
    except ValueError as error:
        raise SettingError(
            f"--probe-layers: wanted numbers with commas between them, or all; found {given!r}; "
            "give these"
        ) from error


@dataclass(frozen=True, slots=True)
class ProbeSettings(Seeded):
    """Settings of ATS and MATS; checked when made. ``probe_layers`` may be a text, "0,3,6" or
    "all".

    Raises:
        SettingError: a setting out of range.
    """

    term_pairs: PairMode = setting(
        "different",
        "Pairs of different passages (as in the paper), or also those within one passage.",
        choices=PAIR_MODES,
    )
    minimum_terms: int = setting(
        20,
        "Terms that a distance Δ needs; the curve ends before the first Δ with fewer.",
        least=1,
        shown=False,
    )
    probe_passages: int | None = setting(
        None, "Passages to probe, drawn by the seed.", least=1, metavar="N", absent="all"
    )
    sample_pairs: int = setting(
        2_000,
        "Pairs per Δ from which the band (the deviation over pairs) is estimated; 0 leaves it out.",
        least=0,
        shown=False,
    )
    probe_layers: Layers = setting(None, PROBE_LAYERS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probe_layers", layers_of(self.probe_layers))
        check_settings(self)
