"""``posbias import irds``."""

from __future__ import annotations

import os
from contextlib import nullcontext, redirect_stderr

import click

from positionbias.cli.common import json_option, out_option, output_place, overwrite_option, say
from positionbias.cli.imports.common import report_import

__all__ = ["irds"]

_LEFT_OUT = {
    "judged_again": "pairs judged several times, kept once with the highest grade",
    "judgements_of_other_queries": "judgements of queries that are not there, left out",
    "blank_answers": "answers without text, left out",
    "answers_in_absent_passages": "answers in passages that are not there, left out",
}


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="[SPLIT=]NAME...")
@out_option(what="The collection.")
@overwrite_option
@json_option
def irds(names: tuple[str, ...], out: str, overwrite: bool, as_json: bool) -> None:
    """Data sets by their ids in ir_datasets, which downloads and checks them.

    \b
    posbias import irds beir/scifact/train beir/scifact/test --out scifact
    posbias import irds train=msmarco-qna/train test=msmarco-qna/dev --out qna
    posbias import irds train=tripclick/train head_validation=tripclick/val/head head_validation.dctr=tripclick/val/head/dctr --out tc

    Several names share their documents and become splits; without SPLIT= the name tells it (dev is validation, else test).
    SPLIT.SET= brings further judgements of a split, for --qrels-name.
    msmarco-qna brings answers. Downloads are kept in $IR_DATASETS_HOME (default ~/.ir_datasets).
    """
    from positionbias.formats.irds import import_irds, split_of

    quiet = click.get_current_context().find_root().params.get("quiet")

    pairs = [name.partition("=") for name in names]
    chosen = [(first, last) if equals else (split_of(first), first) for first, equals, last in pairs]
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stderr(nowhere) if quiet else nullcontext(),
    ):  # ir_datasets has bars of its own
        collection = import_irds(chosen, output_place(out), overwrite=overwrite)
    for split, counts in collection.manifest.content["source"]["splits"].items():
        for name, count in counts.items():
            say(f"{split}: {count:,} {_LEFT_OUT[name]}")
    report_import(collection, out, as_json)
