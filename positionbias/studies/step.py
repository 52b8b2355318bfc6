"""Restartable steps: each leaves an artefact and a receipt of what it was made from; a finished one is skipped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from positionbias import __version__
from positionbias.core.errors import InputError
from positionbias.core.files import read_json, write_json

__all__ = ["Steps"]


class Steps:
    """The steps of one study in one folder; receipts stand in ``steps/NAME.json``.

    A step is skipped when its artefact is there and its receipt names the same settings and inputs; else it is made (again).
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda line: None) -> None:
        self.folder, self.tell = folder, tell

    def make(
        self, name: str, artefact: Path, settings: Mapping[str, Any], inputs: Mapping[str, str], make: Callable[[], object]
    ) -> Path:
        """Make ``artefact`` by calling ``make()``, which writes it (replacing an outdated one), unless it is up to date.

        ``settings`` must be JSON-ready; ``inputs`` are checksums by role.
        """
        facts = {"settings": settings, "inputs": inputs, "version": __version__}
        fingerprint = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
        receipt = self.folder / "steps" / f"{name}.json"
        if artefact.exists() and self._fingerprint(receipt) == fingerprint:
            self.tell(f"{name}: done before")
            return artefact
        began = time.monotonic()
        make()
        write_json(receipt, {"step": name, "artefact": artefact.name, "fingerprint": fingerprint, **facts})
        self.tell(f"{name}: {time.monotonic() - began:.0f} s")
        return artefact

    @staticmethod
    def _fingerprint(receipt: Path) -> str | None:
        if not receipt.exists():
            return None
        try:
            record = read_json(receipt, what="a step's receipt")
        except InputError:
            return None  # a damaged receipt proves nothing: the step is made again
        return record.get("fingerprint") if isinstance(record, dict) else None
