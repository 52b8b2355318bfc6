"""Collections and training sets without what leaks: queries, passages or training groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Printed, Read, refuse_outputs
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting, given_flags
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import Detector, FindSettings
from positionbias.ops.leakage import at_threshold, open_semantic, search_record
from positionbias.ops.query_encoder import Encoder
from positionbias.overlap.settings import CountedPairs, Removing

if TYPE_CHECKING:
    from pathlib import Path

    from pandas import DataFrame

    from positionbias.core.collection import Collection
    from positionbias.core.groups import Groups
    from positionbias.leakage.pairs import Pair

__all__ = ["Cleaned", "clean_leakage"]


@dataclass(frozen=True, slots=True, repr=False)
class Cleaned(Printed):
    """A collection or training set without what leaks, and rows of what was removed."""

    collection: Collection | Groups
    rows: DataFrame

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.collection.path


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
    from positionbias.core.groups import Groups
    from positionbias.core.manifest import input_ref
    from positionbias.corpora.groups_without import groups_without
    from positionbias.corpora.left_out import LEFT_OUT, LeftOut
    from positionbias.corpora.without import without
    from positionbias.overlap.removal import evidence_of, removed_rows

    _check_asked(against, counted, removing, detector, encoder)
    refuse_outputs(out, overwrite=overwrite)
    place, opened = output_place(out), _opened(collection)
    settings: JsonObject = {}
    if counted.pairs is not None:
        pairs, files, split = _given(counted.pairs, counted.source, removing, split, opened)
        read = [Read.file("pairs", file) for file in files]
    else:
        assert against is not None
        split = split or "train"
        found, settings, read = _looked_for(
            opened, split, against, detector or "both", encoder, counted
        )
        pairs = iter(found)
    evidence = evidence_of(pairs, counted, removing)
    left_out = LeftOut(
        split,
        evidence.reasons,
        f"{removing.remove.capitalize()} on the {removing.side} side of leaking pairs were "
        "removed; left_out says which and why.",
        "leakage clean",
        {**asdict(removing), "split": split, "source": counted.source}
        | {"threshold": counted.threshold, "lexical": counted.lexical, **settings},
        [input_ref(item.role, item.path, item.checksum, artefact=place) for item in read],
        removing.remove,
    )
    with engine.open() as map_shards:
        write: Any = groups_without if isinstance(opened, Groups) else without
        made = write(opened, place, left_out, map_shards=map_shards, overwrite=overwrite)
    facts = made.manifest.content_as(dict, LEFT_OUT)
    if isinstance(opened, Groups):
        facts = {"training groups": len(opened), "left_out": len(opened) - len(made)}
    hint(f"written to {pasted(place)}")
    return Cleaned(made, removed_rows(place.name, split, facts, evidence, removing))


def _opened(given: CollectionLike) -> Collection | Groups:
    from positionbias.core.collection import Collection, find_collection
    from positionbias.core.groups import Groups
    from positionbias.core.manifest import manifest_if_any

    if isinstance(given, Collection):
        return given
    path = input_place(given)
    made = manifest_if_any(path) if path.is_dir() else None
    return Groups(path) if made is not None and made.kind == "trainset" else find_collection(given)


def _check_asked(
    against: CollectionLike | None,
    counted: CountedPairs,
    removing: Removing,
    detector: Detector | None,
    encoder: Encoder,
) -> None:
    """Refuse options that do not go together."""
    if (against is None) == (counted.pairs is None):
        raise SettingError(
            "leakage clean: wanted --against or --pairs; found "
            + ("neither" if against is None else "both")
        )
    with_against = {"--detector": detector, "--encoder": encoder.encoder}
    with_pairs = [*given_flags(removing), *(["--source"] if counted.source else [])]
    idle = (
        [flag for flag, given in with_against.items() if given] if against is None else with_pairs
    )
    if idle:
        wanted, found = ("against", "pairs") if against is None else ("pairs", "against")
        raise SettingError(f"{idle[0]}: wanted with --{wanted}; found --{found}; drop one")
    if detector == "lexical" and not counted.lexical:
        raise SettingError(
            "--detector lexical: wanted --lexical with it, as words alone find candidates of "
            "unknown precision; found none; add it, or label the pairs first (posbias leakage find "
            "and review) and give --pairs"
        )


def _looked_for(
    collection: Collection | Groups,
    split: str,
    against: CollectionLike,
    detector: Detector,
    encoder: Encoder,
    counted: CountedPairs,
) -> tuple[list[Pair], JsonObject, list[Read]]:
    """Return the pairs that the detectors find."""
    from positionbias.core.collection import Collection
    from positionbias.leakage.find import find_pairs
    from positionbias.leakage.queries import collection_source, field_texts
    from positionbias.ops.query_places import QueryPlace

    if not isinstance(collection, Collection):
        raise SettingError(
            "--against: wanted a collection, whose queries are compared; found training groups; "
            "give --pairs"
        )
    test = QueryPlace.parse(against, "test")
    tests = field_texts(test.queries())
    read = [test.read("test queries")]
    semantic = open_semantic(encoder, counted.threshold) if detector != "lexical" else None
    settings = at_threshold(FindSettings(detector), semantic)
    source = collection_source("", collection, split)
    near = find_pairs([source], tests, settings, semantic.vectors if semantic else None)
    if semantic:
        read.append(semantic.read())
        say(semantic.rests_on)
    return near, search_record(settings, semantic), read


class _Given(NamedTuple):
    """Pairs, to be streamed once: their files, and the split of what is removed."""

    pairs: Iterator[Pair]
    files: Sequence[Path]
    split: str


def _given(
    place: Place,
    source: str | None,
    removing: Removing,
    split: str | None,
    of: Collection | Groups,
) -> _Given:
    """Return the pairs at a place with a collection or training set; without a split it is that of
    the sets that are the collection.

    Raises:
        InputError: a folder of other collections or splits, or with only some of the pairs; from
            the pairs, those of several training sets without ``source``.
    """
    from positionbias.core.seal import verified
    from positionbias.leakage.pairs import pairs_file, read_pairs
    from positionbias.overlap.find import OverlapFolder, is_overlap

    if not is_overlap(place):
        file = pairs_file(input_place(place))
        return _Given(_of_file(file, source, removing.side), [file], split or removing.side)
    folder = OverlapFolder(place)
    train = removing.side == "train"
    sets, what = (folder.training, "training set") if train else (folder.tests, "test set")
    checksums = {of.checksum, *(item.checksum for item in of.manifest.inputs)}
    own = {
        name: known.split
        for name, known in sets.items()
        if (name == source if source else known.checksum in checksums)
    }
    # passages belong to no split
    if removing.remove != "passages":
        own = {name: at for name, at in own.items() if split in (None, at)}
    if not own or (removing.remove != "passages" and len(set(own.values())) > 1):
        wanted = f"the collection, and one split of it, among its {what}s"
        found = ", ".join(f"{name} (split {known.split})" for name, known in sets.items())
        do = "name the one that has its ids with --source, or a --split"
        raise bad_input(folder.path, wanted=wanted, found=found, do=do)
    tests = list(folder.tests if train else own)
    files = folder.files(removing.remove, tests)
    pairs = (pair for path in files for pair in read_pairs(verified(path)))
    mine = (pair for pair in pairs if not train or pair.source in own)
    return _Given(mine, files, split or next(iter(own.values())) or removing.side)


def _of_file(path: Path, source: str | None, side: str) -> Iterator[Pair]:
    """Stream the pairs of a file; refuse those of several sources without ``source``."""
    from positionbias.leakage.pairs import read_pairs

    sources = set[str]()
    for pair in read_pairs(path):
        sources.add(pair.source)
        if source in (None, pair.source):
            yield pair
    several = source is None and len(sources) > 1 and side == "train"
    if several or not sources or (source and source not in sources):
        wanted = f"pairs of source {source!r}" if source else "pairs of one source"
        found = ", ".join(sorted(name or "no named source" for name in sources)) or "none"
        raise bad_input(path, wanted=wanted, found=found, do="name it with --source")
