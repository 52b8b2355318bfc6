"""Collections and training sets without what leaks: queries, passages or training groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import Detector, Encoder
from positionbias.overlap.settings import CountedPairs, Removing

if TYPE_CHECKING:
    from positionbias.overlap.clean import Cleaned


@operation
def clean_leakage(
    collection: Annotated[
        CollectionLike,
        Setting(
            "A collection or training set, its folder, or its name under $POSBIAS_HOME.",
            metavar="COLLECTION",
            place="read",
        ),
    ],
    *,
    against: Annotated[
        CollectionLike | None,
        Setting(
            "Look for leaks of these queries, as posbias leakage find does.",
            metavar="TEST_QUERIES",
            place="read",
        ),
    ] = None,
    counted: CountedPairs = CountedPairs(),
    removing: Removing = Removing(),
    split: Annotated[
        str | None,
        Setting(
            "Whose queries leak; the other splits stay as they are.",
            metavar="SPLIT",
            absent="train, or that of --pairs",
        ),
    ] = None,
    detector: Annotated[
        Detector | None, Setting("With --against, what looks.", absent="both")
    ] = None,
    encoder: Encoder = Encoder(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Cleaned:
    """Write ``collection`` without what leaks: by default the training queries that near-duplicate
    test queries, their judgements and answers.

    A labelled pair counts as its label says. One without a label counts where it was found by
    meaning; one found by words alone is counted and stays, unless ``lexical``. Passages and other
    splits stay. What was removed, and why, stands in the new collection as left_out/SPLIT.jsonl.

    With the folder of posbias leakage overlap, passages or queries go, of the training or the test
    side; a passage goes with its judgements and answers of all splits. Of training groups those go
    that have one of them.

        posbias leakage clean msmarco --against topics.txt --encoder minilm --out msmarco-clean
        posbias leakage clean msmarco --pairs overlap --remove passages --out msmarco-clean
        posbias leakage clean nq --pairs overlap --side test --out nq-clean

    Returns:
        The collection without them, and rows of what was removed.

    Raises:
        SettingError: neither or both of ``against`` and ``pairs``, or what goes with the other one.
        InputError: pairs of several sources, or a split of which nothing would be left.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import CountedPairs
        >>> print(
        ...     pb.clean_leakage(
        ...         "planted", counted=CountedPairs(pairs="planted"), out="planted-clean"
        ...     )
        ... )
        planted-clean: removed 20 of 50 train queries (40.00%).
        ...
    """
    from positionbias.overlap import clean

    cleaning = clean.Cleaning(counted, removing, split, against, detector, encoder)
    return clean.clean_leakage(collection, cleaning, engine, out, overwrite=overwrite)
