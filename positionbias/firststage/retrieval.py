"""The request to any retriever."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.settings import Settings, setting
from positionbias.firststage.own_passages import WITHOUT_OWN


@dataclass(frozen=True, slots=True)
class Retrieval(Settings):
    """The split, the number and kind of passages a query, and the run's tag; the
    retriever fills in what is None.

    Raises:
        SettingError: a depth below 1.
    """

    split: str = setting("test", "Split of the queries.", metavar="SPLIT")
    depth: int | None = setting(
        None, "Passages to keep a query.", least=1, absent="100; 1000 with --vectors"
    )
    name: str | None = setting(
        None, "The run's tag.", absent="bm25; the model's name with --vectors"
    )
    without_own: bool = setting(False, WITHOUT_OWN)
