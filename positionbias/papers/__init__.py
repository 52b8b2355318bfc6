"""What is a paper's own, a folder each; ``report.parts`` says how one is added.

Others find a paper's modules by their fixed names, so that nothing below this part imports it:

    NAME               the payload types of its results
    NAME.settings      ``COMMAND``: the settings and the help of ``posbias study NAME``
    NAME.study         ``run_study``
    NAME.page          ``PART``: its sections of a report, and which results stand there
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["PAPERS", "StudyCommand", "module_of", "modules"]

# name -> what its study asks, one line of help; in the order of pages and of help
PAPERS: Mapping[str, str] = {
    "leakage": "Do queries that leak into training change what models are worth?",
    "contamination": "Does a teacher that saw the test make its students look better?",
    "tripclick": "How well do re-ranking and dense retrieval do on clicks, and do better negatives help?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCommand:
    """What ``posbias study NAME`` is made of, for a study that trains models on one collection.

    ``settings`` is a dataclass whose declared fields are options; every study has options for its ``models``, ``seeds``,
    ``candidates`` and ``seed``, fields that declare nothing. ``help`` is written as an operation's docstring. ``defaults`` are
    the study's own of options that all studies have. With ``own_encoders`` a model may be KIND=ENCODER; ``decided`` are settings
    of a training that the study sets, each with how. Where there is a ``teacher``, its kind by default, the field of that name
    is the model that the others learn from. ``lasting`` says how many epochs a training has by default. With --quick options take
    ``quick_sizes`` by default, in words ``quick``, and trainings a number of steps with ``quick_steps``.
    """

    settings: type
    help: str
    quick: str
    quick_sizes: Mapping[str, Any]
    quick_steps: bool = True
    defaults: Mapping[str, Any] = field(default_factory=dict)
    own_encoders: bool = False
    decided: Mapping[str, str] = field(default_factory=dict)
    teacher: str = ""
    lasting: str = ""


def module_of(paper: str, name: str = "") -> ModuleType:
    """Return a module of a paper; its package without a name."""
    return import_module(".".join(filter(None, (__name__, paper, name))))


def modules(name: str = "") -> list[ModuleType]:
    """Return the module of this name of every paper, in their order."""
    return [module_of(paper, name) for paper in PAPERS]
