"""Tests of whether a test collection can judge systems that did not help to make it."""

from __future__ import annotations

from typing import Annotated

from positionbias.core.outcome import Measurements, refuse_outputs, save_if_asked
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Overwrite, SavedTo
from positionbias.ops.operation import operation
from positionbias.pooling.settings import CoverageSettings, PoolSettings, VerdictSettings

Runs = Annotated[Place, Setting("A folder of TREC runs, plain or .gz.", place="read")]
Qrels = Annotated[Place, Setting("Their judgements.", place="read")]
SYSTEMS = Setting(
    "Tab-separated lines of run, group and kind, the first naming the columns; others may follow.",
    metavar="FILE",
    place="read",
)


@operation
def pool_coverage(
    runs: Runs,
    qrels: Qrels,
    *,
    systems: Annotated[Place, SYSTEMS],
    settings: CoverageSettings = CoverageSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Count the relevant documents that each kind of system puts into a pool, at each depth: in
    all, and those that no other kind puts there.

    ``runs`` is a folder of TREC runs, plain or .gz; ``qrels`` their judgements. Only judged
    documents can count, so a curve is understated where it goes deeper than the pool that was
    judged; and a kind with more runs finds more.

        posbias pool coverage runs/ qrels.txt --systems systems.tsv --out covered

    Returns:
        What the collection consists of; a curve for each kind.

    Raises:
        InputError: a file is malformed, or runs, judgements and systems do not belong together.

    Source: test-collection paper (Yilmaz et al. 2020), Figure 1.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_coverage("runs", "qrels.txt", systems="systems.tsv"))
        Relevant documents in pools of depth 10: of traditional runs 69, 38 of them ... of neural
        runs 79, 48 of them in no other.
        <BLANKLINE>
        Runs, groups and judgements
        ...
        Relevant documents by pool depth
        <BLANKLINE>
        Pool depth  traditional in its pool  traditional in no other ...
        ...
    """
    from positionbias.pooling.measured import measure_coverage

    refuse_outputs(out, overwrite=overwrite)
    measured = measure_coverage(runs, qrels, systems, settings)
    return save_if_asked(measured, out, overwrite=overwrite)


@operation
def pool_reliability(
    runs: Runs,
    qrels: Qrels,
    *,
    systems: Annotated[Place, SYSTEMS],
    settings: PoolSettings = PoolSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Make pools from half of the groups of one kind, and see how they judge systems of each kind.

    ``runs`` is a folder of TREC runs, plain or .gz; ``qrels`` their judgements. Every run is scored
    by the gold judgements and by those of each pool; test systems are those of no drawn group.
    Printed is first whether a kind is judged worse than any groups would be: kinds are permuted
    among groups 2,000 times, which says how often that answer is a false alarm. Then Kendall's tau
    between the two orders and the change of scores: the paper's Tables 1 and 2.

        posbias pool reliability runs/ qrels.txt --systems systems.tsv --pools 100 --out pools

    Returns:
        What the collection consists of; the effects of kinds with their error rates; by pools, test
        systems and measure the order and the change of score.

    Raises:
        InputError: a file is malformed, runs, judgements and systems do not belong together, or
            there are fewer than two kinds.
        SettingError: a measure other than nDCG@k, RR and P@k.

    Source: test-collection paper (Yilmaz et al. 2020), §3 and Tables 1 and 2.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_reliability("runs", "qrels.txt", systems="systems.tsv"))
        Cannot tell whether pools of one kind judge the other as they judge their own (of 8 tests, 0
        worse, 0 better, 0 within 0.03, 8 cannot tell).
        ...
    """
    from positionbias.pooling.measured import measure_reliability

    refuse_outputs(out, overwrite=overwrite)
    measured = measure_reliability(runs, qrels, systems, settings)
    return save_if_asked(measured, out, overwrite=overwrite)


@operation
def pool_verdict(
    run: Annotated[Place, Setting("The new run, in TREC form.", place="read")],
    qrels: Qrels,
    *,
    pool_runs: Annotated[
        Place | None,
        Setting(
            "The runs that the judged pool was made from, a folder: needed for a prediction.",
            metavar="DIR",
            place="read",
        ),
    ] = None,
    systems: Annotated[Place | None, SYSTEMS] = None,
    settings: VerdictSettings = VerdictSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Judge whether the collection of ``qrels`` can score ``run``, which did not help to make it.

    With ``pool_runs``: the score that the run would have, had it taken part in the pool, with a
    prediction interval that is calibrated by leaving the pooled groups out in turn; and the
    probability that it is better than each pooled run. Beside it stand bounds that hold whatever
    the unjudged documents are. Without: these bounds alone. ``systems`` tells which runs are of one
    group; without it each is a group of its own, and error rates are too optimistic.

        posbias pool verdict new.run qrels.txt --pool-runs runs/ --systems systems.tsv

    Returns:
        The unjudged share; by each measure the score with the answer, and the lead over each pooled
        run.

    Raises:
        InputError: a file is malformed, or runs, judgements and systems do not belong together.
        SettingError: a measure other than nDCG@k, RR and P@k.

    Example:
        >>> import positionbias as pb
        >>> print(pb.pool_verdict("new.run", "pool.txt", pool_runs="runs", systems="systems.tsv"))
        new cannot be judged yet by nDCG@10.
        70.0... of its first 10 are unjudged: 0.306 by the judged documents, 0.302 to 0.989 ...
        ...
    """
    from positionbias.pooling.measured import measure_verdict

    refuse_outputs(out, overwrite=overwrite)
    measured = measure_verdict(run, qrels, pool_runs, systems, settings)
    return save_if_asked(measured, out, overwrite=overwrite)
