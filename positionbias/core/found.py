"""The artefacts in a folder by their kinds, from a manifest's first bytes: what "did you
mean" asks for costs little. Of a collection that is not there, the command that makes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from positionbias.core.files import home
from positionbias.core.seal import MANIFEST

_BEGINS = re.compile(rb'\s*\{\s*"kind":\s*"([\w-]+)"')  # as ``write_manifest`` writes it
_RESULTS = Path("results", MANIFEST)  # of a study
_RECEIPTS = "steps"  # of a study, finished or not


class Found(NamedTuple):
    """An artefact, or what a damaged manifest says of one: its path, kind and manifest."""

    path: Path
    kind: str
    manifest: Path


def artefacts_in(folder: Path) -> Iterator[Found]:
    """Yield the artefacts that stand directly in a folder, by name; the folder itself where it is
    one.

    Hidden ones are unfinished and left out, as is what has no manifest of ours. A study is one
    artefact.
    """
    if (own := _found(folder)) is not None:
        yield own
        return
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        place = folder / name.removesuffix(f".{MANIFEST}")
        if not name.startswith(".") and (name != place.name or os.path.isdir(place)):
            found = _found(place) if name == place.name else _beside(place, folder / name)
            if found is not None:
                yield found


def _found(folder: Path) -> Found | None:
    """Return the artefact that a folder is."""
    if (kind := _kind(folder / MANIFEST, ours=folder.parent == home())) is not None:
        return Found(folder, kind, folder / MANIFEST)
    if os.path.isdir(folder / _RECEIPTS) and (kind := _kind(folder / _RESULTS)) == "results":
        return Found(folder, "study", folder / _RESULTS)
    return None


def _beside(place: Path, manifest: Path) -> Found | None:
    """Return the file whose manifest stands beside it."""
    kind = _kind(manifest, ours=place.parent == home())
    return Found(place, kind, manifest) if kind is not None else None


def _kind(manifest: Path, *, ours: bool = False) -> str | None:
    """Return the kind of a manifest, "" of one too damaged to tell, None of somebody else's;
    ``ours``: only this package writes there.
    """
    try:
        if not manifest.is_file():  # of a pipe, the end never comes
            return None
        with open(manifest, "rb") as handle:
            begins = _BEGINS.match(handle.read(200))
    except OSError:
        return "" if ours else None
    return begins[1].decode() if begins else "" if ours else None


def names_of(*kinds: str) -> list[str]:
    """Return what commands may call the artefacts of these kinds in the working folder and under
    $POSBIAS_HOME.
    """
    here = [
        found.path.name for found in artefacts_in(Path()) if found.kind in kinds and found.path.name
    ]
    kept = [found.path.name for found in artefacts_in(home()) if found.kind in kinds]
    return sorted({*here, *kept})


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
