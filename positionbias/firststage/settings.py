"""Settings of BM25, and presets from papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from positionbias.core.settings import Setting, Settings, setting

BACKENDS = ("bm25s", "lucene")
K1 = Setting("BM25's saturation of term frequency.", least=0, absent="the preset's", shown=False)
B = Setting(
    "BM25's normalisation by length, 0 to 1.",
    least=0,
    most=1,
    absent="the preset's",
    shown=False,
)


@dataclass(frozen=True, slots=True)
class Bm25Settings(Settings):
    """k1 (term-frequency saturation, ≥ 0) and b (length normalisation, 0 to 1); the defaults are
    Anserini's.

    Raises:
        SettingError: a value outside its range.
    """

    k1: Annotated[float, K1] = 0.9
    b: Annotated[float, B] = 0.4


# anserini: its defaults; msmarco: tuned there on MS MARCO passages (position-bias paper's first
# stage); robertson: the classic 1.2 / 0.75 (contaminated-distillation paper's).
PRESETS: Mapping[str, Bm25Settings] = {
    "anserini": Bm25Settings(),
    "msmarco": Bm25Settings(0.82, 0.68),
    "robertson": Bm25Settings(1.2, 0.75),
}


@dataclass(frozen=True, slots=True)
class Bm25Search(Settings):
    """BM25's backend, and a preset of k1 and b, each of which may be given separately.

    Raises:
        SettingError: no such backend or preset, or a number outside its range.
    """

    backend: str = setting(
        BACKENDS[0],
        "bm25s, or lucene: Anserini's BM25, with the extra positionbias[lucene].",
        choices=BACKENDS,
        shown=False,
    )
    preset: str = setting("anserini", "Settings of k1 and b.", choices=tuple(PRESETS), shown=False)
    k1: Annotated[float | None, K1] = None
    b: Annotated[float | None, B] = None

    @property
    def settings(self) -> Bm25Settings:
        """Return the preset's k1 and b, except for those given."""
        known = PRESETS[self.preset]
        return Bm25Settings(
            known.k1 if self.k1 is None else self.k1, known.b if self.b is None else self.b
        )
