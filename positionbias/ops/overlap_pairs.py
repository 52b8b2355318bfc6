"""The pairs that ``leakage clean`` was given: a folder of ``leakage overlap``, or a file, streamed
as often as they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.core.seeds import key64
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.ops.outcome import Read
from positionbias.overlap.folder import OverlapFolder, is_overlap
from positionbias.overlap.removal import Evidence, counts
from positionbias.overlap.removing import PAIRS_OF, Removal
from positionbias.overlap.settings import PAIRS, PASSAGES

__all__ = ["GivenPairs"]

SHEET = 50  # pairs to look at
_ITEM = {"train": "training", "test": "test"}


@dataclass(frozen=True)
class GivenPairs:
    """The pairs of a removal, to be streamed: those in a folder of ``leakage overlap`` that are of
    ``own`` sets, or those of a file.
    """

    folder: OverlapFolder | None
    file: Path
    source: str | None
    own: Sequence[str]
    split: str
    removal: Removal

    @classmethod
    def of(
        cls,
        pairs: Place,
        source: str | None,
        removal: Removal,
        split: str | None,
        of: Collection | Groups,
    ) -> GivenPairs:
        """Return the pairs at a place; without a split it is that of the sets that are the
        collection.

        Raises:
            InputError: a folder of other collections or splits, or with only some of the training
                pairs.
        """
        if not is_overlap(pairs):
            file = pairs_file(input_place(pairs))
            if source is not None and removal.side == "test":
                raise SettingError(
                    "--source: wanted with --side train, whose sets it names; found --side test; "
                    "leave it out"
                )
            return cls(None, file, source, (), split or removal.side, removal)
        folder = OverlapFolder(pairs)
        sets, what = (
            (folder.training, "training set")
            if removal.side == "train"
            else (folder.tests, "test set")
        )
        own = folder.named(sets, _checksums(of), what, source)
        split = split or _only_split([sets[name].split for name in own], removal, folder.path)
        if removal.what != "passages":  # which belong to no split
            own = _of_split({name: sets[name].split for name in own}, split, folder.path)
        found = cls(folder, folder.path, source, own, split, removal)
        found._check_complete()
        return found

    def _check_complete(self) -> None:
        """Refuse a folder that has only the best pairs of what has to go; of a test text one pair
        is enough, unless queries and passages are joined.
        """
        assert self.folder is not None
        train, joined = self.removal.side == "train", self.removal.unit == PAIRS
        for result, of in self.folder.figures:
            own = result.system in self.own if train else result.collection in self.own
            if of.unit != self.removal.unit or not own:
                continue
            count, found = (
                ("", "some that may be missing")
                if joined
                else (f" {of.pairs:,}", f"the best {of.kept:,}")
            )
            # repeated rows of a table are counted again, and kept once
            if of.cut and (joined or (train and of.kept < of.pairs)):
                raise bad_input(
                    self.folder.path,
                    wanted=(
                        f"all{count} pairs of {of.unit} by {of.detector}, as every "
                        f"{_ITEM[self.removal.side]} item has to go"
                    ),
                    found=found,
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
        return (
            1
            if self.folder is None or self.removal.side == "train"
            else self.folder.settings.relevant_from
        )

    def read(self) -> list[Read]:
        """Return the files of pairs as inputs."""
        files = (
            [self.file]
            if self.folder is None
            else self.folder.files(self.removal.unit, self._tests)
        )
        return [Read.file("pairs", file) for file in files]

    def __iter__(self) -> Iterator[Pair]:
        of_sides = self.removal.side == "train" and (
            self.folder is not None or self.source is not None
        )
        own = self.own if self.folder is not None else [self.source]
        pairs = (
            self._of_file()
            if self.folder is None
            else self.folder.pairs(self.removal.unit, self._tests)
        )
        yield from (pair for pair in pairs if not of_sides or pair.source in own)

    def _of_file(self) -> Iterator[Pair]:
        """Stream a file's pairs; refuse those of another unit, and of several training sets without
        ``source``.
        """
        sources: dict[str, None] = {}
        for pair in read_pairs(self.file):
            named = bool(pair.train_passage_id), bool(pair.test_passage_id)
            wanted = {PASSAGES: (False, False), PAIRS: (True, True)}.get(self.removal.unit, named)
            if named != wanted:
                found = (
                    "ids of queries and passages"
                    if any(named)
                    else "no train_passage_id and test_passage_id"
                )
                do = "give another --unit, or pairs of this one"
                raise bad_input(
                    self.file,
                    line=pair.line,
                    wanted=PAIRS_OF[self.removal.unit],
                    found=found,
                    do=do,
                )
            sources[pair.source] = None
            if self.removal.side == "train" and self.source is None and len(sources) > 1:
                found = ", ".join(name or "none" for name in sources)
                raise bad_input(
                    self.file,
                    line=pair.line,
                    wanted="pairs of one source",
                    found=found,
                    do="name it with --source",
                )
            yield pair

    def check(self, found: Evidence) -> None:
        """Refuse a file without pairs; a search may have found none.

        Raises:
            InputError: it has none.
        """
        if self.folder is None and not found.pairs:
            raise InputError(
                f"{self.file}: wanted pairs{f' of source {self.source!r}' if self.source else ''}; "
                "found none; check the file"
            )

    def drawn(self) -> list[Pair]:
        """Draw pairs that counted, by the hash of their ids, each with the number that it stands
        for.
        """
        counted = [0]

        def keyed() -> Iterator[tuple[int, int, Pair]]:
            for pair in self:
                if counts(pair):
                    counted[0] += 1
                    yield key64(1, "removed pair", *pair.ids), counted[0], pair

        drawn = [pair for _, _, pair in nsmallest(SHEET, keyed())]
        return [replace(pair, weight=pair.weight * counted[0] / len(drawn)) for pair in drawn]


def _checksums(of: Collection | Groups) -> set[str]:
    """Return the checksums of collections whose ids are those of this one, or of this training
    set.
    """
    return (
        {of.checksum}
        if isinstance(of, Collection)
        else {item.checksum for item in of.manifest.inputs}
    )


def _only_split(splits: Sequence[str], removal: Removal, place: Path) -> str:
    """Return the split of a collection's sets; of several that of the side, where passages go,
    which belong to none.

    Raises:
        InputError: several, and something else goes.
    """
    named = list(dict.fromkeys(filter(None, splits))) or [removal.side]
    if len(named) == 1 or removal.what == "passages":
        return named[0]
    raise bad_input(
        place,
        wanted="--split, as the collection has several there",
        found=", ".join(named),
        do="name one",
    )


def _of_split(splits: Mapping[str, str], split: str, place: Path) -> list[str]:
    """Return the names of sets of this split, by their splits, and say which are left alone.

    Raises:
        InputError: there are none.
    """
    own = [name for name, of in splits.items() if of in ("", split)]
    others = ", ".join(dict.fromkeys(of for of in splits.values() if of not in ("", split)))
    if not own:
        raise bad_input(
            place, wanted=f"pairs of split {split!r}", found=others, do="give another --split"
        )
    if others:
        say(f"{place}: what leaks of {others} stays; --split removes it")
    return own
