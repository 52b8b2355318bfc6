"""positionbias: find, measure and remove position bias in retrieval data and rankers.

The flow: raw release → Collection → (answer positions) → rotated Collection → candidates (Run) →
training groups → model → re-ranked Run → measures → report; a model's term vectors → ATS / MATS.

    >>> from positionbias import rotate
    >>> rotate("one two three four", passage_id="p1", seed=1)
    'two three four one '
"""

from __future__ import annotations

import os
from importlib import import_module as _import

from positionbias import ops
from positionbias.core.process import let_threads_sleep

# typing's own costs milliseconds in which ``posbias`` could not yet answer a signal
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from positionbias.core.collection import Collection as Collection
    from positionbias.core.qrels import Qrels as Qrels
    from positionbias.core.records import (
        Answer as Answer,
        Passage as Passage,
        Qrel as Qrel,
        Query as Query,
    )
    from positionbias.core.run import Run as Run
    from positionbias.ops import *
    from positionbias.ops.artefacts import load as load
    from positionbias.models.new_encoder import make_encoder as make_encoder
    from positionbias.models.permuted import permuted as permuted
    from positionbias.audit.run import Audit as Audit
    from positionbias.ops.audit import audit_model as audit_model
    from positionbias.positions.rotate import Rotate as Rotate, rotate as rotate

__version__ = "0.1.0"

let_threads_sleep(os.environ)  # numerical libraries read it once, when they are loaded

# public name -> its module; each import_NAME stands in ops.imports
_MODULES = {
    "Answer": "core.records",
    "Audit": "audit.run",
    "Collection": "core.collection",
    "Passage": "core.records",
    "Qrel": "core.records",
    "Qrels": "core.qrels",
    "Query": "core.records",
    "Rotate": "positions.rotate",
    "Run": "core.run",
    "audit_model": "ops.audit",
    "load": "ops.artefacts",
    "make_encoder": "models.new_encoder",
    "permuted": "models.permuted",
    "rotate": "positions.rotate",
    **{function: f"ops.{module}" for module, function, _ in ops.COMMANDS.values() if function},
}


def module_of(name: str) -> str:
    """Return the module of a public name; empty if there is none of this name."""
    found = "ops.imports" if name.startswith("import_") else _MODULES.get(name, "")
    return found and f"positionbias.{found}"


def __getattr__(name: str) -> Any:
    # Imported when asked for: ``import positionbias`` stays quick, and no caller pays for pyarrow
    # to rotate a text.
    if name == "__all__":
        return __dir__()
    if not (module := module_of(name)):
        raise AttributeError(f"module 'positionbias' has no attribute {name!r}")
    return getattr(_import(module), name)


def __dir__() -> list[str]:
    from positionbias.ops import imports

    return sorted([*_MODULES, *imports.__all__, "__version__"])
