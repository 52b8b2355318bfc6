"""Train–test overlap of passages and queries, at corpus scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Measurements, refuse_outputs
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.overlap.settings import OverlapSettings

if TYPE_CHECKING:
    pass


@operation
def overlap_leakage(
    training: Annotated[
        Sequence[CollectionLike],
        Setting("Training sets.", metavar="[NAME=]COLLECTION[:SPLIT]...", place="read"),
    ],
    *,
    tests: Annotated[
        Sequence[CollectionLike],
        Setting(
            "A test set; repeatable.",
            flags=("--test",),
            metavar="[NAME=]COLLECTION[:SPLIT]",
            place="read",
        ),
    ] = (),
    settings: OverlapSettings = OverlapSettings(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Measurements:
    """Find passages and queries of test sets in training sets.

    Texts are compared without case and punctuation: the same words (exact), and shared runs of 13
    words (ngram). How many of the pairs are right, only a labelled sample says. In a test set with
    judgements its relevant passages are compared, in a training set those that judgements name. A
    passage in a corpus that both sides share is not its own copy, and is counted apart. Files and
    folders of other forms are imported first (posbias import).

        posbias leakage overlap msmarco --test msmarco:dl19 --test msmarco:dl20 --out overlap
        posbias leakage label overlap/pairs/msmarco.dl19.passages.jsonl \\
                --score of_test --above 0 --out sheet.tsv
        posbias leakage label sheet.tsv --score of_test

    Returns:
        Rows: the share of test queries that are found, by test set, unit, detector and training
        set. The pairs stand in ``out``, a file pairs/TEST.UNIT.jsonl each.

    Raises:
        SettingError: no test set, or two sets of a side with one name.
        InputError: no collection.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.overlap_leakage(["planted:train"], tests=["planted:test"], out="overlap"))
        0 of 18 queries of planted.test (0.0%) have a relevant passage in planted.train.
        0 of 18 queries of planted.test (0.0%) are in planted.train.
        ...
    """
    from positionbias.overlap.command import overlap_leakage as find

    refuse_outputs(out, overwrite=overwrite)
    return find(training, tests, settings, engine, out, overwrite=overwrite)
