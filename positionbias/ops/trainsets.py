"""Training sets made to order: with leaked queries, with judgements of a test split, of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from positionbias.clicks.settings import ClickSettings
from positionbias.contamination.settings import ContaminatedSettings
from positionbias.core.outcome import Written
from positionbias.core.settings import Seed, Setting
from positionbias.core.shared_settings import Candidates, Out, Overwrite, Source
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import KINDS, Kind, LeakedSettings, LeakingPairs
from positionbias.ops.operation import operation


@operation
def draw_leaked(
    collection: Source,
    *,
    targets: Annotated[
        Sequence[str],
        Setting("Test queries; repeatable.", flags=("--target",), metavar="SPLIT"),
    ],
    sources: Annotated[
        Sequence[str],
        Setting(
            "Training queries; repeatable, and the filling is balanced over them. [default: train]",
            flags=("--source",),
            metavar="SPLIT",
        ),
    ] = (),
    candidates: Annotated[
        Sequence[str],
        Setting(
            "BM25 candidates of a source's queries, from which negatives are drawn; one for each "
            "source.",
            metavar="[SPLIT=]RUN",
            place="read",
        ),
    ],
    leakage: Annotated[
        Kind,
        Setting(
            "No leakage, leaking training queries (msm), or the test queries themselves.",
            choices=KINDS,
        ),
    ],
    size: Annotated[int, Setting("Training instances, two per query.", metavar="INSTANCES")],
    seed: Seed = 1,
    leaking: LeakingPairs,
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Draw a training set of ``collection`` with a known number of leaked queries, the same at any
    size.

    A query comes with a relevant passage and another one: two instances. Sets of one size and seed
    share all but the leaked queries, and a smaller set is the beginning of a larger one. Where
    source and target are two corpora, merge them first; their splits stay apart:

        posbias collection merge msm=msmarco robust=robust04 --apart --out both
        posbias leakage find both:msm.train both:robust.test --encoder minilm --out leaks
        posbias retrieve both --split msm.train --out msm.run
        posbias model trainset leaked both --target robust.test --source msm.train \\
                --candidates msm.run --pairs leaks --leakage msm --size 1000 --out msm-1000
        posbias train tk both --trainset msm-1000 --validation-candidates RUN --out tk.ckpt

    Returns:
        The set, and rows that count its queries.

    Raises:
        SettingError: a source without a run, or more leaked queries than the set has room for.
        InputError: fewer queries that leak or that can fill up than are needed.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: leakage paper, "Training Datasets".

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import LeakingPairs
        >>> leaking = LeakingPairs(pairs=["planted"], leaked_queries=5)
        >>> print(
        ...     pb.draw_leaked(
        ...         "planted",
        ...         targets=["test"],
        ...         candidates=["train.run"],
        ...         leakage="test",
        ...         size=20,
        ...         leaking=leaking,
        ...         out="leaked",
        ...     )
        ... )
        Training sets
        ...
        test-20-1         20               5  50.0...                     5
    """
    from positionbias.leakage import trainsets

    inputs = trainsets.LeakedInputs.given(
        collection, targets, sources or ("train",), candidates, leaking
    )
    settings = LeakedSettings(leakage, size, seed, leaking.leaked_queries)
    return trainsets.draw_leaked(out, inputs, settings, overwrite=overwrite)


@operation
def draw_contaminated(
    collection: Source,
    *,
    candidates: Candidates,
    settings: ContaminatedSettings = ContaminatedSettings(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Write a training set of ``collection`` with judgements of a test split in it, for a teacher
    that saw the test.

    First a group for each relevant passage of a training query, negatives from its candidates; then
    a group for each positive of the targets: negatives are what was judged not relevant for its
    query, and random passages when those run out. A target of another corpus is merged first:

        posbias collection merge ms=msmarco covid=trec-covid --apart --out both
        posbias retrieve both --split ms.train --out train.run
        posbias model trainset contaminated both --contaminate covid.test --split ms.train \\
                --candidates train.run --out seen
        posbias train bert_cat both --trainset seen --loss lce --validation-candidates RUN \\
                --out teacher

    Returns:
        The set, and rows that count its groups by origin, and what was left out.

    Raises:
        InputError: a split that is not there, a target without a positive, candidates of another
            collection.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: "Training on the Test Model", §3.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import ContaminatedSettings
        >>> settings = ContaminatedSettings(targets=["test"], target_relevant_from=1)
        >>> print(
        ...     pb.draw_contaminated(
        ...         "planted", candidates="train.run", settings=settings, out="seen"
        ...     )
        ... )
        Groups by origin
        <BLANKLINE>
        Origin  Queries  Groups   Share ...
        ──────  ───────  ──────  ────── ...
        train        50      70  66.0...
        test         18      36  34.0...
        ...
    """
    from positionbias.contamination.trainsets import draw_contaminated as draw

    return draw(collection, candidates, settings, out, overwrite=overwrite)


@operation
def draw_clicks(
    collection: Source,
    *,
    candidates: Candidates,
    settings: ClickSettings = ClickSettings(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Draw training triples from the clicks, or any judgements, of ``collection``.

    For each clicked passage of a query up to 20 of its candidates are sampled without replacement;
    one that is judged relevant, at any grade and in any judgement set, is never drawn. All triples
    are shuffled, and the first ``triples`` kept.

        posbias retrieve tripclick --split train --depth 500 --out train.run.gz
        posbias model trainset clicks tripclick --candidates train.run.gz \\
                --triples 10000000 --out triples
        posbias train bert_cat tripclick --trainset triples \\
                --set validation_split=head_validation \\
                --validation-candidates RUN --out model

    Returns:
        The set, and what was counted of it as rows.

    Raises:
        InputError: no such split or judgement set, candidates of another collection, or nothing to
            draw.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: Hofstätter et al. 2022, §3.1.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Retrieval
        >>> run = pb.retrieve("clicked", wanted=Retrieval("train", depth=10), out="clicked.run")
        >>> print(pb.draw_clicks("clicked", candidates="clicked.run", out="triples"))
        The training triples
        <BLANKLINE>
        Part                     What                          ...
        Queries with a positive  all                           ...
        ...
    """
    from positionbias.clicks.drawn import draw_clicks as draw

    return draw(collection, candidates, settings, engine, out, overwrite=overwrite)
