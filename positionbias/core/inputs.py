"""Types of inputs that are given by their path, or in Python as objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.qrels import Qrels
    from positionbias.core.run import Run

    CollectionLike: TypeAlias = Collection | str | Path
    QrelsLike: TypeAlias = Qrels | str | Path
    RunLike: TypeAlias = Run | str | Path
else:
    # readers of annotations must not import pyarrow
    CollectionLike = QrelsLike = RunLike = str | Path
