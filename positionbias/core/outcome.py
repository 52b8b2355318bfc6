"""Return values of operations: measurements with their inputs and settings, to print and save; and
the results behind an artefact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.places import Place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.publish import refuse_existing
from positionbias.core.shown import Shown
from positionbias.core.terminal import wrapped

if TYPE_CHECKING:
    from pandas import DataFrame

    from positionbias.core.collection import Collection

SHOW = "look at it with: posbias collection show"
HISTOGRAM = "see where its answers are with: posbias histogram"
REMARKS = "remarks"  # of a manifest's content


@dataclass(frozen=True, slots=True)
class Read:
    """An input of an operation: the part it played, where it lies, its content as a checksum."""

    role: str
    path: Path | str
    checksum: str

    @staticmethod
    def file(role: str, path: Path) -> Read:
        """Return a file as an input."""
        return Read(role, path, sha256_file(path))


@dataclass(frozen=True, slots=True, repr=False)
class Measurements(Shown):
    """The measurements of an operation, as ``rows`` with their ``values`` by item, and what made
    it.

    ``packages`` are those whose versions the results depend on; ``host`` is what comparisons skip
    (workers, engine). ``content`` is what the manifest counts; ``remarks`` are lines that stand
    below the text and in no row: the manifest keeps them. ``loaded`` is the manifest that they were
    saved with.

    Example:
        >>> import positionbias as pb
        >>> found = pb.evaluate(["test.run"], collection="planted")
        >>> means = found.rows.query("statistic == 'mean'")
        >>> means[["model", "measure", "value", "count"]].round(3).head(2)
          model  measure  value  count
        0  bm25  nDCG@10  0.814     18
        3  bm25    RR@10  0.778     18
        >>> found.save("kept"), found.report("kept.html"), pb.load("kept")
        (PosixPath('kept'), PosixPath('kept.html'), Measurements('kept', 12 rows))
    """

    command: str = ""
    settings: JsonObject = field(default_factory=dict)
    read: Sequence[Read] = ()
    rows: DataFrame | None = None
    values: DataFrame | None = None
    seed: int | None = None
    name: str = ""
    licence: str = ""
    notes: Sequence[str] = ()
    packages: Sequence[str] = ()
    host: JsonObject = field(default_factory=dict)
    content: JsonObject = field(default_factory=dict)
    remarks: Sequence[str] = ()
    loaded: Manifest | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return "\n".join([self._text(), *map(wrapped, self.remarks)])

    def manifest(self, place: Path) -> Manifest:
        """Return the manifest of these results in a folder at ``place``."""
        inputs = tuple(
            input_ref(item.role, item.path, item.checksum, artefact=place) for item in self.read
        )
        if self.loaded is not None:
            return replace(self.loaded, inputs=inputs)
        return Manifest(
            kind="results",
            name=self.name or place.name,
            command=self.command,
            settings=self.settings,
            seed=self.seed,
            inputs=inputs,
            content={**self.content, **({REMARKS: list(self.remarks)} if self.remarks else {})},
            licence=self.licence,
            notes=tuple(self.notes),
            versions=package_versions(*self.packages),
            provenance=provenance(**self.host),
        )


class Printed(Shown):
    """Something made whose text is that of its rows."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._text()


@dataclass(frozen=True, slots=True, repr=False)
class Written(Printed):
    """The path of a file or folder that an operation wrote, and rows that count it."""

    path: Path
    rows: DataFrame | None = field(default=None, kw_only=True)


class Judgement(Shown):
    """An answer that decides how its command ends, once its text or its own JSON is printed."""

    __slots__ = ()

    def to_json(self) -> JsonObject:
        """Return it as one JSON object."""
        raise NotImplementedError

    @property
    def complaints(self) -> Sequence[str]:
        """Return lines for standard error, which --quiet keeps."""
        return ()

    @property
    def exit_code(self) -> int:
        """Return the exit code of the command."""
        return 0

    def check(self) -> None:
        """Refuse what is no more than bad input.

        Raises:
            PositionBiasError: it is that.
        """


def hint_written(place: Place, then: str = "", *, what: str = "") -> None:
    """Say where something was written, and what to do next."""
    hint(f"{what}{' ' * bool(what)}written to {pasted(place)}{'; ' * bool(then)}{then}")


def hint_collection(collection: Collection, then: str = SHOW) -> Collection:
    """Return a collection, after saying where it was written and which command shows it."""
    hint_written(collection.path, f"{then} {pasted(collection.path)}")
    return collection


def hint_run(run: Place, collection: Collection, split: str) -> None:
    """Say where a run was written, and how to measure it."""
    opened = pasted(collection.path)
    hint_written(run, f"next: posbias evaluate {pasted(run)} --collection {opened} --split {split}")


def hint_groups(what: str, place: Place, collection: Collection) -> None:
    """Say where training groups were written, and how to train on them."""
    train = f"posbias train bert_cat {pasted(collection.path)} --trainset {pasted(place)}"
    hint_written(place, f"next: {train}", what=what)


def refuse_outputs(*outputs: Place | None, overwrite: bool) -> None:
    """Refuse outputs that are there, before the work begins.

    Raises:
        OutputExistsError: something stands at one of them, and ``overwrite`` is false or it is not
            ours.
    """
    for out in outputs:
        if out is not None:
            refuse_existing(output_place(out), overwrite=overwrite)


def save_if_asked(found: Measurements, out: Place | None, *, overwrite: bool) -> Measurements:
    """Save the results where a place was given, and say so; return them."""
    if out is not None:
        place = found.save(out, overwrite=overwrite)
        page = f"{quote(place.name)}.html"
        hint_written(place, f"for a page: posbias report {pasted(place)} --out {page}")
    return found


def text_of(outcome: Any) -> str:
    """Return what an operation gave back as text for a terminal: its own where it has one, else
    that of its rows.
    """
    own: Any = type(outcome).__str__
    return str(outcome) if own is not object.__str__ else outcome._text()
