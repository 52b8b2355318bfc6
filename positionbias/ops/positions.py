"""Positions of answers in their passages, and rotation, which spreads them evenly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, save_if_asked
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Overwrite, SavedTo, Sources, Splits
from positionbias.engine.choose import Engine
from positionbias.ops.operation import operation
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import RAW_FORMATS, HistogramOptions, RawFormat

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.positions.raw_files import RotatedFile


@operation
def histogram(
    collections: Sources,
    *,
    splits: Splits = (),
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
    from positionbias.positions.measured import measure_histograms

    measured = measure_histograms(collections, splits, options, engine)
    return save_if_asked(measured, out, overwrite=overwrite)


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
    format: Annotated[
        RawFormat | None,
        Setting(
            "Format of a raw file; by default from its name and content. Required for a pipe.",
            choices=RAW_FORMATS,
        ),
    ] = None,
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
    from positionbias.positions.raw_files import is_raw, rotate_raw

    if isinstance(collection, str | Path) and is_raw(collection):
        return engine.write(
            partial(rotate_raw, collection, out, rotation, format), overwrite=overwrite
        )
    if format is not None:
        raise SettingError(
            f"--format: wanted a raw file; found the collection {collection}; leave it out"
        )
    from positionbias.positions.debias import debias_collection

    return debias_collection(collection, out, rotation, engine, overwrite=overwrite)
