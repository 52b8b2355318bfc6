"""Collections and training sets without what leaks: queries, passages, judgements, or training
groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting, given_flags, setting
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import Detector, FindSettings, NearestSettings
from positionbias.ops.leakage import at_threshold, open_semantic, search_record
from positionbias.ops.outcome import Printed, Read, refuse_outputs
from positionbias.ops.query_encoder import Encoder, say_kept
from positionbias.overlap.removing import Removing

if TYPE_CHECKING:
    from pathlib import Path

    from positionbias.core.collection import Collection
    from positionbias.core.groups import Groups
    from positionbias.leakage.leaks import Leaks
    from positionbias.results.leakage_pairs import QueriesRemoved
    from positionbias.results.overlap_removed import LeaksRemoved
    from positionbias.results.result import Result

__all__ = ["Cleaned", "CountedPairs", "clean_leakage"]


@dataclass(frozen=True, slots=True)
class CountedPairs:
    """Rules for the pairs that count as leaks."""

    pairs: Place | None = setting(
        None,
        "Or take these pairs: what find or overlap wrote, or a labelled sheet.",
        metavar="DIR|FILE",
        place="read",
    )
    threshold: float | None = setting(
        None,
        "The cosine from which a pair without a label counts.",
        metavar="SCORE",
        absent="with --against the encoder's own; with --pairs, all found by meaning",
    )
    source: str | None = setting(
        None, "Of --pairs of several sources, the one that COLLECTION is.", metavar="NAME"
    )
    lexical: bool = setting(
        False,
        "Remove what was found by words alone, too: candidates whose precision nobody has "
        "measured.",
    )


@dataclass(frozen=True, slots=True, repr=False)
class Cleaned(Printed):
    """A collection or training set without what leaks, and what was removed."""

    collection: Collection | Groups
    removed: QueriesRemoved | LeaksRemoved

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.collection.path

    @property
    def results(self) -> Sequence[Result]:
        """Return one result, whose value is the share that was removed."""
        from positionbias.results.leakage_pairs import TAKEN_OUT, QueriesRemoved
        from positionbias.results.overlap_removed import REMOVED
        from positionbias.results.result import Result

        removed = self.removed
        measure, total = (
            (TAKEN_OUT, removed.queries)
            if isinstance(removed, QueriesRemoved)
            else (REMOVED, removed.total)
        )
        share = removed.left_out / total if total else 0.0
        result = Result(
            measure, self.collection.name, removed.split, "clean", None, share, None, total, removed
        )
        return [result]


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

    With the folder of posbias leakage overlap, passages, queries or judgements go, of the training
    or the test side; a passage goes with its judgements and answers of all splits. Of training
    groups those go that have one of them. left_out/CONTAMINATION.md says what went, and why.

        posbias leakage clean msmarco --against topics.txt --encoder minilm --out msmarco-clean
        posbias leakage clean msmarco --pairs overlap --remove passages --out msmarco-clean
        posbias leakage clean nq --pairs overlap --side test --remove queries --unit pairs \\
                --out nq-clean

    Returns:
        The collection without them, and what was removed.

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
        planted-clean: removed 20 of 50 train queries (40.00%)
          kept: 30
        ...
    """
    from positionbias.ops.overlap_clean import remove_overlap
    from positionbias.overlap.folder import is_overlap

    _check_asked(against, counted, removing, detector, encoder)
    refuse_outputs(out, removing.sheet, overwrite=overwrite)
    if counted.pairs is not None and (removing.asked or is_overlap(counted.pairs)):
        made = remove_overlap(
            collection,
            counted.pairs,
            counted.source,
            removing,
            split,
            engine,
            out,
            overwrite=overwrite,
        )
        return Cleaned(*made)
    return _without_queries(
        collection, against, counted, split or "train", detector, encoder, out, overwrite=overwrite
    )


def _check_asked(
    against: CollectionLike | None,
    counted: CountedPairs,
    removing: Removing,
    detector: Detector | None,
    encoder: Encoder,
) -> None:
    """Refuse options that do not go together."""
    from positionbias.overlap.folder import is_overlap

    if (against is None) == (counted.pairs is None):
        raise SettingError(
            "leakage clean: wanted --against or --pairs; found "
            + ("neither" if against is None else "both")
        )
    overlap = counted.pairs is not None and is_overlap(counted.pairs)
    for flag, given in (("--detector", detector), ("--encoder", encoder.encoder)):
        if against is None and given:
            raise SettingError(
                f"{flag}: wanted with --against, where pairs are looked for; found --pairs; drop "
                "one"
            )
    if detector == "lexical" and not counted.lexical:
        raise SettingError(
            "--detector lexical: wanted --lexical with it, as words alone find candidates of "
            "unknown precision; found none; add it, or label the pairs first (posbias leakage find "
            "and review) and give --pairs"
        )
    if against is not None and counted.source:
        raise SettingError(
            "--source: wanted with --pairs of several sources; found --against; drop it"
        )
    if idle_flag := next(given_flags(removing), None) if against is not None else None:
        raise SettingError(
            f"{idle_flag}: wanted with --pairs, which posbias leakage overlap writes; found "
            "--against; drop one"
        )
    if overlap or (counted.pairs is not None and removing.asked):
        for flag in [
            one
            for one, given in (
                ("--threshold", counted.threshold is not None),
                ("--lexical", counted.lexical),
            )
            if given
        ]:
            raise SettingError(
                f"{flag}: wanted with pairs of posbias leakage find; found overlapping pairs; "
                "leave it out"
            )


def _without_queries(
    collection: CollectionLike,
    against: CollectionLike | None,
    counted: CountedPairs,
    split: str,
    detector: Detector | None,
    encoder: Encoder,
    out: Place,
    *,
    overwrite: bool,
) -> Cleaned:
    """Remove training queries because of pairs of queries."""
    from positionbias.core.collection import find_collection
    from positionbias.core.manifest import input_ref
    from positionbias.corpora.left_out import LeftOut, Removed
    from positionbias.corpora.without import without
    from positionbias.leakage.leaks import removed_figures

    place, opened = output_place(out), find_collection(collection)
    if against is None:
        found, settings, read = _leaks_of_pairs(counted)
    else:
        found, settings, read = _leaks_against(
            opened, split, against, detector or "both", encoder, counted
        )
    why = (
        f"Queries of split {split!r} that near-duplicate test queries were removed; {split}.jsonl "
        "in left_out says which and why."
    )
    inputs = [input_ref(item.role, item.path, item.checksum, artefact=place) for item in read]
    reasons = {Removed(query_id): of for query_id, of in found.reasons.items()}
    left_out = LeftOut(split, reasons, why, "leakage clean", {"split": split, **settings}, inputs)
    made = without(opened, place, left_out, overwrite=overwrite)
    hint(f"written to {pasted(place)}")
    return Cleaned(
        made, removed_figures(made.manifest.content_as(dict[str, Json], "left_out"), found)
    )


def _leaks_of_pairs(counted: CountedPairs) -> tuple[Leaks, JsonObject, list[Read]]:
    """The leaks that a file of pairs names."""
    from positionbias.leakage.leaks import leaks
    from positionbias.leakage.pairs import pairs_file, read_pairs

    path = pairs_file(input_place(counted.pairs or ""))
    found = leaks(
        read_pairs(path),
        threshold=counted.threshold,
        source=counted.source,
        lexical=counted.lexical,
    )
    settings: JsonObject = {
        "threshold": counted.threshold,
        "source": counted.source,
        "lexical": counted.lexical,
    }
    return found, settings, [Read.file("pairs", path)]


def _leaks_against(
    collection: Collection,
    split: str,
    against: CollectionLike,
    detector: Detector,
    encoder: Encoder,
    counted: CountedPairs,
) -> tuple[Leaks, JsonObject, list[Read]]:
    """The leaks that the detectors find."""
    from positionbias.leakage.find import find_pairs
    from positionbias.leakage.leaks import Leaks, leaks
    from positionbias.leakage.queries import collection_source, field_texts
    from positionbias.ops.query_places import QueryPlace

    test = QueryPlace.parse(against, "test")
    tests = field_texts(test.queries())
    read = [test.read("test queries")]
    semantic = open_semantic(encoder, counted.threshold) if detector != "lexical" else None
    settings = at_threshold(FindSettings(detector, NearestSettings()), semantic)
    source = collection_source("", collection, split)
    near = find_pairs([source], tests.texts, settings, semantic.vectors if semantic else None).pairs
    if semantic:
        read.append(semantic.read())
        say_kept(semantic.vectors)
        say(semantic.rests_on)
    found = leaks((pair.as_pair() for pair in near), lexical=counted.lexical) if near else Leaks()
    return found, search_record(settings, semantic), read
