"""Settings of the study of pools (tasks, pools, measures), and its command."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.places import input_place
from positionbias.core.settings import (
    Panel,
    check_once,
    check_settings,
    declared_setting,
    refuse_idle,
    required_setting,
    setting,
    settings_of,
)
from positionbias.papers import StudyCommand
from positionbias.pooling.settings import DEEPEST, PoolSettings, ReliabilitySettings

__all__ = ["COMMAND", "Level", "PoolingSettings", "PoolingTask"]


class PoolingTask(NamedTuple):
    """A folder of TREC runs, their judgements, and the table of their systems."""

    name: str
    runs: Path
    qrels: Path
    systems: Path


class Level(NamedTuple):
    """The lowest grade of a relevant passage, for one task or (with an empty name) for all."""

    task: str
    grade: int

    @classmethod
    def parse(cls, text: str) -> Level:
        """Read ``GRADE`` or ``TASK=GRADE``.

        Raises:
            SettingError: another form.
        """
        task, _, grade = text.rpartition("=")
        if not grade.isdecimal():
            raise SettingError(
                f"--relevant-from: wanted GRADE or TASK=GRADE, a grade from 1 up; found {text!r}; "
                "write it so"
            )
        return cls(task, int(grade))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolingSettings:
    """Settings of the study. A task's own level overrides that of all.

    Raises:
        SettingError: no task, two tasks with one name, an unknown measure, or a number outside its
            range.
    """

    tasks: tuple[PoolingTask, ...] = required_setting(
        "A folder of TREC runs, their judgements, and the table of run, group and kind; may be "
        "given again.",
        flags=("--task",),
        metavar="NAME RUNS QRELS SYSTEMS",
    )
    pools: PoolSettings = field(default_factory=PoolSettings)
    measures: tuple[str, ...] = declared_setting(
        ("RR", "nDCG@10"), settings_of(ReliabilitySettings)["measures"]
    )
    relevant_from: tuple[Level, ...] = setting(
        (),
        "The lowest grade of a relevant document, for all tasks or one: 2 for the passages of TREC "
        "DL. [default: 1]",
        metavar="[TASK=]GRADE",
        panel=Panel.ADVANCED,
    )
    deepest: int = setting(
        100,
        "Last depth of the curves of relevant documents found.",
        least=1,
        most=DEEPEST,
        panel=Panel.ADVANCED,
    )
    relabel: float = setting(
        0.1,
        "Of the runs, whose kind is changed at random, again and again; 0: not.",
        least=0,
        most=1,
        metavar="SHARE",
        panel=Panel.ADVANCED,
    )
    repeats: int = setting(20, "Repetitions of --relabel.", least=1, panel=Panel.ADVANCED)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.relabel:
            refuse_idle(["--repeats"], wanted="--relabel above 0", found="--relabel 0")
        names = [name for name, *_ in self.tasks]
        if not names or len(set(names)) < len(names):
            found = ", ".join(names) or "none"
            raise SettingError(
                f"--task: wanted at least one, each name once; found {found}; give each once"
            )
        for name in names:
            if (
                not name
                or name.startswith(".")
                or "/" in name
                or name in ("results", "steps", "tables")
            ):
                wanted = "a name without slashes that is none of results, steps and tables"
                raise SettingError(f"--task: wanted {wanted}; found {name!r}; give another")
        for task, grade in self.relevant_from:
            if grade < 1 or task not in ("", *names):
                wanted, found = (
                    f"GRADE or TASK=GRADE, a grade from 1 up, of {', '.join(names)}",
                    f"{task}={grade}".strip("="),
                )
                raise SettingError(
                    f"--relevant-from: wanted {wanted}; found {found!r}; write it so"
                )
        if self.relevant_from:
            check_once(
                {"--relevant-from": [task or "every task" for task, _ in self.relevant_from]}
            )
        from positionbias.pooling.scores import pool_measures  # needs arrays

        pool_measures(self.measures)
        opened = (PoolingTask(name, *map(input_place, places)) for name, *places in self.tasks)
        object.__setattr__(self, "tasks", tuple(opened))

    @property
    def collection(self) -> str:
        """Return the names of all tasks."""
        return ", ".join(task.name for task in self.tasks)

    def level(self, task: str) -> int:
        """Return the lowest grade of a relevant passage of a task."""
        levels = dict(self.relevant_from)
        return levels.get(task, levels.get("", 1))

    def record(self) -> JsonObject:
        """Return the settings for a manifest: JSON-ready, files by name."""
        levels = {task.name: self.level(task.name) for task in self.tasks}
        own = {
            "measures": list(self.measures),
            "deepest": self.deepest,
            "relabel": self.relabel,
            "repeats": self.repeats,
        }
        return {"tasks": list(levels), "relevant_from": levels, **asdict(self.pools), **own}


COMMAND = StudyCommand(
    settings=PoolingSettings,
    collections=(),
    help=r"""Can test collections made by one kind of system judge another?

For each task, measures the relevant documents found by each kind of system, pools drawn from one
kind and their judgement of the others, groups left out, deeper pools and more groups, and wrong
labels. Makes the paper's tables and figures, with its own numbers for its own tasks.

    posbias study pooling --out pools --relevant-from passages=2 \
        --task documents runs/doc qrels-doc.txt systems-doc.tsv \
        --task passages runs/pass qrels-pass.txt systems-pass.tsv
""",
)
