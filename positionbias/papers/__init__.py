"""The modules of papers, a folder each; ``docs/studies.md`` says how to add one.

Other modules find a paper's modules by fixed names, so that no lower part imports this one:

    NAME               the payload types of its results, or names of its rows, if it has its own
    NAME.settings      ``COMMAND``: the settings and the help of ``posbias study NAME``; or
                       ``COMMANDS``, by name, for several
    NAME.study         ``run_study``, or what ``StudyCommand.run`` names
    NAME.shown         ``SHOWN``: its sections of a report, over its rows
    NAME.page          ``PART``: the same over results
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from positionbias.core.errors import SettingError, or_closest

# study -> its question, one line of help; in the order of pages and of help
PAPERS: Mapping[str, str] = {
    "position-bias": "Do re-rankers depend on positions, and does rotation help?",
    "remedies": "Which remedy lowers the bias, and what does it cost?",
    "transfer": "Does training on rotated passages first help elsewhere?",
    "leakage": "Do leaked training queries change evaluations of models?",
    "contamination": "Do students of a teacher that saw the test look better?",
    "tripclick": "How good are models of clicks, and do better negatives help?",
    "pooling": "Can collections made by one kind of system judge another?",
}
# the folder of a study with another name
FOLDERS: Mapping[str, str] = dict.fromkeys(
    ("position-bias", "remedies", "transfer"), "position_bias"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCommand:
    """The definition of ``posbias study NAME`` and ``positionbias.study``.

    ``settings`` is a dataclass whose declared fields are options; a field ``models`` declares
    nothing, and is made of the options of ``experiments.models``. ``help`` is written like
    an operation's docstring. ``collections`` are the arguments. ``run`` is a module and its
    function that takes the collections, the settings and a ``Workspace``, or ``Steps`` if no models
    are trained.

    ``defaults`` are the study's own defaults of options that all studies have. With
    ``own_encoders`` a model may be KIND=ENCODER; ``epochs`` says whether the length of a training
    may be given in epochs; ``decided`` are training settings that the study sets, each with the
    reason. ``teacher`` is the default kind of the teacher, if there is one, in the field of that
    name. With --quick, options default to ``quick_sizes`` (in words ``quick``), and with
    ``quick_steps`` trainings to a number of steps. ``lasting`` describes the default number of
    epochs.
    """

    settings: type
    help: str
    collections: Sequence[str] = ("collection",)
    run: str = "study.run_study"
    defaults: Mapping[str, object] = field(default_factory=dict)
    own_encoders: bool = False
    epochs: bool = True
    lasting: str = ""
    decided: Mapping[str, str] = field(default_factory=dict)
    teacher: str = ""
    quick: str = ""
    quick_sizes: Mapping[str, object] = field(default_factory=dict)
    quick_steps: bool = True

    @property
    def trains(self) -> bool:
        """True if the study trains models, and so needs a workspace."""
        return any(field.name == "models" for field in fields(self.settings))


def command_of(study: str) -> StudyCommand:
    """Return the definition of a study's command.

    Raises:
        SettingError: no such study.
    """
    if study not in PAPERS:
        raise SettingError(
            f"study: wanted one of {', '.join(PAPERS)}; found {study!r}; "
            f"{or_closest(study, PAPERS, 'give one of these')}"
        )
    settings = module_of(study, "settings")
    command: StudyCommand = settings.COMMANDS[study] if study in FOLDERS else settings.COMMAND
    return command


def runner_of(study: str) -> Callable[..., Path]:
    """Return the function that runs a study and returns the folder of its results."""
    module, _, name = command_of(study).run.partition(".")
    runner: Callable[..., Path] = getattr(module_of(study, module), name)
    return runner


def module_of(study: str, name: str = "") -> ModuleType:
    """Return a module of a study's paper, or without a name its package."""
    return import_module(".".join(filter(None, (__name__, FOLDERS.get(study, study), name))))


def modules(name: str = "") -> list[ModuleType]:
    """Return this module of every paper that has it, in their order."""
    folders = dict.fromkeys(FOLDERS.get(study, study) for study in PAPERS)
    return [module_of(at, name) for at in folders if find_spec(f"{__name__}.{at}.{name}")]
