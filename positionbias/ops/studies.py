"""A paper's study on your collection, end to end, and the demo, which is one in miniature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.errors import SettingError, check_models
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Overwrite, Seed, operation
from positionbias.core.outcome import Printed, Written
from positionbias.core.places import Place, output_place, pasted, refuse_inputs
from positionbias.core.progress import say
from positionbias.core.publish import GO_ON
from positionbias.core.settings import Setting, settings_of
from positionbias.engine.choose import Engine
from positionbias.ops.artefacts import page_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from positionbias.report.presentation import Study
    from positionbias.report.table import Table

__all__ = ["Studied", "StudyPlan", "demo", "reported", "study"]

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
        from positionbias.core.terminal import wrapped
        from positionbias.report.presentation import shown_by
        from positionbias.report.table import as_text

        sentences = [
            wrapped(f"- {finding.text}")
            for shown, rows in (shown_by(self.rows) if self.rows is not None else ())
            for finding in shown.findings(rows)
        ]
        return "\n\n".join(
            [*map(as_text, self._tables()), "\n".join(["What was found", *sentences])]
        )

    def _study(self, place: Path = Path()) -> Study:
        from positionbias.ops.artefacts import load

        return load(self.path)._study(place)


@dataclass(frozen=True, slots=True, repr=False)
class StudyPlan(Printed):
    """The steps of a study, as a dry run sees them, a row each."""

    rows: DataFrame


@operation
def study(
    name: Annotated[str, Setting("The study, as posbias study names it.")],
    *collections: Annotated[
        CollectionLike,
        Setting("What it is made on, as many as its command has arguments.", place="read"),
    ],
    settings: Annotated[
        Any, Setting("Of the class that positionbias.settings has for this study.")
    ],
    out: Annotated[
        Place, Setting("Where to write: the study's folder.", metavar="DIR", place="written")
    ],
    engine: Engine = Engine(),
    dry_run: Annotated[
        bool,
        Setting(
            "Show the steps, which are done and about how long others take that are like finished "
            "ones; write nothing."
        ),
    ] = False,
    overwrite: Overwrite = False,
) -> Studied | StudyPlan:
    """Run a paper's study in the folder ``out``, with its report and tables; finished steps are
    skipped.

    ``settings`` are of the class that ``positionbias.settings`` has for the study, such as
    ``PositionBiasSettings``. An interrupted study goes on where it was. A folder belongs to the
    settings that it began with: others are refused, unless ``overwrite`` is given and no study is
    at work there.

        posbias study position-bias squad --quick --out squad-study

    Returns:
        What was found; of a dry run the plan.

    Raises:
        SettingError: no such study, settings of another one, not as many collections as it takes,
            or ``out`` at or in an input.
        InputError: a collection or file that is missing or does not fit.
        OutputExistsError: ``out`` has a study of other settings.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import PositionBiasSettings
        >>> print(
        ...     pb.study(
        ...         "position-bias",
        ...         "planted",
        ...         settings=PositionBiasSettings(),
        ...         out="study",
        ...         dry_run=True,
        ...     )
        ... )
        17 of 17 steps to be made; nothing was written.
        <BLANKLINE>
        The plan
        <BLANKLINE>
        Step                                          State       ...
        ────────────────────────────────────────────  ...
        rotate-1                                      to be made ...
        ...
    """
    from positionbias.core.collection import find_collection
    from positionbias.experiments.step import record_of, same_settings
    from positionbias.papers import command_of, runner_of

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
    refuse_inputs({"--out": out}, _places_in(settings))
    if of.trains and not dry_run:
        check_models("the study's models")
    place = _folder(output_place(out))
    if not dry_run:  # report faults before anything is written
        study(name, *collections, settings=settings, out=out, engine=engine, dry_run=True)
    found = [find_collection(one) for one in collections]
    record: JsonObject = {
        "study": name,
        "collections": [one.checksum for one in found],
        "settings": record_of(settings),
    }
    if of.trains:
        from positionbias.experiments.workspace import Workspace

        made: Any = Workspace(place, say, engine=engine, dry_run=dry_run)
    else:
        from positionbias.experiments.step import Steps

        made = Steps(place, say, dry_run=dry_run)
    try:
        with ExitStack() as stack:
            if not dry_run:
                stack.enter_context(same_settings(place, record, overwrite=overwrite))
                stack.enter_context(engine.open())  # a Ray of this machine serves all steps
            results = runner_of(name)(*found, settings, made)
            if not dry_run:
                return reported(results, place)
    except KeyboardInterrupt as error:
        error.add_note(GO_ON)
        raise
    steps: Steps = made.steps if of.trains else made
    return StudyPlan(steps.plan(found[-1].name if found else getattr(settings, "collection", "")))


def _folder(place: Path) -> Path:
    """Return the folder of a study.

    Raises:
        SettingError: something else stands there.
    """
    if place.exists() and not place.is_dir():
        raise SettingError(
            f"--out: wanted a folder for the study; found {place}, a file; give another"
        )
    return place


def _places_in(settings: Any) -> Iterator[Path | str]:
    """Yield every file and folder that a study's settings name, those of its models included."""
    from positionbias.experiments.models import ModelSettings

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


@operation
def demo(
    *,
    seed: Seed = 1,
    workers: Annotated[
        int | None, replace(settings_of(Engine)["workers"], absent="2, or 1 on one core")
    ] = None,
    out: Annotated[
        Place,
        Setting("Where to write; an interrupted demo goes on.", metavar="DIR", place="written"),
    ] = "posbias-demo",
) -> Studied:
    """Plant a collection with a known bias, measure it, remove it, train on both, and show the
    difference.

    Needs no GPU, no download and under five minutes on two cores.

        posbias demo

    Returns:
        What was found.

    Raises:
        SettingError: a seed or a number of workers out of range.

    Example:
        >>> import positionbias as pb
        >>> found = pb.demo(workers=1, out="posbias-demo")
        >>> found.path, list(found.tables)[:3]
        (PosixPath('posbias-demo'), ['effectiveness', 'positions', 'answers'])
    """
    check_models("the demo's trainings")
    from positionbias.engine.threads import cores
    from positionbias.experiments.step import same_settings
    from positionbias.experiments.workspace import Workspace
    from positionbias.papers.position_bias.study import run_demo

    place = _folder(output_place(out))
    made = Workspace(place, say, engine=Engine(workers=workers or min(2, cores())))
    with same_settings(place, {"study": "demo", "settings": {"seed": seed}}):
        return replace(reported(run_demo(made, seed=seed), place), afterwards=_NEXT)


def reported(results: Path, place: Path) -> Studied:
    """Write the report and the tables of a study's results into its folder, and say where they
    are.
    """
    from positionbias.report.table import save_tables

    page = page_of(results, place / "report.html", overwrite=True)
    save_tables(page.tables, place / "tables", overwrite=True)
    say(
        f"\nwritten to {pasted(place)}\nreport: {pasted(page.path)}\ntables: "
        f"{pasted(place / 'tables')} (CSV and LaTeX)"
    )
    return Studied(place, page.tables, rows=page.rows)
