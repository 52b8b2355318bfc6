"""Runs measured and compared, and several runs as one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike, QrelsLike, RunLike
from positionbias.core.outcome import Measurements, refuse_outputs, save_if_asked
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite, SavedTo
from positionbias.evaluation.fusing import Fusing
from positionbias.evaluation.settings import Measuring
from positionbias.ops.operation import operation
from positionbias.overlap.settings import UNITS

if TYPE_CHECKING:
    from positionbias.evaluation.fusion import Fused

_RUNS = Setting("Runs in TREC form, plain or .gz.", metavar="RUN…", place="read")


@operation
def evaluate(
    runs: Annotated[Sequence[RunLike], _RUNS],
    *,
    collection: Annotated[
        CollectionLike | None, Setting("Whose judgements to use.", place="read")
    ] = None,
    qrels: Annotated[
        QrelsLike | None,
        Setting(
            "Judgements in TREC form, instead of a collection's.", metavar="FILE", place="read"
        ),
    ] = None,
    measuring: Measuring = Measuring(),
    leaked: Annotated[
        Place | None,
        Setting(
            "Measure apart the queries that leak: what posbias leakage find or overlap wrote, or a "
            "labelled sheet.",
            metavar="DIR|FILE",
            place="read",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        Setting(
            "With --leaked, what of a query is in training: its text, or a relevant passage.",
            choices=UNITS,
            absent="queries",
            shown=False,
        ),
    ] = None,
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Measure each run (TREC form, plain or .gz) against judgements; compare each further run with
    the first.

    Means are over all judged queries; one without candidates counts 0. Queries with the same single
    relevant passage are one cluster. Intervals are over clusters: percentile bootstrap, or t by the
    jackknife for 30 clusters and fewer. p is two-sided, by sign flips of clusters, corrected by
    Holm and Bonferroni for the number of runs compared with the first on a measure. Wilcoxon and t
    take queries one by one, as papers print them. nDCG's gain is linear in the grade.

    J@k (Judged@k in JSON), for each cutoff k of the measures, is the share of a run's first k that
    have a judgement; what has none counts as not relevant. A query without candidates counts 0 in
    it, as in the measures.

    With ``leaked``, each measure also on leaked and on clean queries, and their difference. A query
    is leaked where a pair names it that no person labelled as of a different topic; with the folder
    of posbias leakage overlap, by its text or a relevant passage (--unit). Whether leakage
    changes the order of the runs comes first: Kendall's tau between leaked and clean queries, with
    its p against random splits of the same sizes and difficulty.

        posbias evaluate bm25.run tk.run --collection squad -m nDCG@10
        posbias evaluate bm25.run tk.run --qrels qrels.txt --out compared

    Returns:
        Rows: the mean of each run and measure, the difference of each further run from the first,
        J@k, leaked and clean queries; and the values by query.

    Raises:
        SettingError: neither or both of ``collection`` and ``qrels``, or an unknown measure.
        InputError: a run given twice, of other queries or passages than the collection's, or
            without judged queries.

    Example:
        >>> import positionbias as pb
        >>> print(pb.evaluate(["test.run"], collection="planted"))
        bm25: nDCG@10 0.814...[0.735,...0.893] over 18 queries; give a second run to compare...
        <BLANKLINE>
        Run           nDCG@10            RR@10             R@10             J@10
        ────  ───────────────  ───────────────  ───────────────  ───────────────
        bm25  0.8137...0.0791  0.7778...0.1450  1.0000...0.1667  0.7037...0.0355
        <BLANKLINE>
        95...intervals are over clusters of queries, those with the same single relevant passage.
        ± is the larger side...
        >>> from positionbias.settings import Measuring
        >>> run, qrels = pb.Run({"q1": {"p1": 2.0, "p2": 1.0}}), pb.Qrels({"q1": {"p2": 1}})
        >>> print(pb.evaluate([run], qrels=qrels, measuring=Measuring(measures=["RR"])))
        run: RR 0.500 over 1 query; give a second run to compare with it.
        ...
    """
    from positionbias.evaluation import compared
    from positionbias.overlap.find import leaked_of

    if leaked is None and unit is not None:
        raise SettingError(
            "--unit: wanted --leaked beside it; found none; give the folder of posbias leakage "
            "overlap"
        )
    refuse_outputs(out, overwrite=overwrite)
    judged = compared.Judged.of(collection, qrels, measuring)
    find = None if leaked is None else partial(leaked_of, leaked, unit)
    measured = compared.evaluate(runs, judged, measuring, find)
    return save_if_asked(measured, out, overwrite=overwrite)


@operation
def ensemble(
    runs: Annotated[Sequence[Place], _RUNS],
    *,
    fusing: Fusing = Fusing(),
    name: Annotated[str, Setting("The run's tag.")] = "ensemble",
    out: Out,
    overwrite: Overwrite = False,
) -> Fused:
    """Write several runs over the same queries and collection as one.

    A passage that a run lacks for a query gets the least of the run's z-scores, or no reciprocal
    rank; how many these are is said. Of a re-ranked run z-scores take what its model scored, down
    to the depth in its manifest; reciprocal ranks take every rank.

        posbias model ensemble bm25.run dense.run --out both.run
        posbias model ensemble bm25.run dense.run --by reciprocal-ranks --out both.run

    Returns:
        The run, and what each of the runs lacks.

    Raises:
        SettingError: fewer than two runs, or one given twice.
        InputError: runs of other queries, passages or collections than the first.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> reranked = pb.rerank("planted", model="tk.ckpt", candidates="test.run", out="tk.run")
        >>> pb.ensemble(["test.run", "tk.run"], out="both.run").run
        Run('ensemble', 18 queries, 108 pairs)
    """
    from positionbias.evaluation.fusion import fuse_runs

    return fuse_runs(runs, out, fusing, name=name, overwrite=overwrite)
