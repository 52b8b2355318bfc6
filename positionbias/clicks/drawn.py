"""Training triples of clicks, drawn, written and counted."""

from __future__ import annotations

from pathlib import Path

from positionbias.clicks.settings import ClickSettings
from positionbias.clicks.shown import count_rows
from positionbias.clicks.trainset import write_click_set
from positionbias.core.collection import find_collection
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Written, hint_groups
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.engine.choose import Engine


def draw_clicks(
    collection: CollectionLike,
    candidates: Place,
    settings: ClickSettings,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Written:
    """Write a set as ``write_click_set``, and count it."""
    opened, place = find_collection(collection), Path(out)
    with engine.open() as map_shards:
        groups = write_click_set(
            place,
            opened,
            input_place(candidates),
            settings,
            map_shards=map_shards,
            overwrite=overwrite,
            **engine.host,
        )
    if settings.triples and len(groups) < settings.triples:
        say(f"--triples: {settings.triples:,} were asked for, there are {len(groups):,}")
    hint_groups(f"{len(groups):,} triples", place, opened)
    return Written(place, rows=count_rows(groups, opened.name))
