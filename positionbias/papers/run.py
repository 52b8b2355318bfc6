"""Run a study in a folder, with its report and tables, or say what it would do; and the demo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from pandas import DataFrame

from positionbias.core.collection import find_collection
from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.outcome import Printed, Written
from positionbias.core.places import refuse_inputs
from positionbias.core.process import cores
from positionbias.core.progress import say
from positionbias.core.publish import GO_ON
from positionbias.core.settings import settings_of
from positionbias.core.terminal import wrapped
from positionbias.engine.choose import Engine
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.step import Steps, record_of, same_settings
from positionbias.papers import command_of, runner_of
from positionbias.report.presentation import Study, shown_by
from positionbias.report.showing import load_results, page_of
from positionbias.report.table import Table, as_text

_NEXT = """
Next, on your own data:
  posbias import squad --train train-v1.1.json --test dev-v1.1.json --validation-queries 1000 \
--out squad
  posbias histogram squad --split train
  posbias model vectors --encoder minilm squad --out squad-words
  posbias study position-bias squad --quick --word-vectors squad-words --out squad-study"""


@dataclass(frozen=True, slots=True, repr=False)
class Studied(Written):
    """The folder of a study, which holds its report, and its results and tables.

    ``afterwards``: what the command line says below them.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    afterwards: str = ""

    def __str__(self) -> str:
        """Return the tables that its page does not fold, and its findings in sentences."""
        sentences = [
            wrapped(f"- {finding.text}")
            for shown, rows in (shown_by(self.rows) if self.rows is not None else ())
            for finding in shown.findings(rows)
        ]
        return "\n\n".join(
            [*map(as_text, self._tables()), "\n".join(["What was found", *sentences])]
        )

    def _study(self, place: Path = Path()) -> Study:

        return load_results(self.path, {})._study(place)


@dataclass(frozen=True, slots=True, repr=False)
class StudyPlan(Printed):
    """The steps of a study, as a dry run sees them, a row each."""

    rows: DataFrame


def run_study(
    name: str,
    collections: Sequence[CollectionLike],
    settings: Any,
    place: Path,
    engine: Engine,
    *,
    dry_run: bool,
    overwrite: bool,
) -> Studied | StudyPlan:
    """Run a study in the folder ``place``; finished steps are skipped, and a dry run shows all.

    Raises:
        SettingError: no such study, settings of another one, not as many collections as it takes,
            or ``place`` at or in an input.
        InputError: a collection or file that is missing or does not fit.
        OutputExistsError: ``place`` has a study of other settings.
    """
    of = command_of(name)
    if not isinstance(settings, of.settings):
        raise SettingError(
            f"settings: wanted {of.settings.__name__}; found {type(settings).__name__}; give the "
            "study its own"
        )
    if len(collections) != len(of.collections):
        wanted = " and ".join(of.collections) or "no collection"
        raise SettingError(
            f"study {name}: wanted {wanted}; found {len(collections)} collections; give as many"
        )
    refuse_inputs({"--out": place}, _places_in(settings))
    _check_folder(place)
    if not dry_run:  # report faults before anything is written
        run_study(name, collections, settings, place, engine, dry_run=True, overwrite=overwrite)
    opened = [find_collection(collection) for collection in collections]
    record: JsonObject = {
        "study": name,
        "collections": [collection.checksum for collection in opened],
        "settings": record_of(settings),
    }
    if of.trains:
        made: Any = _workspace(place, engine, dry_run=dry_run)
    else:
        made = Steps(place, say, dry_run=dry_run)
    try:
        with ExitStack() as stack:
            if not dry_run:
                stack.enter_context(same_settings(place, record, overwrite=overwrite))
                stack.enter_context(engine.open())  # a Ray of this machine serves all steps
            results = runner_of(name)(*opened, settings, made)
            if not dry_run:
                return _reported(results, place)
    except KeyboardInterrupt as error:
        error.add_note(GO_ON)
        raise
    steps: Steps = made.steps if of.trains else made
    return StudyPlan(steps.plan(opened[-1].name if opened else getattr(settings, "collection", "")))


def run_demo(seed: int, workers: int | None, place: Path) -> Studied:
    """Run the demo in the folder ``place``, by default with two workers."""
    from positionbias.papers.position_bias import study

    _check_folder(place)
    made = _workspace(place, Engine(workers=workers or min(2, cores())))
    with same_settings(place, {"study": "demo", "settings": {"seed": seed}}):
        return replace(_reported(study.run_demo(made, seed=seed), place), afterwards=_NEXT)


def _workspace(place: Path, engine: Engine, *, dry_run: bool = False) -> Any:
    from positionbias.experiments.workspace import Workspace  # needs torch

    return Workspace(place, say, engine=engine, dry_run=dry_run)


def _check_folder(place: Path) -> None:
    """Refuse a file as the folder of a study.

    Raises:
        SettingError: it is one.
    """
    if place.exists() and not place.is_dir():
        raise SettingError(
            f"--out: wanted a folder for the study; found {place}, a file; give another"
        )


def _places_in(settings: Any) -> Iterator[Path | str]:
    """Yield every file and folder that a study's settings name, those of its models included."""
    if isinstance(settings, Path):
        yield settings
    elif is_dataclass(settings):
        if isinstance(settings, ModelSettings) and settings.encoder is not None:
            yield settings.encoder
        read = [name for name, of in settings_of(type(settings)).items() if of.place == "read"]
        for one in fields(settings):
            value = getattr(settings, one.name)
            if one.name in read and value and not isinstance(value, Mapping):  # also as text
                yield from [value] if isinstance(value, str | Path) else value
            else:
                yield from _places_in(value)
    elif isinstance(settings, Mapping | tuple | list):
        for item in settings.values() if isinstance(settings, Mapping) else settings:
            yield from _places_in(item)


def _reported(results: Path, place: Path) -> Studied:
    """Write the report and the tables of a study's results into its folder, and say where they
    are.
    """
    page = page_of(results, place / "report.html", place / "tables", overwrite=True)
    return Studied(place, page.tables, rows=page.rows)
