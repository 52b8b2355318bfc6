"""Cards of train–test overlap: written for a model card, and compared with the data at hand."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import Overwrite, operation
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.ops.outcome import Judgement, Printed, refuse_outputs
from positionbias.ops.query_encoder import Encoder

if TYPE_CHECKING:
    from positionbias.core.checks import Outcome
    from positionbias.core.shard_work import MapShards
    from positionbias.overlap.card import Card, CardSet, Found, Overlap
    from positionbias.overlap.check_card import Agreement
    from positionbias.overlap.settings import OverlapSettings
    from positionbias.report.table import Table
    from positionbias.results.result import Result

__all__ = ["CardChecked", "CardWritten", "check_leakage_card", "leakage_card"]

_CODES = {"pass": 0, "fail": 1, "cannot tell": 3}  # as posbias check


@dataclass(frozen=True, slots=True, repr=False)
class CardWritten(Printed):
    """A card, where its Markdown stands, and the results that it shows; its JSON stands beside it."""

    card: Card
    path: Path
    results: Sequence[Result]

    def __str__(self) -> str:
        from positionbias.core.screen import wrapped
        from positionbias.overlap.text import overlap_verdict

        return wrapped("\n".join(overlap_verdict(self.results)))


@operation
def leakage_card(
    overlaps: Annotated[
        Sequence[Place], Setting("Folders that posbias leakage overlap wrote.", metavar="OVERLAP...", place="read")
    ],
    *,
    out: Annotated[
        Place, Setting("Write the card here, in Markdown; its JSON stands beside it.", metavar="FILE", place="written")
    ],
    overwrite: Overwrite = False,
) -> CardWritten:
    """Write a card of train–test overlap for a model card, in Markdown and JSON.

    It has the training and test sets with their checksums, what each detector found, its thresholds, its precision or "unknown", and the command
    that repeats it.

        posbias leakage card overlap --out card.md

    Returns:
        The card.

    Raises:
        InputError: something else than such folders, or folders of several versions of posbias.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> found = pb.overlap_leakage(["planted:train"], tests=["planted:test"], out="overlap")
        >>> print(pb.leakage_card(["overlap"], out="card.md"))
        0 of 18 queries of planted.test ...
    """
    from positionbias.core.publish import atomic_file
    from positionbias.overlap.card import card_of
    from positionbias.overlap.card_text import card_markdown
    from positionbias.overlap.folder import OverlapFolder

    place = output_place(out)
    beside = place.with_suffix(".json")
    if beside == place:
        raise SettingError(f"--out: wanted a Markdown file, beside which the JSON goes; found {place}; name it .md")
    refuse_outputs(place, beside, overwrite=overwrite)
    folders = [OverlapFolder(one) for one in overlaps]
    card = card_of(folders)
    texts = {place: card_markdown(card), beside: json.dumps(card.to_json(), ensure_ascii=False, indent=2) + "\n"}
    for path, text in texts.items():
        with atomic_file(path, overwrite=overwrite) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")
    hint(
        f"written to {pasted(place)}, its JSON to {pasted(beside)}; posbias leakage check-card {pasted(beside)} compares it with data"
    )
    return CardWritten(card, place, [result for folder in folders for result in folder.results])


@dataclass(frozen=True, slots=True, repr=False)
class CardChecked(Judgement):
    """Facts of a card beside those at hand, and the results of the search that was made again."""

    agreements: Sequence[Agreement]
    found: Sequence[Result] = ()

    @property
    def results(self) -> Sequence[Result]:
        """The results of the search."""
        return self.found

    @property
    def outcome(self) -> Outcome:
        """Pass, fail where one disagrees, or "cannot tell" where one could not be compared."""
        from positionbias.overlap.check_card import outcome_of

        return outcome_of(self.agreements)

    def __str__(self) -> str:
        from positionbias.overlap.check_card import agreement_text

        return agreement_text(self.agreements)

    def _tables(self) -> Sequence[Table]:
        from positionbias.overlap.check_card import agreement_table

        return [agreement_table(self.agreements)]

    def to_json(self) -> JsonObject:
        """Return the outcome and each fact."""
        return {"outcome": self.outcome, "facts": [asdict(one) for one in self.agreements]}

    @property
    def exit_code(self) -> int:
        """0 where all agree, 1 where one does not, 3 where something was not given."""
        return _CODES[self.outcome]


@operation
def check_leakage_card(
    card: Annotated[Place, Setting("The JSON of a card.", metavar="CARD", place="read")],
    training: Annotated[
        Sequence[CollectionLike],
        Setting("Training sets, by the names in the card.", metavar="[NAME=]TRAIN[:SPLIT]...", place="read"),
    ],
    *,
    tests: Annotated[
        Sequence[CollectionLike],
        Setting("A test set; may be given again.", flags=("--test",), metavar="[NAME=]TEST[:SPLIT]", place="read"),
    ] = (),
    encoder: Encoder = Encoder(),
    engine: Engine = Engine(),
) -> CardChecked:
    """Compare a card with the training and test sets at hand: their checksums, then the counts of the same search, made again.

    The exit code is 0 where all agrees, 1 where something does not, 3 where a set of the card was not given or it states a precision, which
    rests on labels, and 2 for bad input.

        posbias leakage check-card card.json msmarco:train --test dl19

    Returns:
        Each fact of the card, with what was found.

    Raises:
        InputError: no card, or a set that the card does not have.

    Example:
        >>> import positionbias as pb
        >>> found = pb.overlap_leakage(["planted:train"], tests=["planted:test"], out="overlap")
        >>> written = pb.leakage_card(["overlap"], out="card.md")
        >>> print(pb.check_leakage_card("card.json", ["planted:train"], tests=["planted:test"]))
        The card agrees with the data at hand ...
        ...
    """
    from positionbias.core.manifest import package_versions
    from positionbias.overlap.card import read_card
    from positionbias.overlap.check_card import agreement_of_command, agreements_of_counts, agreements_of_sets

    path = input_place(card)
    held = read_card(path)
    given = _Given.of(path, held, training, tests, encoder)
    if (version := package_versions()["positionbias"]) != held.version:
        say(f"{path}: made by positionbias {held.version}; this is {version}, which may count otherwise")
    agreements = list(agreements_of_sets(held, given.at_hand))
    results: list[Result] = []
    with engine.open() as map_shards:
        for overlap in held.overlaps:
            found = given.search(path, overlap, map_shards)
            counted = agreements_of_counts(overlap, given.rows(overlap, found), given.missing(overlap))
            agreements += [agreement_of_command(overlap, path), *counted]
            results += found
    return CardChecked(agreements, results)


@dataclass(frozen=True, slots=True)
class _Given:
    """Sets at hand, as they were named, by the names that the card knows."""

    training: Mapping[str, CollectionLike]
    tests: Mapping[str, CollectionLike]
    at_hand: Mapping[str, CardSet]
    encoder: Encoder

    @staticmethod
    def of(
        path: Path, card: Card, training: Sequence[CollectionLike], tests: Sequence[CollectionLike], encoder: Encoder
    ) -> _Given:
        """Return the sets.

        Raises:
            InputError: a set that the card does not have.
            SettingError: two sets of a side with one name.
        """
        from positionbias.overlap.card import CardSet
        from positionbias.overlap.sources import text_set

        settings = _settings(card.overlaps[0], path)
        found: dict[str, dict[str, CollectionLike]] = {"training": {}, "test": {}}
        at_hand = {}
        for side, given in (("training", training), ("test", tests)):
            known = [
                one.name for overlap in card.overlaps for one in (overlap.training if side == "training" else overlap.tests)
            ]
            for one in given:
                opened = text_set(one, settings, test=side == "test")
                if opened.name not in known:
                    do = "name it so: NAME=PLACE"
                    raise bad_input(path, wanted=f"a {side} set of {', '.join(dict.fromkeys(known))}", found=opened.name, do=do)
                if opened.name in found[side]:
                    raise SettingError(f"{one}: wanted each {side} set once; found {opened.name} again; drop one")
                found[side][opened.name] = one
                split = str(getattr(opened, "split", ""))
                at_hand[f"{side} set {opened.name}"] = CardSet(opened.name, split, opened.checksum, f"{one}")
        return _Given(found["training"], found["test"], at_hand, encoder)

    def rows(self, overlap: Overlap, results: Sequence[Result]) -> dict[tuple[str, str, str, str], Found]:
        """Return results as rows of a card; those of all training sets only where all are there."""
        from positionbias.overlap.card import rows_of
        from positionbias.results.overlap import ALL_SETS

        complete = len(_at_hand(overlap.training, self.training)) == len(overlap.training)
        return {row.key: row for row in rows_of(results) if complete or row.training != ALL_SETS}

    def missing(self, overlap: Overlap) -> set[str]:
        """Return the sets of a card's search that were not given, and their total where one was not; without one of each side, all."""
        from positionbias.results.overlap import ALL_SETS

        training, tests = ({one.name for one in side} for side in (overlap.training, overlap.tests))
        not_trained, not_tested = training - self.training.keys(), tests - self.tests.keys()
        if not_trained == training or not_tested == tests:
            not_trained, not_tested = training, tests
        totals = {ALL_SETS} if not_trained else set()
        return {f"training set {name}" for name in not_trained | totals} | {f"test set {name}" for name in not_tested}

    def search(self, path: Path, overlap: Overlap, map_shards: MapShards) -> list[Result]:
        """Make a card's search again with the sets at hand."""
        from positionbias.ops.overlap_again import search_again
        from positionbias.overlap.sources import text_set

        settings = _settings(overlap, path)
        train, test = _at_hand(overlap.training, self.training), _at_hand(overlap.tests, self.tests)
        if not train or not test:
            return []
        encoder = self.encoder if self.encoder.encoder is not None else replace(self.encoder, encoder=overlap.encoder or None)
        training = [text_set(one, settings, test=False) for one in train]
        tests = [text_set(one, settings, test=True) for one in test]
        with tempfile.TemporaryDirectory() as folder:
            return search_again(Path(folder) / "found", training, tests, settings, encoder, map_shards)


def _at_hand(sets: Sequence[CardSet], given: Mapping[str, CollectionLike]) -> list[CollectionLike]:
    return [given[one.name] for one in sets if one.name in given]


def _settings(overlap: Overlap, path: Path) -> OverlapSettings:
    from positionbias.overlap.folder import settings_from

    return settings_from(overlap.settings, path)
