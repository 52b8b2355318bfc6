"""A paper's study on your collection, end to end, and the demo, which is one in miniature."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.errors import check_models
from positionbias.core.inputs import CollectionLike
from positionbias.core.places import Place
from positionbias.core.settings import Seed, Setting, settings_of
from positionbias.core.shared_settings import Out, Overwrite
from positionbias.engine.choose import Engine
from positionbias.ops.operation import operation
from positionbias.papers import command_of

if TYPE_CHECKING:
    from positionbias.papers.run import Studied, StudyPlan


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
    out: Out,
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
    from positionbias.papers.run import run_study

    command = command_of(name)
    if command.trains and not dry_run:
        check_models("the study's models")
    return run_study(
        name, collections, settings, Path(out), engine, dry_run=dry_run, overwrite=overwrite
    )


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
    from positionbias.papers.run import run_demo

    return run_demo(seed, workers, Path(out))
