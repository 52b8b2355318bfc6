"""Merge collections into one, with each id behind its collection's prefix: ``A:17`` is ``17`` of
collection A.

Splits of the same name become one split, and so do their judgement sets [decision]: training across
corpora needs one train split, and the prefix identifies the parts. With ``apart`` they stay
separate, A's split train as A.train, to train on one corpus and test on another. Nothing is
de-duplicated. Runs and training groups beside a collection are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards
from positionbias.corpora.copied import copy_passages, parts_of

SEPARATOR = ":"


def merge(
    collections: Mapping[str, Collection],
    out: Path | str,
    *,
    apart: bool = False,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Write collections, given by prefix, as one; passages follow in the order of the collections.

    Raises:
        SettingError: fewer than two collections, or a prefix that is not a plain word.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    _check_prefixes(collections)
    out = Path(out)
    merged: dict[str, JsonObject] = {
        prefix: {"checksum": c.checksum, "passages": len(c)} for prefix, c in collections.items()
    }
    names: JsonObject = {prefix: c.name for prefix, c in collections.items()}
    job: JsonObject = {"command": "merge", "collections": merged, "apart": apart}
    with create_collection(out, overwrite=overwrite, job=job) as writer:
        parts = [
            part
            for prefix, collection in collections.items()
            for part in parts_of(collection, prefix=under(prefix, ""))
        ]
        copy_passages(writer, parts, "merging", map_shards)
        for name, splits in _splits(collections, apart).items():
            writer.add_tables(name, _joined(splits))
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="merge",
                settings={"collections": names, "apart": apart},
                inputs=tuple(
                    input_ref(prefix, c.path, c.checksum, artefact=out)
                    for prefix, c in collections.items()
                ),
                licence="; ".join(
                    f"{prefix}: {c.manifest.licence or 'not stated'}"
                    for prefix, c in collections.items()
                ),
                notes=(
                    f"Ids follow their collection's prefix and {SEPARATOR!r}; splits of the same "
                    f"name were {'kept apart, behind the prefix and a dot' if apart else 'joined'}"
                    ".",
                    *dict.fromkeys(
                        note
                        for collection in collections.values()
                        for note in collection.manifest.notes
                    ),
                ),
                content={"merged": merged},
                provenance=provenance or {},
            ),
            allow_absent=True,  # judged passages missing in a collection are missing here too
        )
    return Collection(out)


def _check_prefixes(collections: Mapping[str, Collection]) -> None:
    if len(collections) < 2:
        raise SettingError(
            f"NAME=COLLECTION: wanted two collections or more; found {len(collections)}; give each "
            "its name"
        )
    for prefix in collections:
        if not re.fullmatch(r"[\w.-]+", prefix):
            raise SettingError(
                f"{prefix}=: wanted a prefix of letters, digits, '_', '.' and '-', as ids must be "
                f"free of spaces and the first {SEPARATOR!r} must end it; found {prefix!r}; give "
                "another"
            )


def under(prefix: str, item: str) -> str:
    """Return the id in the merged collection.

    >>> under("A", "17")
    'A:17'
    """
    return f"{prefix}{SEPARATOR}{item}"


def _splits(
    collections: Mapping[str, Collection], apart: bool
) -> dict[str, list[dict[str, pa.Table]]]:
    """Return the splits to write, by name, each with the tables that it is merged from."""
    splits: dict[str, list[dict[str, pa.Table]]] = {}
    for prefix, collection in collections.items():
        for split in collection.splits:
            tables = collection.tables(split).items()
            prefixed = {kind: _prefixed(table, prefix) for kind, table in tables}
            splits.setdefault(f"{prefix}.{split}" if apart else split, []).append(prefixed)
    return splits


def _prefixed(table: pa.Table, prefix: str) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if name in ("query_id", "passage_id"):
            ids = pc.binary_join_element_wise(pa.scalar(prefix), table[name], SEPARATOR)
            table = table.set_column(place, table.schema.field(name), ids)
    return table


def _joined(splits: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    kinds = dict.fromkeys(kind for tables in splits for kind in tables)
    return {
        kind: pa.concat_tables(tables[kind] for tables in splits if kind in tables)
        for kind in kinds
    }


def named(given: Sequence[str]) -> dict[str, Collection]:
    """Return the collections that were given as NAME=COLLECTION, by name.

    Raises:
        SettingError: another form, or a name twice.
    """
    collections: dict[str, Collection] = {}
    for text in given:
        prefix, equals, place = text.partition("=")
        if not (equals and prefix and place):
            raise SettingError(
                f"COLLECTION: wanted NAME=COLLECTION, as in A=msmarco B=squad; found {text!r}; "
                "name each"
            )
        if prefix in collections:
            raise SettingError(
                f"COLLECTION: wanted a name of its own for each; found {prefix!r} twice; give "
                "another"
            )
        collections[prefix] = find_collection(place)
    return collections
