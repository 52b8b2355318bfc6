"""The request to any retriever."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.settings import Settings, setting
from positionbias.core.shared_settings import Split, WithoutOwn


@dataclass(frozen=True, slots=True)
class Retrieval(Settings):
    """The split, the number and kind of passages a query, and the run's tag; the
    retriever fills in what is None.

    Raises:
        SettingError: a depth below 1.
    """

    split: Split = "test"
    depth: int | None = setting(
        None, "Passages to keep a query.", least=1, absent="100; 1000 with --vectors"
    )
    name: str | None = setting(
        None, "The run's tag.", absent="bm25; the model's name with --vectors"
    )
    without_own: WithoutOwn = False
