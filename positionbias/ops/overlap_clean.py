"""The work of ``leakage clean`` with overlapping pairs: read them, remove one side, and say what
was done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import NamedTuple

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.groups import Groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_ref, manifest_if_any, package_versions
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.corpora.groups_without import groups_without
from positionbias.corpora.left_out import LEFT_OUT, LeftOut
from positionbias.corpora.without import without
from positionbias.engine.choose import Engine
from positionbias.leakage.sheet import write_sheet
from positionbias.ops.overlap_pairs import GivenPairs
from positionbias.overlap.removal import Evidence, evidence_of, with_judgements
from positionbias.overlap.removing import Removal, Removing
from positionbias.overlap.statement import NAME, Statement, statement_text
from positionbias.results.overlap_removed import LeaksRemoved

__all__ = ["Removed", "remove_overlap"]


class Removed(NamedTuple):
    """A collection or training set without one side of overlapping pairs, and what was removed."""

    made: Collection | Groups
    figures: LeaksRemoved


def remove_overlap(
    given: CollectionLike,
    pairs: Place,
    source: str | None,
    removing: Removing,
    split: str | None,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Removed:
    """Write a collection or training set without one side of the pairs.

    Raises:
        SettingError: options that do not go together.
        InputError: pairs of another collection, pairs that are not complete, or nothing that would
            stay.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
    """
    removal, place = removing.removal, output_place(out)
    opened = _opened(given)
    held = GivenPairs.of(pairs, source, removal, split, opened)
    found = evidence_of(held, removal)
    held.check(found)
    split, reasons = held.split, found.reasons
    if removal.needs_judgements:
        if isinstance(opened, Groups):
            do = "give --unit queries or pairs, or clean the collection instead"
            raise SettingError(
                f"--unit: wanted pairs that name {removal.what} of training groups; found "
                f"{removal.unit}; {do}"
            )
        reasons = with_judgements(found, removal, opened.qrel_table(split), held.relevant_from)
    why = (
        f"{removal.what.capitalize()} on the {removal.side} side of overlapping pairs of "
        f"{removal.unit} were removed; left_out says which and why."
    )
    settings: JsonObject = {
        "remove": removal.what, "unit": removal.unit, "side": removal.side, "split": split,
        "source": source,
    }  # fmt: skip
    inputs = [
        input_ref(item.role, item.path, item.checksum, artefact=place) for item in held.read()
    ]
    left_out = LeftOut(split, reasons, why, "leakage clean", settings, inputs, removal.what)
    with engine.open() as map_shards:
        if isinstance(opened, Groups):
            made = groups_without(
                opened, place, left_out, map_shards=map_shards, overwrite=overwrite
            )
            kept = {"split": split, "left_out": len(opened) - len(made), "kept": len(made)}
            done = Removed(
                made, _figures({**made.manifest.content_as(dict, LEFT_OUT), **kept}, removal, found)
            )
        else:
            after = _After(opened, held, removal, found, split, place)
            made_of = without(
                opened, place, left_out, finished=after, map_shards=map_shards, overwrite=overwrite
            )
            done = Removed(made_of, after.figures(made_of))
    _say_other_splits(done.figures)
    if removing.sheet is not None:
        drawn = held.drawn()
        write_sheet(removing.sheet, drawn, overwrite=overwrite)
        hint(
            f"{len(drawn):,} of {found.counted:,} pairs that counted written to "
            f"{pasted(removing.sheet)}, to look at"
        )
    hint(f"written to {pasted(place)}")
    return done


def _opened(given: CollectionLike) -> Collection | Groups:
    if isinstance(given, Collection):
        return given
    path = input_place(given)
    made = manifest_if_any(path) if path.is_dir() else None
    return Groups(path) if made is not None and made.kind == "trainset" else find_collection(given)


@dataclass
class _After:
    """Write a collection's statement before the collection gets its name."""

    source: Collection
    pairs: GivenPairs
    removal: Removal
    found: Evidence
    split: str
    place: Path

    def __call__(self, made: Collection) -> JsonObject:
        """Write the collection's statement, and return what its manifest says of the removal."""
        facts = {**made.manifest.content_as(dict, LEFT_OUT), **_counted(self.removal, self.found)}
        before = self.source.path / LEFT_OUT / NAME
        text = statement_text(
            self._statement(made, facts), before.read_text("utf-8") if before.is_file() else ""
        )
        (made.path / LEFT_OUT / NAME).write_text(text, encoding="utf-8", newline="\n")
        return {LEFT_OUT: facts}

    def figures(self, made: Collection) -> LeaksRemoved:
        """Return what was removed."""
        return _figures(made.manifest.content_as(dict, LEFT_OUT), self.removal, self.found)

    def _statement(self, made: Collection, facts: JsonObject) -> Statement:
        return Statement(
            source=(self.source.name, self.source.checksum),
            made=(self.place.name, made.checksum),
            folder=self.pairs.folder,
            removal=self.removal,
            facts=facts,
            version=package_versions()["positionbias"],
            commands=list(self._commands()),
        )

    def _commands(self) -> Iterator[str]:
        folder, removal = self.pairs.folder, self.removal
        name = self.pairs.file.name
        if folder is not None:
            yield folder.command()
        words = [
            self.source.name,
            "--pairs",
            name,
            "--remove",
            removal.what,
            "--unit",
            removal.unit,
            "--side",
            removal.side,
        ]
        words += ["--split", self.split]
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
        "by_words_alone": found.by_words_alone,
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
