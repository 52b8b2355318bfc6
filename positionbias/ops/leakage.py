"""Training queries that near-duplicate test queries: found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation, settings_parameters
from positionbias.core.outcome import Measurements, refuse_outputs
from positionbias.core.places import Place
from positionbias.core.settings import Setting, refuse_idle
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import Encoder, FindSettings

if TYPE_CHECKING:
    pass

_SEMANTIC = tuple(
    one.of.flag(one.name) for kind in (Encoder, Engine) for one in settings_parameters(kind, "")
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
