"""Positions of answers in their passages, and rotation, which spreads them evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Overwrite, SavedTo, Sources, operation
from positionbias.core.outcome import Measurements, Read, save_if_asked
from positionbias.core.places import Place, home_place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.settings import Setting, given_flags
from positionbias.core.splitter import USUAL_WORDS
from positionbias.engine.choose import Engine
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import HistogramOptions, RawForm

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.positions.raw_files import RotatedFile

__all__ = ["debias", "histogram"]

PIPE = "-"


@operation
def histogram(
    collections: Sources,
    *,
    splits: Annotated[
        Sequence[str],
        Setting(
            "A split; repeatable. Default: every split with answers.",
            flags=("--split",),
            metavar="SPLIT",
        ),
    ] = (),
    options: HistogramOptions = HistogramOptions(),
    out: SavedTo = None,
    engine: Engine = Engine(),
    overwrite: Overwrite = False,
) -> Measurements:
    """Measure where answers sit in the passages of collections, beside where they would sit without
    bias.

    Several collections, such as an original and its rotation, are measured one after the other and
    drawn side by side.

    Returns:
        Rows of each collection and split: the share of answers by place, their mean relative
        position, in [0, 1), and what became of them.

    Raises:
        InputError: a split has no answers, or none of them can be found.

    Source: position-bias paper, §4.1 and Figure 1.

    Example:
        >>> import positionbias as pb
        >>> print(pb.histogram(["planted"], splits=["test"]))
        planted, test: answers start nearer the front than unbiased ones: mean position
        0.152..., unbiased 0.395 (difference −0.242...).
        <BLANKLINE>
        planted, test: share of answers by place in the passage; the mark is the share if unbiased
          0–10...%  ██████████████████┃█████████████████████████████████████████   44.4...
         10–20...%  █████████████████┃███████████████████████████████              36.1...
        ...
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.positions.histogram import position_histogram, splits_with_answers
    from positionbias.positions.measured import histogram_rows

    opened = [find_collection(place) for place in collections]
    made = Collected({"study": "histogram"})
    with engine.open() as map_shards:
        for collection in opened:
            for split in splits or splits_with_answers(collection):
                counted = position_histogram(collection, split, options, map_shards=map_shards)
                histogram_rows(made, counted, collection=collection.name)
    found = Measurements(
        rows=made.rows,
        command="histogram",
        settings=asdict(options),
        read=[Read("collection", item.path, item.checksum) for item in opened],
        seed=options.seed,
        licence="; ".join(
            dict.fromkeys(item.manifest.licence for item in opened if item.manifest.licence)
        ),
        notes=(
            "Unbiased means that every possible start of an answer, 0 to n − L, is equally likely.",
        ),
        packages=("numpy", USUAL_WORDS),
        host=engine.host,
    )
    return save_if_asked(found, out, overwrite=overwrite)


@operation
def debias(
    collection: Annotated[
        CollectionLike,
        Setting(
            "A collection, its folder, or its name under $POSBIAS_HOME; a raw file or pipe; or -, "
            "standard input.",
            metavar="COLLECTION|FILE|-",
            place="read",
        ),
    ],
    *,
    rotation: Rotation = Rotation(),
    raw: RawForm = RawForm(),
    engine: Engine = Engine(),
    out: Annotated[
        Place | None,
        Setting(
            "The rotated collection (by default $POSBIAS_HOME/COLLECTION-rotated-SEED) or the "
            "rotated file (.gz and .zst are compressed; - is standard output, the default for a "
            "pipe).",
            metavar="PATH|-",
            place="written",
        ),
    ] = None,
    overwrite: Overwrite = False,
) -> Collection | RotatedFile:
    """Rotate every passage at a random word; answers move with the text.

    A raw file becomes one of the same format: TSV (id, tab, text) or JSON lines. The draw for a
    passage depends on the seed and its id alone, so a file comes out as its collection would.

        posbias debias squad --out squad-rotated
        zcat collection.tsv.gz | posbias debias - --set format=tsv > rotated.tsv

    Returns:
        The rotated collection, or what was written of a raw file.

    Raises:
        SettingError: settings of raw files with a collection, or a pipe without its format.
        InputError: no collection or file, one that is not in its format, or an answer outside its
            passage.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Source: position-bias paper, §4.2.

    Example:
        >>> import positionbias as pb
        >>> pb.debias("planted", out="planted-rotated-1")
        Collection('planted-rotated-1', 240 passages, splits train, validation, test, fresh)
        >>> print(pb.histogram(["planted-rotated-1"], splits=["test"]).verdict)
        planted-rotated-1, test: ... mean position 0.4...
        ...
    """
    if isinstance(collection, str | Path) and _is_raw(collection):
        work = partial(_rotate_raw, collection, out, rotation, raw)
        return engine.write(work, overwrite=overwrite)
    for flag in given_flags(raw):
        raise SettingError(
            f"{flag}: wanted a raw file; found the collection {collection}; leave it out"
        )
    from positionbias.core.collection import find_collection
    from positionbias.positions.debias import debias as write_rotated

    found = find_collection(collection)
    named = f"{found.path.resolve().name}-rotated-{rotation.seed}"
    place = output_place(out) if out is not None else home_place(named)
    rotated = engine.write(partial(write_rotated, found, place, rotation), overwrite=overwrite)
    there = pasted(rotated.path)
    if any(rotated.answer_table(split).num_rows for split in rotated.splits):
        hint(
            f"written to {there}; see what changed with: posbias histogram {pasted(found.path)} "
            f"{there}"
        )
    else:
        hint(f"written to {there}; look at it with: posbias collection show {there}")
    return rotated


def _is_raw(place: Place) -> bool:
    """Return True for a file, a pipe or standard input. Refuse a missing path whose name looks like
    a raw file's.
    """
    path = Path(place)
    if place == PIPE or path.exists():
        return place == PIPE or not path.is_dir()
    if path.suffix in (".tsv", ".jsonl", ".json", ".parquet", ".gz", ".zst", ".txt"):
        raise bad_input(
            path,
            wanted="a file to rotate, or a collection",
            found="nothing there",
            do="check the path",
        )
    return False


def _rotate_raw(
    given: Place, out: Place | None, rotation: Rotation, form: RawForm, **writing: Any
) -> RotatedFile:
    from positionbias.positions.raw_files import Pipe, debias_file

    path = Path(given)
    is_file = given != PIPE and path.is_file()
    if form.format is None and not is_file:
        raise SettingError(
            "--format: wanted tsv or jsonl for a pipe, whose name says nothing; found none; give it"
        )
    if out is None and is_file:
        raise SettingError(
            f"--out: wanted the file to write for the file {given}; found none; give --out FILE, "
            "or --out - for a pipe"
        )
    place = Pipe.to_stdout() if out is None or out == PIPE else output_place(out)
    source = path if is_file else Pipe.from_stdin() if given == PIPE else Pipe.named(path)
    rotated = debias_file(source, place, rotation, form, **writing)
    if isinstance(place, Path):
        hint(f"written to {pasted(place)}, and what made it to {pasted(place)}.manifest.json")
    return rotated
