"""``posbias debias``: rotate every passage at a random word."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    Engine,
    engine_options,
    json_option,
    output_place,
    overwrite_option,
    print_results,
    say,
)
from positionbias.cli.settings_options import settings_as
from positionbias.core.json_text import JsonObject
from positionbias.positions.rotate import Rotation

if TYPE_CHECKING:
    from positionbias.core.shard_work import MapShards
    from positionbias.positions.raw_files import Pipe

__all__ = ["debias"]

PIPE = "-"


@click.command()
@click.argument("collection", metavar="COLLECTION|FILE|-")
@settings_as(Rotation, "rotation")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["tsv", "jsonl", "parquet", "squad"]),
    help="Of a raw file; by default told by its name and content. A pipe needs it.",
)
@click.option("--id-field", metavar="KEY", help="The key or column of ids in JSON lines or Parquet, where it is no known one.")
@click.option(
    "--text-field", metavar="KEY", help="The key or column of texts in JSON lines or Parquet, where it is no known one."
)
@engine_options
@click.option(
    "--out",
    metavar="PATH|NAME|-",
    help="The rotated collection (by default COLLECTION-rotated-SEED; a plain name lands under $POSBIAS_HOME) or the rotated file "
    "(.gz and .zst are compressed; - is standard output, the default for a pipe).",
)
@overwrite_option
@json_option
def debias(
    collection: str,
    rotation: Rotation,
    kind: Any,
    id_field: str | None,
    text_field: str | None,
    engine: Engine,
    out: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Rotate every passage at a random word; answers move with the text.

    Of a collection, or straight of a raw file into one of the same format: TSV (id, tab, text), JSON lines, Parquet, SQuAD JSON; - is
    standard input. The draw for a passage depends on the seed and its id alone, so a file comes out as its collection would.

        zcat collection.tsv.gz | posbias debias - --format tsv > rotated.tsv
    """
    from positionbias.core.errors import SettingError

    raw = _is_raw(collection)
    for flag, given in (("--format", kind), ("--id-field", id_field), ("--text-field", text_field)):
        if given is not None and not raw:
            raise SettingError(f"{flag}: wanted a raw file; found the collection {collection}; leave it out")
    with engine.open() as map_shards:
        facts = engine.host
        if raw:
            _debias_raw(collection, out, rotation, kind, (id_field, text_field), map_shards, overwrite, facts, as_json)
        else:
            _debias_collection(collection, out, rotation, map_shards, overwrite, facts, as_json)


def _is_raw(place: str) -> bool:
    """A file, a pipe or standard input; what is missing is no raw file unless its name looks like one."""
    path = Path(place)
    if place == PIPE or (path.exists() and not path.is_dir()):
        return True
    if not path.exists() and path.suffix in (".tsv", ".jsonl", ".json", ".parquet", ".gz", ".zst", ".txt"):
        from positionbias.core.errors import bad_input

        raise bad_input(path, wanted="a file to rotate, or a collection", found="nothing there", do="check the path")
    return False


def _debias_collection(
    collection: str,
    out: str | None,
    rotation: Rotation,
    map_shards: MapShards,
    overwrite: bool,
    provenance: JsonObject,
    as_json: bool,
) -> None:
    from positionbias.core.collection import find_collection
    from positionbias.positions.debias import debias as write_rotated
    from positionbias.positions.debias import rotation_result

    found = find_collection(collection)
    beside = found.path.resolve()
    place = output_place(out) if out is not None else beside.with_name(f"{beside.name}-rotated-{rotation.seed}")
    rotated = write_rotated(found, place, rotation, map_shards=map_shards, overwrite=overwrite, provenance=provenance)
    result = rotation_result(rotated)
    print_results([result], as_json=as_json)
    say(f"written to {rotated.path}; see what changed with: posbias histogram {collection} {out or place}")


def _debias_raw(
    source: str,
    out: str | None,
    rotation: Rotation,
    kind: Any,
    fields: tuple[str | None, str | None],
    map_shards: MapShards,
    overwrite: bool,
    provenance: JsonObject,
    as_json: bool,
) -> None:
    from positionbias.core.errors import SettingError
    from positionbias.positions.raw_files import Pipe, debias_file, raw_result
    from positionbias.positions.raw_formats import format_of
    from positionbias.positions.raw_jsonl import Fields

    is_file = source != PIPE and Path(source).is_file()
    if kind is None and not is_file:
        raise SettingError("--format: wanted tsv, jsonl or squad for a pipe, whose name tells nothing; found none; give it")
    if out is None and is_file:
        raise SettingError(
            f"--out: wanted the file to write for the file {source}; found none; give --out FILE, or --out - for a pipe"
        )
    piped = out in (None, PIPE)
    if piped and sys.stdout.name == os.devnull:  # as ``main`` opens it in place of a closed one
        raise SettingError("--out: wanted an open standard output to write to; found it closed; give --out FILE")
    given = Path(source) if is_file else _open_pipe(source)
    place = Pipe(sys.stdout.buffer, "standard output") if piped else Path(str(out))
    rotated = debias_file(
        given,
        place,
        rotation,
        kind or format_of(Path(source)),
        fields=Fields(*fields),
        map_shards=map_shards,
        overwrite=overwrite,
        provenance=provenance,
    )
    result = raw_result(rotated)
    if isinstance(place, Path):
        print_results([result], as_json=as_json)
        say(f"written to {place}, and what made it to {place}.manifest.json")
    elif as_json:  # standard output is taken by the data
        from positionbias.core.terminal import json_line

        sys.stderr.write(json_line({"results": [result.to_json()]}))
    else:
        from positionbias.report.text import text_of

        say(text_of([result]))


def _open_pipe(source: str) -> Pipe:
    from positionbias.core.errors import bad_input
    from positionbias.core.files import decompressed
    from positionbias.positions.raw_files import Pipe

    if source == PIPE:
        return Pipe(decompressed(sys.stdin.buffer, "standard input"), "standard input")  # type: ignore[arg-type]
    if not Path(source).is_fifo():
        do = "give a file, a pipe, or - for standard input"
        raise bad_input(source, wanted="a file or a pipe", found="a device or socket", do=do)
    return Pipe(decompressed(Path(source).open("rb"), source), source)
