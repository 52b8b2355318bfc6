"""Where answers sit in their passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from positionbias.core.operation import Overwrite, SavedTo, operation
from positionbias.core.places import CollectionLike, Place
from positionbias.core.progress import say
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.ops.outcome import Measurements, Read, save_if_asked
from positionbias.positions.settings import HistogramOptions

__all__ = ["histogram"]


@operation
def histogram(
    collections: Annotated[
        Sequence[CollectionLike],
        Setting("Collections, their folders, or their names under $POSBIAS_HOME.", metavar="COLLECTION…", place="read"),
    ],
    *,
    splits: Annotated[
        Sequence[str],
        Setting("A split; may be given again. Default: every split with answers.", flags=("--split",)),
    ] = (),
    options: HistogramOptions = HistogramOptions(),
    plot: Annotated[
        Place | None, Setting("Draw the histograms; .svg, .png or .pdf.", metavar="FILE.svg", place="written")
    ] = None,
    out: SavedTo = None,
    engine: Engine = Engine(),
    overwrite: Overwrite = False,
) -> Measurements:
    """Measure where answers sit in the passages of collections, beside where they would sit without bias.

    Several collections, such as an original and its rotation, are measured one after the other and drawn side by side.

    Returns:
        One result a collection and split; its value is the mean relative position of answers, in [0, 1).

    Raises:
        InputError: a split has no answers, or none of them can be found.

    Source: position-bias paper, §4.1 and Figure 1.
    """
    from positionbias.core.collection import find_collection
    from positionbias.positions.histogram import position_histogram, splits_with_answers

    opened = [find_collection(place) for place in collections]
    with engine.open() as map_shards:
        results = [
            position_histogram(collection, split, options, map_shards=map_shards)
            for collection in opened
            for split in (splits or splits_with_answers(collection))
        ]
    found = Measurements(
        results,
        command="histogram",
        settings=asdict(options),
        read=[Read("collection", item.path, item.checksum) for item in opened],
        seed=options.seed,
        licence="; ".join(dict.fromkeys(item.manifest.licence for item in opened if item.manifest.licence)),
        notes=("Unbiased means that every possible start of an answer, 0 to n − L, is equally likely [decision].",),
        packages=("numpy", "blingfire"),
        host=engine.host,
    )
    if plot:
        from positionbias.report.figure import save_figure
        from positionbias.report.plots import answer_positions

        save_figure(answer_positions(results), plot, overwrite=overwrite)
        say(f"drawn to {plot}")
    return save_if_asked(found, out, overwrite=overwrite)
