"""Settings for the starting points of models: word vectors distilled from an encoder, and a new
encoder. They need no torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.errors import SettingError
from positionbias.core.settings import Seeded, Settings, check_settings, setting

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True, slots=True)
class DistilSettings(Settings):
    """Settings of ``distil``. ``sif_coefficient`` is a in the weight a / (a + p) of a word with
    share p of all words; 0: no weights.
    """

    dimension: int = setting(300, "Principal components kept: TK's --dimension.", least=1)
    sif_coefficient: float = setting(
        1e-4,
        "a in the weight a / (a + p) of a word with share p of all words; 0 weighs all alike.",
        least=0,
        shown=False,
    )


@dataclass(frozen=True, slots=True)
class EncoderSettings(Seeded):
    """The shape of a BERT: by default the smallest of Turc et al. (2019), "Well-read students learn
    better".
    """

    layers: int = setting(2, "Layers of attention.", least=1)
    width: int = setting(
        128, "Width of a state; feed-forward layers are four times as wide.", least=1
    )
    heads: int = setting(2, "Attention heads of each layer; they share the width.", least=1)
    pieces: int = setting(
        8_000, "Most word pieces, including special ones.", least=len(SPECIAL) + 1
    )
    max_length: int = setting(512, "Most tokens of an input.", least=8)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.width % self.heads:
            raise SettingError(
                f"--width: wanted a multiple of the {self.heads} heads; found {self.width}; give "
                "another, or other --heads"
            )
