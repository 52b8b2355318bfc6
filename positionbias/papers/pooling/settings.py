"""Settings of the study of pools: its tasks, and how pools are drawn."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.places import input_place
from positionbias.core.settings import REQUIRED, check_settings, setting
from positionbias.papers import StudyCommand
from positionbias.pooling.settings import PoolSettings


class PoolingTask(NamedTuple):
    """A folder of TREC runs, their judgements, and the table of their systems."""

    name: str
    runs: Path
    qrels: Path
    systems: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolingSettings:
    """Settings of the study.

    Raises:
        SettingError: no task, two tasks with one name, an unknown measure, or a number outside its
            range.
    """

    tasks: tuple[PoolingTask, ...] = setting(
        REQUIRED,
        "A folder of TREC runs, their judgements, and the table of run, group and kind; "
        "repeatable.",
        flags=("--task",),
        metavar="NAME RUNS QRELS SYSTEMS",
    )
    pools: PoolSettings = field(default_factory=PoolSettings)

    def __post_init__(self) -> None:
        check_settings(self)
        names = [name for name, *_ in self.tasks]
        if not names or len(set(names)) < len(names):
            found = ", ".join(names) or "none"
            raise SettingError(
                f"--task: wanted at least one, each name once; found {found}; give each once"
            )
        opened = (PoolingTask(name, *map(input_place, places)) for name, *places in self.tasks)
        object.__setattr__(self, "tasks", tuple(opened))

    @property
    def collection(self) -> str:
        """Return the names of all tasks."""
        return ", ".join(task.name for task in self.tasks)

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        return {"tasks": [task.name for task in self.tasks], **asdict(self.pools)}


COMMAND = StudyCommand(
    settings=PoolingSettings,
    collections=(),
    help=r"""Can test collections made by one kind of system judge another?

For each task, measures the relevant documents found by each kind of system, and pools drawn from
one kind and their judgement of the others. Makes the paper's tables and figures, with its own
numbers for its own tasks.

    posbias study pooling --out pools --relevant-from 2 \
        --task passages runs/pass qrels-pass.txt systems-pass.tsv
""",
)
