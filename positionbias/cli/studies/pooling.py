"""``posbias study pooling``: can test collections made by one kind of system judge another?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from positionbias.cli.common import Decorator, all_of, input_place, out_option
from positionbias.cli.settings_options import settings_options
from positionbias.cli.studies.common import Running, run_steps_options
from positionbias.pooling.settings import PoolSettings, ReliabilitySettings

__all__ = ["pooling"]

_options: Decorator = all_of(
    click.option(
        "--task", "tasks", multiple=True, required=True, nargs=4, metavar="NAME RUNS QRELS SYSTEMS",
        help="A folder of TREC runs, their judgements, and the table of run, group and kind; may be given again.",
    ),
    out_option(what="The study, a folder."),
    settings_options(PoolSettings, "depth", "pools"),
    settings_options(ReliabilitySettings, "measures"),
    settings_options(PoolSettings, "gold"),
    click.option(
        "--relevant-from", "levels", multiple=True, metavar="[TASK=]GRADE",
        help="The least grade of a relevant document, of every task or of one: 2 for the passages of TREC DL. [default: 1]",
    ),
    click.option("--deepest", type=click.IntRange(min=1, max=1_000), default=100, show_default=True, help="Where curves of what is found end."),
    click.option(
        "--relabel", type=click.FloatRange(min=0, max=1), default=0.1, show_default=True, metavar="SHARE",
        help="Of the runs, whose kind is changed at random, again and again; 0: not.",
    ),
    click.option("--repeats", type=click.IntRange(min=1), default=20, show_default=True, help="Of --relabel."),
    run_steps_options,
)  # fmt: skip


@click.command()
@_options
def pooling(
    tasks: Sequence[tuple[str, str, str, str]], running: Running, depth: int, pools: int, measures: tuple[str, ...], gold: str, levels: Sequence[str],
    deepest: int, relabel: float, repeats: int, seed: int,
) -> None:  # fmt: skip
    """Can test collections made by one kind of system judge another?

    For each task: what each kind of system finds; pools drawn from one kind, and how they judge the others; groups left out; deeper pools and
    more groups; wrong labels. The paper's tables and figures, with its own numbers where the task is its own.

    \b
      posbias study pooling --out pools --relevant-from passages=2 \\
          --task documents runs/doc qrels-doc.txt systems-doc.tsv \\
          --task passages runs/pass qrels-pass.txt systems-pass.tsv
    """  # fmt: skip
    from positionbias.studies.pooling import PoolingSettings, PoolingTask
    from positionbias.studies.pooling import pooling as run_study

    grades = _grades(levels, [name for name, *_ in tasks])
    settings = PoolingSettings(
        tasks=tuple(
            PoolingTask(name, input_place(runs), input_place(qrels), input_place(systems), grades[name])
            for name, runs, qrels, systems in tasks
        ),
        pools=PoolSettings(depth, pools, gold, seed),
        measures=measures,
        deepest=deepest,
        relabel=relabel,
        repeats=repeats,
    )
    running.run_steps(lambda steps: run_study(settings, steps), ", ".join(grades), "fewer --pools and --repeats take less")


def _grades(levels: Sequence[str], tasks: Sequence[str]) -> Mapping[str, int]:
    """By task the least grade of a relevant document; what is said of one task counts more than what is said of all."""
    from positionbias.core.errors import SettingError

    of_all, of_one = 1, {}
    for text in levels:
        task, equals, grade = text.rpartition("=")
        if not grade.isdecimal() or int(grade) < 1 or (equals and task not in tasks):
            wanted = f"GRADE or TASK=GRADE, a grade from 1 up, of {', '.join(tasks)}"
            raise SettingError(f"--relevant-from: wanted {wanted}; found {text!r}; write it so")
        if equals:
            of_one[task] = int(grade)
        else:
            of_all = int(grade)
    return {task: of_one.get(task, of_all) for task in tasks}
