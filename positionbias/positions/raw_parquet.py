"""Rotate a column of texts in raw Parquet, row group by row group; schema, metadata, other columns and compression stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias.core.budgets import check_ratio
from positionbias.core.errors import bad_input
from positionbias.core.shard_work import MapShards, make_shards
from positionbias.positions.raw_jsonl import ID_FIELDS, TEXT_FIELDS
from positionbias.positions.raw_texts import cuts_of
from positionbias.positions.rotate import Rotation, rotate_at
from positionbias.positions.settings import RawForm

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["WITHOUT_TEXT", "rotate_parquet"]

WITHOUT_TEXT = "without_text"  # null


def rotate_parquet(
    rotation: Rotation, form: RawForm, source: Path, target: Path, parts: Path, map_shards: MapShards = map
) -> Iterator[Mapping[str, int]]:
    """Write ``source`` rotated to ``target`` via one Arrow file per row group in ``parts``; yield the fates of each in order.

    A null text stays null. Memory: one row group per worker.

    Raises:
        InputError: not a Parquet file, no column of ids or texts, or a row without an id.
    """
    import pyarrow as pa
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq

    with _reading(source), pq.ParquetFile(source) as file:
        schema, metadata = file.schema_arrow, file.metadata
    unpacked = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    check_ratio(source, source.stat().st_size, unpacked)
    names = (
        _column(source, schema, form.id_field, ID_FIELDS, "--id-field"),
        _column(source, schema, form.text_field, TEXT_FIELDS, "--text-field"),
    )
    _check_types(source, schema, *names)
    parts.mkdir(exist_ok=True)
    made = make_shards(
        dict[str, int],
        partial(_rotate_group, rotation, source, names),
        range(metadata.num_row_groups),
        lambda index: parts / f"{index:05d}.arrow",
        map_shards,
    )
    with pq.ParquetWriter(target, schema, compression=_compression(metadata), version=metadata.format_version) as writer:
        for index, facts in enumerate(made):
            with pa.memory_map(str(parts / f"{index:05d}.arrow")) as part:
                table = ipc.open_file(part).read_all()
                writer.write_table(table, row_group_size=max(1, len(table)))
            yield facts


def _compression(metadata: pq.FileMetaData) -> dict[str, str] | str:
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    return {column.path_in_schema: "none" if column.compression == "UNCOMPRESSED" else column.compression for column in columns}


def _rotate_group(rotation: Rotation, source: Path, names: tuple[str, str], index: int, target: Path) -> dict[str, int]:
    """Rotate one row group into an Arrow file, independent of the others."""
    import pyarrow as pa
    import pyarrow.ipc as ipc
    import pyarrow.parquet as pq

    with _reading(source), pq.ParquetFile(source) as file:
        table = file.read_row_group(index)
        ids, texts = (table.column(name).to_pylist() for name in names)
    if None in ids:
        raise bad_input(
            source,
            wanted=f"an id in every row of {names[0]!r}",
            found=f"none in row {ids.index(None)} of row group {index}",
            do="fix the file",
        )
    there = [number for number, text in enumerate(texts) if text is not None]
    cuts, counts = cuts_of([texts[number] for number in there], [str(ids[number]).encode() for number in there], rotation)
    for number, cut in zip(there, cuts, strict=True):
        texts[number] = rotate_at(texts[number], cut)
    place = table.schema.get_field_index(names[1])
    field = table.schema.field(place)
    rotated = table.set_column(place, field, _array(texts, field.type))
    with pa.OSFile(str(target), "wb") as sink, ipc.new_file(sink, rotated.schema) as writer:
        writer.write_table(rotated)
    return counts + Counter({WITHOUT_TEXT: len(texts) - len(there)})


def _array(texts: list[str | None], type_: pa.DataType) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return pa.array(texts, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(texts, type_)


def _column(source: Path, schema: pa.Schema, given: str | None, known: tuple[str, ...], flag: str) -> str:
    names = (given,) if given is not None else known
    for name in names:
        if name in schema.names:
            return name
    raise bad_input(
        source,
        wanted=f"a column for {flag} ({', '.join(names)})",
        found=f"the columns {', '.join(schema.names)}",
        do=f"name it with {flag}",
    )


def _check_types(source: Path, schema: pa.Schema, id_name: str, text_name: str) -> None:
    import pyarrow as pa

    def is_text(type_: pa.DataType) -> bool:
        if pa.types.is_dictionary(type_):
            return is_text(type_.value_type)
        return pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)

    for name, flag, good in (
        (id_name, "--id-field", is_text(schema.field(id_name).type) or pa.types.is_integer(schema.field(id_name).type)),
        (text_name, "--text-field", is_text(schema.field(text_name).type)),
    ):
        if not good:
            wanted = f"{name!r} as a column of text" + (" or whole numbers" if name == id_name else "")
            raise bad_input(source, wanted=wanted, found=str(schema.field(name).type), do=f"name another with {flag}")


@contextmanager
def _reading(source: Path) -> Iterator[None]:
    """Turn pyarrow's errors about an unreadable file into one clear line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        found = (str(error).splitlines() or ["nothing"])[0]
        raise bad_input(source, wanted="a complete Parquet file", found=found, do="fetch the file again") from error
