"""Commands that make missing collections, with the publishers' file names."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote

MSMARCO = "posbias import msmarco collectionandqueries.tar.gz"
DL_PASSAGES = "--attach dl{year} msmarco-test20{year}-queries.tsv.gz 20{year}qrels-pass.txt"

# name -> the command without --out
KNOWN: dict[str, str] = {
    "planted": "posbias import planted",
    "squad": (
        "posbias import squad --train train-v1.1.json --test dev-v1.1.json --validation-queries "
        "5000"
    ),
    "squad2": (
        "posbias import squad --train train-v2.0.json --test dev-v2.0.json --validation-queries "
        "5000"
    ),
    "msmarco": MSMARCO,
    "msmarco-docs": (
        "posbias import msmarco-docs msmarco-docs.tsv.gz msmarco-doctrain-queries.tsv.gz "
        "msmarco-doctrain-qrels.tsv.gz msmarco-docdev-queries.tsv.gz msmarco-docdev-qrels.tsv.gz"
    ),
    "msmarco-qa": "posbias import msmarco-qa train_v2.1.json.gz --validation dev_v2.1.json.gz",
    "orcas": "posbias import orcas orcas.tsv.gz --documents msmarco-docs",
    "dl19": f"{MSMARCO} {DL_PASSAGES.format(year=19)}",
    "dl20": f"{MSMARCO} {DL_PASSAGES.format(year=20)}",
    "robust04": (
        "posbias import trec --docs FBIS --docs FR94 --docs FT --docs LATIMES --topics "
        "04.testset.gz --qrels qrels.robust2004.txt"
    ),
    "core17": "posbias import trec --docs nyt_corpus/data --topics core_nist.txt --qrels qrels.txt",
    "core18": (
        "posbias import trec --docs WashingtonPost.v2/data --topics topics2018.txt --qrels "
        "qrels2018.txt"
    ),
    "trec-covid": "posbias import irds beir/trec-covid",
    "scifact": "posbias import irds beir/scifact/train beir/scifact/test",
    "nfcorpus": "posbias import irds beir/nfcorpus/train beir/nfcorpus/dev beir/nfcorpus/test",
    "tripclick": "posbias import irds tripclick/train tripclick/val tripclick/test",
}
_TABLE = re.compile(r"(?<=.)\.(csv|tsv|jsonl?|parquet)(\.gz|\.zst)?$", re.IGNORECASE)


def how_to_get(place: str | Path) -> str:
    """Return the command that makes the collection of this name or path.

    >>> how_to_get("msmarco-rotated-3")
    'make it with: posbias debias msmarco --seed 3'
    >>> how_to_get("data/msmarco")
    'make it with: posbias import msmarco collectionandqueries.tar.gz --out data/msmarco'
    >>> how_to_get("mine.csv")
    'import the table with: posbias import table mine.csv --out mine'
    """
    path = Path(place)
    if (name := _TABLE.sub("", path.name)) != path.name:
        return (
            f"import the table with: posbias import table {quote(str(place))} --out {quote(name)}"
        )
    if path.is_file():
        return "import it with the command for its form: posbias import --help"
    if rotated := re.fullmatch(r"(.+)-rotated-(\d+)", path.name):
        out = "" if path.name == str(place) else f" --out {place}"
        return f"make it with: posbias debias {path.with_name(rotated[1])} --seed {rotated[2]}{out}"
    if rotated := re.fullmatch(r"(.+)-rotated", path.name):
        return f"make it with: posbias debias {path.with_name(rotated[1])} --out {place}"
    name = path.name.lower().replace("_", "-")
    if command := KNOWN.get(name):
        return f"make it with: {command} --out {place}"
    return (
        f"make one with: posbias import planted --out {place}  (or another of: posbias import "
        "--help)"
    )
