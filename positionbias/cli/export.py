"""``posbias export``: a collection goes back into a published form."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import Engine, emit, engine_options, json_option, overwrite_option, say

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

__all__ = ["FORMS", "export"]

# form -> module and name of its writer, imported when it is asked for
FORMS: dict[str, tuple[str, str]] = {
    "msmarco": ("positionbias.formats.msmarco_export", "write_msmarco"),
    "beir": ("positionbias.formats.beir_export", "write_beir"),
    "squad": ("positionbias.formats.squad", "write_squad_release"),
    "trec": ("positionbias.formats.trec_export", "write_trec"),
}
# what a form had no place for, in words; shown where there was any
REMARKS = {
    "left_out": "questions left out: no answer of theirs has a place in its passage",
    "answers_left_out": "answers left out: the form has no place for them",
    "fields_left_out": "fields of queries left out: the form has no place for them",
    "unjudged": "queries without a judgement in a split that has some",
    "without_judgement": "queries without a judgement",
}


@click.command()
@click.argument("collection")
@click.option("--to", "form", type=click.Choice(list(FORMS)), required=True, help="The published form to write.")
@click.option("--split", "splits", multiple=True, help="A split to write; all by default; may be given again.")
@click.option("--squad-version", type=click.Choice(["1.1", "2.0"]), help="With --to squad: which form; 1.1 by default.")
@engine_options
@click.option("--out", required=True, metavar="DIR", help="The folder to write, as a path.")
@overwrite_option
@json_option
def export(
    collection: str,
    form: str,
    splits: tuple[str, ...],
    squad_version: str | None,
    engine: Engine,
    out: str,
    overwrite: bool,
    as_json: bool,
) -> None:
    """COLLECTION in the files of a published form; importing them gives the same content back.

    \b
    msmarco  collection.tsv, queries.*.tsv, qrels.*.tsv
    beir     corpus.jsonl, queries.jsonl, qrels/*.tsv
    trec     docs/*.sgml, topics.*.txt, qrels.*.txt
    squad    train-v1.1.json, which takes validation as well, and dev-v1.1.json, which is test

    SQuAD's form takes a collection that came from SQuAD, rotated or not, with the offsets that hold now. What a form has no place
    for is counted.
    """
    from positionbias.core.collection import find_collection
    from positionbias.core.errors import bad_input
    from positionbias.results.artefacts import EXPORT, ExportCounts
    from positionbias.results.result import Result

    if squad_version and form != "squad":
        raise click.UsageError(f"--squad-version goes with --to squad, not with --to {form}")
    opened = find_collection(collection)
    chosen = list(dict.fromkeys(splits)) or opened.splits
    if form == "squad" and not chosen:
        raise bad_input(
            opened.path, wanted="a split to write in SQuAD's form", found="no splits", do="import it with its questions"
        )
    place = Path(out)
    if form == "squad":
        more: dict[str, Any] = {"version": squad_version or "1.1"}
        written = _write(form, opened, place, chosen, overwrite=overwrite, **more)
    else:
        with engine.open() as map_shards:
            written = _write(form, opened, place, chosen, overwrite=overwrite, map_shards=map_shards)
    result = Result(
        measure=f"{EXPORT}{form}",
        collection=opened.name,
        split="+".join(chosen),
        system="",
        seed=opened.manifest.seed,
        value=None,
        interval=None,
        count=len(opened),
        payload=ExportCounts(rows=written),
    )
    emit([result], as_json=as_json, table=lambda: _counts(written))
    say(f"written to {place}")


def _write(form: str, collection: Collection, place: Any, splits: list[str], **more: Any) -> dict[str, int]:
    module, name = FORMS[form]
    return getattr(importlib.import_module(module), name)(collection, place, splits, **more)._asdict()


def _counts(written: Mapping[str, int]) -> str:
    lines = [", ".join(f"{count:,} {name}" for name, count in written.items() if name not in REMARKS)]
    lines += [f"{count:,} {REMARKS[name]}" for name, count in written.items() if name in REMARKS and count]
    return "\n".join(lines)
