"""Write a collection in a published form, and count what it holds and cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import find_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Written, hint_written
from positionbias.core.places import Place
from positionbias.core.rows import counted_rows
from positionbias.engine.choose import Engine
from positionbias.formats.beir_export import write_beir
from positionbias.formats.msmarco_export import write_msmarco
from positionbias.formats.squad import write_squad_release
from positionbias.formats.trec_export import write_trec

# SQuAD's, which has versions and no shards, is called by name
_WRITERS: Mapping[str, Callable[..., NamedTuple]] = {
    "msmarco": write_msmarco,
    "beir": write_beir,
    "trec": write_trec,
}
_COUNTED = {  # what a form cannot hold, in words
    "left_out": "questions left out",
    "fields_left_out": "fields of queries left out",
    "unjudged": "queries without a judgement",
    "without_judgement": "queries without a judgement",
}


def export(
    collection: CollectionLike,
    to: str,
    splits: Sequence[str],
    squad_version: str | None,
    engine: Engine,
    out: Place,
    *,
    overwrite: bool,
) -> Written:
    """Write a collection's splits, by default all, in a form.

    Raises:
        SettingError: a version of SQuAD with another form.
        InputError: no such split, or a collection that the form cannot hold.
    """
    if squad_version and to != "squad":
        raise SettingError(
            f"--squad-version: wanted --to squad beside it; found --to {to}; leave it out"
        )
    opened, place = find_collection(collection), Path(out)
    chosen = list(dict.fromkeys(splits)) or opened.splits
    if to == "squad":
        if not chosen:
            do = "import it with its questions"
            raise bad_input(
                opened.path, wanted="a split to write in SQuAD's form", found="no splits", do=do
            )
        counts: dict[str, int] = write_squad_release(
            opened, place, chosen, version=squad_version or "1.1", overwrite=overwrite
        )._asdict()
    else:
        with engine.open() as map_shards:
            counts = _WRITERS[to](
                opened, place, chosen, overwrite=overwrite, map_shards=map_shards
            )._asdict()
    hint_written(place)
    numbers = {
        _COUNTED.get(name, name.replace("_", " ")): number for name, number in counts.items()
    }
    rows = counted_rows(
        "export", numbers, collection=opened.name, split="+".join(chosen), variant=to
    )
    return Written(place, rows=rows)
