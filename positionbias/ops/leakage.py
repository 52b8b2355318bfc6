"""Training queries and passages like those of tests: found, labelled, removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, refuse_outputs
from positionbias.core.places import Place, input_place
from positionbias.core.settings import Setting, refuse_idle
from positionbias.core.shared_settings import Out, Overwrite
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import DETECTOR, Detector, Encoder, FindSettings, SampleSettings
from positionbias.ops.operation import operation, settings_parameters
from positionbias.overlap.settings import CountedPairs, OverlapSettings, Removing

if TYPE_CHECKING:
    from positionbias.overlap.clean import Cleaned


_SEMANTIC = tuple(
    parameter.setting.flag(parameter.name)
    for kind in (Encoder, Engine)
    for parameter in settings_parameters(kind, "")
)  # options of one detector alone


@operation
def find_leakage(
    queries: Annotated[
        Sequence[CollectionLike],
        Setting(
            "Files of queries, or collections.",
            metavar="[TRAIN_QUERIES]... TEST_QUERIES",
            place="read",
        ),
    ] = (),
    *,
    sources: Annotated[
        Sequence[str],
        Setting(
            "Training queries under a name of their own; repeatable. Sources are counted "
            "apart and together.",
            flags=("--source",),
            metavar="NAME=PLACE",
            place="read",
        ),
    ] = (),
    variants: Annotated[
        Place | None,
        Setting(
            "Variants of the test queries, a field of their own: lines of query id, tab, text.",
            metavar="FILE",
            place="read",
            shown=True,
        ),
    ] = None,
    settings: FindSettings = FindSettings(),
    encoder: Encoder = Encoder(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Measurements:
    """Find training queries that near-duplicate test queries, by meaning and by words.

    Queries are a collection's split (NAME:SPLIT), a file of lines (id, tab, text), or TREC topics,
    whose title, description and narrative are looked by apart; the test queries come last. What is
    found are candidates. How many by meaning are right, labelled pairs tell (posbias leakage
    calibrate); how many by words alone, nobody knows before a review. By default
    sentence-transformers/paraphrase-MiniLM-L6-v2 encodes, as in the paper.

        posbias leakage find queries.train.tsv topics.robust04.txt --encoder minilm --out leaks
        posbias leakage find --source msmarco=msmarco:train --source orcas=orcas.tsv topics.txt \\
                --set variants=variants.tsv --out leaks

    Returns:
        Table 1 of the leakage paper, by meaning and by words alone. The pairs stand in ``out`` as
        pairs.jsonl.

    Raises:
        SettingError: no training or no test queries, or no threshold for an encoder whose cosines
            nobody has labelled.
        InputError: queries that cannot be read.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, §3 and Table 1.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import FindSettings
        >>> print(
        ...     pb.find_leakage(
        ...         ["planted:train", "planted:test"],
        ...         settings=FindSettings("lexical"),
        ...         out="pairs",
        ...     )
        ... )
        10 of 18 test queries (55.6%) have candidates found by words alone: precision unknown; label
        them (posbias leakage label).
        <BLANKLINE>
        Training queries like test queries: candidates by words alone
        ...
    """
    from positionbias.leakage import near_duplicates

    if settings.detector == "lexical":
        wanted = "--detector semantic or both, which it is for"
        refuse_idle(_SEMANTIC, wanted=wanted, found="--detector lexical")
    refuse_outputs(out, overwrite=overwrite)
    sides = near_duplicates.Sides.given(queries, sources, variants)
    return near_duplicates.find_leakage(sides, settings, encoder, engine, out, overwrite=overwrite)


COMMAND = "leakage label"
DRAWING = ("--sample-size", "--above", "--strata", "--seed", "--per-test", "--overwrite")
READING = ("--least-precision", "--rule", "--apply")


@operation
def label_pairs(
    pairs: Annotated[
        Sequence[Place],
        Setting("What find wrote, a folder, or files of pairs.", metavar="PAIRS…", place="read"),
    ],
    *,
    labels: Annotated[
        Place | None,
        Setting(
            "Labels of these pairs, a filled sheet.",
            metavar="FILE",
            place="read",
            absent="those in PAIRS",
        ),
    ] = None,
    settings: SampleSettings = SampleSettings(),
    per_test: Annotated[
        int | None,
        Setting(
            "Draw the N most similar pairs of each test query instead of a sample.",
            least=1,
            metavar="N",
        ),
    ] = None,
    least_precision: Annotated[
        float, Setting("The share of leaks at or above the threshold.", above=0, most=1)
    ] = 0.9,
    rule: Annotated[
        str,
        Setting(
            "What must reach it: the lower 95 % bound of the precision, or as in the paper the "
            "precision of these pairs.",
            choices=("bound", "paper"),
            shown=False,
        ),
    ] = "bound",
    apply: Annotated[
        float | None,
        Setting("Measure this threshold beside the calibrated one.", metavar="THRESHOLD"),
    ] = None,
    out: Annotated[
        Place | None,
        Setting(
            "Write a sheet to label here, a TSV file with an empty column for labels.",
            metavar="FILE",
            place="written",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> Measurements | None:
    """Draw PAIRS to label, with ``out``; without it, say what their labels tell: how many are
    leaks, of which types, and from which score on pairs surely leak.

    A sample is stratified by score, and each drawn pair keeps the number of pairs that it stands
    for, so let posbias leakage find keep pairs down to ``above``. A filled sheet also does as pairs
    for posbias leakage clean and evaluate.

        posbias leakage label leaks --out sheet.tsv
        posbias leakage label leaks --labels sheet.tsv
        posbias leakage label annotated.jsonl --apply 0.91

    The threshold is the lowest with a precision of surely ``least_precision``: the lower 95 % bound
    reaches it, over test queries, whose pairs are alike. Several files count as one.

    Returns:
        With ``out`` how many pairs there are in each stratum, and how many were drawn, None with
        ``per_test``. Else Tables 2a and 2b of the leakage paper, the prevalence, the threshold
        (NaN where no score will do), and the precision there and at ``apply``.

    Raises:
        SettingError: both ``labels`` and ``out``.
        InputError: a pair without the score, none at or above ``above``, no labelled pair, or
            labels of other pairs.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, §3 and Table 2.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import SampleSettings
        >>> ten = SampleSettings(sample_size=10, strata=2)
        >>> print(pb.label_pairs(["labelled.tsv"], settings=ten, out="sheet.tsv"))
        Pairs to label, by score
        ...
        cosine  0.800 to 0.900     10      5
                0.900 to 1.000     11      5
        >>> print(pb.label_pairs(["labelled.tsv"]))
        cosine: from 0.6100 on, the precision is at least 0.9 with 95 % confidence.
        ...
    """
    from positionbias.leakage.labels import draw_pairs, read_labelled

    places = [input_place(place) for place in pairs]
    if out is not None:
        if labels is not None:
            raise SettingError(
                f"{COMMAND}: wanted --out, to draw pairs, or --labels, to read what people said; "
                "found both; give one of them"
            )
        refuse_idle(READING, wanted="no --out, which draws pairs", found="it")
        return draw_pairs(places, settings, per_test, out, overwrite=overwrite)
    refuse_idle(DRAWING, wanted="--out, which draws pairs", found="none")
    rules = {"precision": least_precision, "rule": rule, "given": apply}
    return read_labelled(
        places, None if labels is None else input_place(labels), settings.score, rules
    )


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
    detector: Annotated[Detector | None, DETECTOR] = None,
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
