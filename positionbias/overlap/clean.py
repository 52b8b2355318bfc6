"""Collections and training sets without what leaks: queries, passages or training groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_ref, manifest_if_any
from positionbias.core.outcome import Printed, Read, hint_written, refuse_outputs
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.core.seal import verified
from positionbias.core.settings import given_flags
from positionbias.corpora.groups_without import groups_without
from positionbias.corpora.left_out import LEFT_OUT, LeftOut
from positionbias.corpora.without import without
from positionbias.engine.choose import Engine
from positionbias.leakage.find import find_pairs
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.leakage.queries import collection_source, field_texts
from positionbias.leakage.query_places import QueryPlace
from positionbias.leakage.semantic import at_threshold, open_semantic, search_record
from positionbias.leakage.settings import Detector, Encoder, FindSettings
from positionbias.overlap.find import OverlapFolder, is_overlap
from positionbias.overlap.removal import evidence_of, removed_rows
from positionbias.overlap.settings import CountedPairs, Removing


@dataclass(frozen=True, slots=True, repr=False)
class Cleaned(Printed):
    """A collection or training set without what leaks, and rows of what was removed."""

    collection: Collection | Groups
    rows: DataFrame

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.collection.path


class Cleaning(NamedTuple):
    """Choices of a removal: which pairs count, what is removed of which split, and the queries to
    look for, with what looks.
    """

    counted: CountedPairs
    removing: Removing
    split: str | None
    against: CollectionLike | None
    detector: Detector | None
    encoder: Encoder


def clean_leakage(
    collection: CollectionLike,
    cleaning: Cleaning,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Cleaned:
    """Write a collection or training set without what leaks, and count what was removed.

    Raises:
        SettingError: settings that do not go together.
        InputError: pairs of several sources, or a split of which nothing would be left.
    """
    counted, removing, split, against, detector, encoder = cleaning
    _check_asked(against, counted, removing, detector, encoder)
    refuse_outputs(out, overwrite=overwrite)
    place, opened = Path(out), _opened(collection)
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
    hint_written(place)
    return Cleaned(made, removed_rows(place.name, split, facts, evidence, removing))


def _opened(given: CollectionLike) -> Collection | Groups:

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
