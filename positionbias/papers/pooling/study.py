"""Run the study of pools: can collections made by one kind of system judge another (test-collection
paper, §3)?

For each task: runs and judgements → documents found by each kind → pools of one kind against the
gold → the effect of kind, by permuted kinds. There are no models, and nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas
from pandas import DataFrame

from positionbias.core import rows
from positionbias.core.files import sha256_file
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.qrels import Qrels
from positionbias.core.records import Qrel
from positionbias.evaluation.judged_runs import System, judge_runs, kinds_of, pool_measures
from positionbias.experiments.step import Steps
from positionbias.papers.pooling.settings import PoolingSettings, PoolingTask
from positionbias.pooling.kinds import add_kinds
from positionbias.pooling.measured import find_runs, read_runs, runs_checksum
from positionbias.pooling.pools import (
    NOTES,
    add_counts,
    add_coverage,
    add_reliability,
    pool_kinds,
    pool_rows,
)
from positionbias.pooling.settings import PoolSettings

PUBLISHED = Path(__file__).with_name("published.csv")
DOCUMENTS, PASSAGES = "TREC DL 2019 documents", "TREC DL 2019 passages"
# the judged topics of the TREC 2019 Deep Learning Track, the same for both tasks
TOPICS = frozenset(
    (
        "19335 47923 87181 87452 104861 130510 131843 146187 148538 156493 168216 182539 183378 "
        "207786 264014 359349 405717 443396 451602 489204 490595 527433 573724 833860 855410 "
        "915593 962179 1037798 1063750 1103812 1106007 1110199 1112341 1113437 1114646 1114819 "
        "1115776 1117099 1121402 1121709 1124210 1129237 1133167"
    ).split()
)


def paper_task(qrels: Sequence[Qrel], kinds: Sequence[str], settings: PoolSettings) -> str:
    """Return the paper's task; "" where topics, kinds or pools are others.

    The track's document ids are D and a number, its passage ids a number [decision]; both tasks
    have the same topics.
    """
    same = {qrel.query_id for qrel in qrels} == TOPICS
    same = same and set(kinds) == {"traditional", "neural"}
    if not same or (settings.depth, settings.gold) != (10, "pool"):
        return ""
    ids = [qrel.passage_id for qrel in qrels]
    if all(one.isdecimal() for one in ids):
        return PASSAGES
    return DOCUMENTS if all(one[:1] == "D" and one[1:].isdecimal() for one in ids) else ""


def run_study(settings: PoolingSettings, steps: Steps) -> Path:
    """Run the study in the folder of ``steps``; return the folder of its results.

    Raises:
        InputError: runs, judgements or a table of systems that are missing, malformed or do not fit
            together, or fewer than two kinds.
    """
    place = steps.folder / "results"
    runs, inputs = {}, []
    for task in settings.tasks:  # all are checked before the first is read
        runs[task] = find_runs(task.runs, task.systems)
        pool_kinds(list(runs[task]))
        checksums = [runs_checksum(runs[task]), *map(sha256_file, (task.qrels, task.systems))]
        for role, path, checksum in zip(task._fields[1:], task[1:], checksums, strict=True):
            inputs.append(input_ref(f"{task.name}/{role}", path, checksum, artefact=place))

    def make() -> None:
        measured = [_measured(task, files, settings.pools) for task, files in runs.items()]
        every = pandas.concat(measured, ignore_index=True)
        every["row"] = np.arange(len(every), dtype=np.int32)
        manifest = Manifest(
            kind="results",
            name=f"Pools: {settings.collection}",
            command="study pooling",
            settings={"study": settings.record()},
            seed=settings.pools.seed,
            inputs=tuple(inputs),
            notes=NOTES,
            versions=package_versions("numpy", "scipy"),
            provenance=provenance(),
        )
        rows.save(place, every, manifest, overwrite=True)

    by_role = {one.role: one.checksum for one in inputs}
    return steps.make("measure", place, settings.record(), by_role, make)


def _measured(task: PoolingTask, files: Mapping[System, Path], settings: PoolSettings) -> DataFrame:
    """Return the rows of a task, with the paper's of its own."""
    made, level = pool_rows(task.name), settings.relevant_from
    qrels, measures = Qrels.from_file(task.qrels), pool_measures(settings.measures, level)
    runs = judge_runs(read_runs(files), qrels)
    add_counts(made, runs, level)
    add_coverage(made, runs, settings.depth, level)
    add_reliability(made, runs, measures, settings)
    add_kinds(made, runs, measures, settings)
    of_paper = paper_task(qrels, kinds_of(runs.systems), settings)
    for cell in rows.printed_cells(PUBLISHED):
        if cell.pop("collection") == of_paper:
            made.add(**cell)
    return made.rows
