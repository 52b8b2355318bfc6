"""The work of ``leakage clean`` with overlapping pairs: read them, remove one side, search the result again, and say what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_ref, manifest_if_any, package_versions
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.seal import CACHE
from positionbias.core.seeds import key64
from positionbias.core.shard_work import MapShards
from positionbias.corpora.groups_without import groups_without
from positionbias.corpora.left_out import LEFT_OUT, LeftOut
from positionbias.corpora.without import without
from positionbias.engine.choose import Engine
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.leakage.sheet import write_sheet
from positionbias.ops.outcome import Read
from positionbias.ops.overlap_again import search_again
from positionbias.ops.query_encoder import Encoder
from positionbias.overlap.card import CardSet, command_of, rows_of
from positionbias.overlap.collection_texts import CollectionTexts
from positionbias.overlap.folder import OverlapFolder, is_overlap
from positionbias.overlap.removal import Evidence, counts, evidence_of, with_judgements
from positionbias.overlap.removing import Removal, Removing
from positionbias.overlap.settings import MEANING, PAIRS
from positionbias.overlap.sources import TextSet, text_set
from positionbias.overlap.statement import NAME, Statement, statement_text
from positionbias.results.overlap_removed import LeaksRemoved
from positionbias.results.result import Result

__all__ = ["Removed", "remove_overlap"]

SHEET = 50  # pairs to look at


class Removed(NamedTuple):
    """A collection or training set without one side of overlapping pairs, what was removed, and the results of a second search."""

    made: Collection | Groups
    figures: LeaksRemoved
    left: Sequence[Result]


def remove_overlap(
    given: CollectionLike,
    pairs: Place,
    source: str | None,
    removing: Removing,
    split: str | None,
    encoder: Encoder,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Removed:
    """Write a collection or training set without one side of the pairs.

    Raises:
        SettingError: options that do not go together.
        InputError: pairs of another collection, pairs that are not complete, or nothing that would stay.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
    """
    removal, place = _of_search(removing.removal, pairs), output_place(out)
    opened = _opened(given)
    held = _Pairs.of(pairs, source, removal, opened)
    found = evidence_of(held, removal)
    held.check(found)
    split = split or removal.side
    reasons = found.reasons
    if removal.needs_judgements:
        if isinstance(opened, Groups):
            do = "give --unit queries or pairs, or clean the collection instead"
            raise SettingError(f"--unit: wanted pairs that name {removal.what} of training groups; found {removal.unit}; {do}")
        reasons = with_judgements(found, removal, opened.qrel_table(split), held.relevant_from)
    why = f"{removal.what.capitalize()} on the {removal.side} side of overlapping pairs of {removal.unit} were removed; left_out says which and why."
    settings: JsonObject = {
        "remove": removal.what, "unit": removal.unit, "side": removal.side, "split": split, "found_by": list(removal.found_by),
        "source": source, "check_by": list(removing.check_by),
    }  # fmt: skip
    inputs = [input_ref(item.role, item.path, item.checksum, artefact=place) for item in held.read()]
    left_out = LeftOut(split, reasons, why, "leakage clean", settings, inputs, removal.what)
    with engine.open() as map_shards:
        if isinstance(opened, Groups):
            made = groups_without(opened, place, left_out, map_shards=map_shards, overwrite=overwrite)
            kept = {"split": split, "left_out": len(opened) - len(made), "kept": len(made)}
            done = Removed(made, _figures({**made.manifest.content_as(dict, LEFT_OUT), **kept}, removal, found), ())
        else:
            after = _After(opened, held, removal, found, removing.check_by, encoder, split, place, map_shards)
            made_of = without(opened, place, left_out, finished=after, map_shards=map_shards, overwrite=overwrite)
            done = Removed(made_of, after.figures(made_of), after.left)
    _say_other_splits(done.figures)
    if removing.sheet is not None:
        drawn = _drawn(held, removal)
        write_sheet(removing.sheet, drawn, overwrite=overwrite)
        hint(f"{len(drawn):,} of {found.counted:,} pairs that counted written to {pasted(removing.sheet)}, to look at")
    hint(f"written to {pasted(place)}")
    return done


def _of_search(removal: Removal, pairs: Place) -> Removal:
    """Return a removal with those of its detectors that a search had.

    Raises:
        SettingError: it had none of them.
    """
    if not is_overlap(pairs):
        return removal
    had = OverlapFolder(pairs).settings.detectors
    if not (found_by := tuple(name for name in removal.found_by if name in had)):
        raise SettingError(
            f"--found-by: wanted detectors of {pairs}; found {', '.join(removal.found_by)}; give of {', '.join(had)}"
        )
    return replace(removal, found_by=found_by)


def _opened(given: CollectionLike) -> Collection | Groups:
    if isinstance(given, Collection):
        return given
    path = input_place(given)
    made = manifest_if_any(path) if path.is_dir() else None
    return Groups(path) if made is not None and made.kind == "trainset" else find_collection(given)


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a removal, to be streamed: those in a folder of ``leakage overlap`` that are of ``own`` sets, or those of a file."""

    folder: OverlapFolder | None
    file: Path
    source: str | None
    own: Sequence[str]
    removal: Removal

    @classmethod
    def of(cls, pairs: Place, source: str | None, removal: Removal, of: Collection | Groups) -> _Pairs:
        """Return the pairs at a place.

        Raises:
            InputError: a folder of other collections, or with only some of the training pairs.
        """
        if not is_overlap(pairs):
            file = pairs_file(input_place(pairs))
            if source is not None and removal.side == "test":
                raise SettingError("--source: wanted with --side train, whose sets it names; found --side test; leave it out")
            return cls(None, file, source, (), removal)
        folder = OverlapFolder(pairs)
        sets, what = (folder.training, "training set") if removal.side == "train" else (folder.tests, "test set")
        own = folder.named(sets, _checksums(of), what, source)
        found = cls(folder, folder.path, source, own, removal)
        if removal.side == "train":
            found._check_complete()
        return found

    def _check_complete(self) -> None:
        """Refuse a folder that has only the best pairs of what has to go."""
        assert self.folder is not None
        for result, of in self.folder.figures:
            needed = self.removal.unit in (of.unit, PAIRS) and of.detector in self.removal.found_by
            if needed and result.system in self.own and of.kept < of.pairs:
                raise bad_input(
                    self.folder.path,
                    wanted=f"all {of.pairs:,} pairs of {of.unit} by {of.detector}, as every training item has to go",
                    found=f"the best {of.kept:,}",
                    do="run posbias leakage overlap again with more --kept-pairs",
                )

    @property
    def _tests(self) -> Sequence[str]:
        """The test sets whose pairs are read."""
        assert self.folder is not None
        return self.own if self.removal.side == "test" else list(self.folder.tests)

    @property
    def relevant_from(self) -> int:
        """The lowest grade of a relevant passage: of a test set the one that was searched for."""
        return 1 if self.folder is None or self.removal.side == "train" else self.folder.settings.relevant_from

    def read(self) -> list[Read]:
        """Return the files of pairs as inputs."""
        files = [self.file] if self.folder is None else self.folder.files(self.removal.unit, self._tests)
        return [Read.file("pairs", file) for file in files]

    def __iter__(self) -> Iterator[Pair]:
        of_sides = self.removal.side == "train" and (self.folder is not None or self.source is not None)
        own = self.own if self.folder is not None else [self.source]
        pairs = read_pairs(self.file) if self.folder is None else self.folder.pairs(self.removal.unit, self._tests)
        yield from (pair for pair in pairs if not of_sides or pair.source in own)

    def check(self, found: Evidence) -> None:
        """Refuse a file without pairs; a search may have found none.

        Raises:
            InputError: it has none.
        """
        if self.folder is None and not found.pairs:
            raise InputError(
                f"{self.file}: wanted pairs{f' of source {self.source!r}' if self.source else ''}; found none; check the file"
            )


def _checksums(of: Collection | Groups) -> set[str]:
    """Return the checksums of collections whose ids are those of this one, or of this training set."""
    return {of.checksum} if isinstance(of, Collection) else {item.checksum for item in of.manifest.inputs}


@dataclass
class _After:
    """What happens to a collection before it gets its name: it is searched again, and gets its statement."""

    source: Collection
    pairs: _Pairs
    removal: Removal
    found: Evidence
    check_by: Sequence[str]
    encoder: Encoder
    split: str
    place: Path
    map_shards: MapShards
    left: Sequence[Result] = ()

    def __call__(self, made: Collection) -> JsonObject:
        """Search the collection again, write its statement, and return what its manifest says of the removal."""
        folder = self.pairs.folder
        if folder is not None and "none" not in self.check_by:
            self.left = self._searched_again(folder, made)
        facts = {**made.manifest.content_as(dict, LEFT_OUT), **_counted(self.removal, self.found)}
        before = self.source.path / LEFT_OUT / NAME
        text = statement_text(self._statement(made, facts), before.read_text("utf-8") if before.is_file() else "")
        (made.path / LEFT_OUT / NAME).write_text(text, encoding="utf-8", newline="\n")
        return {LEFT_OUT: facts}

    def figures(self, made: Collection) -> LeaksRemoved:
        """Return what was removed."""
        return _figures(made.manifest.content_as(dict, LEFT_OUT), self.removal, self.found)

    def _searched_again(self, folder: OverlapFolder, made: Collection) -> Sequence[Result]:
        names = dict.fromkeys([*folder.settings.detectors, *self.check_by])
        if MEANING in names and self.encoder.encoder is None:
            say("the result is not searched by meaning again; --encoder does it")
            del names[MEANING]
        settings = replace(folder.settings, units=(self.removal.unit,), detectors=tuple(names))
        test = self.removal.side == "test"
        mine, theirs = (folder.tests, folder.training) if test else (folder.training, folder.tests)
        own: list[TextSet] = [
            CollectionTexts.of(made, mine[name].split or self.split, name, settings, test=test) for name in self.pairs.own
        ]
        others = []
        for recorded in theirs.values():
            place, at = folder.place_of(recorded), f":{recorded.split}" if recorded.split else ""
            opened = text_set(f"{recorded.name}={place}{at}", settings, test=not test) if place.exists() else None
            if opened is None or opened.checksum != recorded.checksum:
                reason = "no longer there" if opened is None else "of other content now"
                say(f"{recorded.name}: {place} is {reason}: the result was not searched again; posbias leakage overlap does it")
                return ()
            others.append(opened)
        training, tests = (others, own) if test else (own, others)
        return search_again(made.path / CACHE / "searched-again", training, tests, settings, self.encoder, self.map_shards)

    def _statement(self, made: Collection, facts: JsonObject) -> Statement:
        folder = self.pairs.folder
        return Statement(
            source=(self.source.name, self.source.checksum),
            made=(self.place.name, made.checksum),
            training=[] if folder is None else [CardSet.of(one) for one in folder.training.values()],
            tests=[] if folder is None else [CardSet.of(one) for one in folder.tests.values()],
            settings=None if folder is None else folder.settings,
            encoder="" if folder is None else folder.encoder[0],
            removal=self.removal,
            facts=facts,
            found=[] if folder is None else list(rows_of(folder.results)),
            left=list(rows_of(self.left)),
            version=package_versions()["positionbias"],
            commands=list(self._commands()),
        )

    def _commands(self) -> Iterator[str]:
        folder, removal = self.pairs.folder, self.removal
        name = self.pairs.file.name
        if folder is not None:
            yield command_of(folder, out=name)
        words = ["posbias leakage clean", self.source.name, "--pairs", name, "--remove", removal.what, "--unit", removal.unit]
        words += ["--side", removal.side, "--split", self.split, *(f"--found-by {one}" for one in removal.found_by)]
        words += [f"--source {self.pairs.source}"] if self.pairs.source is not None else []
        yield " ".join([*words, "--out", self.place.name])


def _counted(removal: Removal, found: Evidence) -> JsonObject:
    return {
        "what": removal.what,
        "unit": removal.unit,
        "side": removal.side,
        "others": len(found.others),
        "pairs": found.pairs,
        "counted": found.counted,
        "labelled_different": found.different,
        "found_otherwise": dict(sorted(found.otherwise.items())),
    }


def _figures(facts: Mapping, removal: Removal, found: Evidence) -> LeaksRemoved:
    own = {
        **facts,
        **_counted(removal, found),
        "total": facts.get("groups", facts.get(removal.what)),
        "groups": "groups" in facts,
    }
    return LeaksRemoved.of_facts(own)


def _say_other_splits(figures: LeaksRemoved) -> None:
    """Say where a removed passage took judgements of other splits with it."""
    for split, count in figures.qrels_by_split.items():
        if split != figures.split:
            say(f"{count:,} judgements of split {split!r} went too, with passages that they name")


def _drawn(pairs: _Pairs, removal: Removal) -> list[Pair]:
    """Draw pairs that counted, by the hash of their ids, each with the number that it stands for."""
    counted = [0]

    def keyed() -> Iterator[tuple[int, int, Pair]]:
        for pair in pairs:
            if counts(pair, removal.found_by):
                counted[0] += 1
                yield key64(1, "removed pair", *pair.ids), counted[0], pair

    drawn = [pair for _, _, pair in nsmallest(SHEET, keyed())]
    return [replace(pair, weight=pair.weight * counted[0] / len(drawn)) for pair in drawn]
