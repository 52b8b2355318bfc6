"""The work of ``leakage clean`` with overlapping pairs: read them, remove one side, search the result again, and say what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.groups import Groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_ref, manifest_if_any, package_versions
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.seal import CACHE
from positionbias.core.shard_work import MapShards
from positionbias.corpora.groups_without import groups_without
from positionbias.corpora.left_out import LEFT_OUT, LeftOut
from positionbias.corpora.without import without
from positionbias.engine.choose import Engine
from positionbias.leakage.sheet import write_sheet
from positionbias.ops.overlap_again import search_again
from positionbias.ops.overlap_pairs import GivenPairs
from positionbias.ops.query_encoder import Encoder
from positionbias.overlap.card import CardSet, command_of, rows_of
from positionbias.overlap.collection_texts import CollectionTexts
from positionbias.overlap.find import NothingToCompare
from positionbias.overlap.folder import OverlapFolder, is_overlap
from positionbias.overlap.removal import Evidence, evidence_of, with_judgements
from positionbias.overlap.removing import Removal, Removing
from positionbias.overlap.settings import MEANING, OverlapSettings
from positionbias.overlap.sources import TextSet, text_set
from positionbias.overlap.statement import NAME, Statement, statement_text
from positionbias.results.overlap_removed import LeaksRemoved
from positionbias.results.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Removed", "remove_overlap"]


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
    held = GivenPairs.of(pairs, source, removal, split, opened)
    found = evidence_of(held, removal)
    held.check(found)
    split, reasons = held.split, found.reasons
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
            if held.folder is not None and "none" not in removing.check_by:
                say("training groups are not searched again; clean their collection the same way to see what is left")
            kept = {"split": split, "left_out": len(opened) - len(made), "kept": len(made)}
            done = Removed(made, _figures({**made.manifest.content_as(dict, LEFT_OUT), **kept}, removal, found), ())
        else:
            after = _After(opened, held, removal, found, removing.check_by, encoder, split, place, map_shards)
            made_of = without(opened, place, left_out, finished=after, map_shards=map_shards, overwrite=overwrite)
            done = Removed(made_of, after.figures(made_of), after.left)
    _say_other_splits(done.figures)
    if removing.sheet is not None:
        drawn = held.drawn()
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
class _Left(CollectionTexts):
    """What is left of a collection: its ids are still those of the source's corpus, of which a passage is no copy of itself."""

    source: Collection | None = None

    @classmethod
    def of_source(
        cls, source: Collection, made: Collection, split: str, name: str, settings: OverlapSettings, *, test: bool
    ) -> _Left:
        """Return the texts of ``made``, which was made of ``source``."""
        of = CollectionTexts.of(made, split, name, settings, test=test)
        return cls(**{one.name: getattr(of, one.name) for one in fields(of)}, source=source)

    @property
    def corpus(self) -> str:
        assert self.source is not None
        return self.source.passages_checksum

    def _judged(self, lowest: int | None) -> pa.Table | None:
        """Return what is left of the judgements, though nothing may be: other passages were not compared before."""
        assert self.source is not None
        judged = super()._judged(lowest)
        if judged is None and self.split in self.source.splits and self.source.qrel_table(self.split).num_rows:
            return self.collection.qrel_table(self.split)
        return judged


@dataclass
class _After:
    """What happens to a collection before it gets its name: it is searched again, and gets its statement."""

    source: Collection
    pairs: GivenPairs
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
            _Left.of_source(self.source, made, mine[name].split or self.split, name, settings, test=test)
            for name in self.pairs.own
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
        try:
            return search_again(made.path / CACHE / "searched-again", training, tests, settings, self.encoder, self.map_shards)
        except NothingToCompare:
            whose = "test" if test else "training"
            say(f"nothing is left of the {whose} set's {self.removal.unit}: the result was not searched again")
            return ()

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
        words = [self.source.name, "--pairs", name, "--remove", removal.what, "--unit", removal.unit, "--side", removal.side]
        words += ["--split", self.split, *(word for one in removal.found_by for word in ("--found-by", one))]
        words += ["--source", self.pairs.source] if self.pairs.source is not None else []
        yield f"posbias leakage clean {join([*words, '--out', self.place.name])}"


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
