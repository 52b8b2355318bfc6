"""Make the folder that ``evidence.sh`` is given: all of its data, in at most 52 MB, for a machine
without a network.

    python benchmarks/gpu/pack.py $POSBIAS_DATA --wheels WHEELS --out FOLDER

    squad/      train.json.gz, test.json.gz; density.json, where MS MARCO's answers stand (counts
                alone)
    msmarco/    collection.tsv.gz, queries, judgements and candidates of training, TREC DL 2019 and
                2020
    minilm/     an encoder: compressed weights in bfloat16, its vocabulary cut to the word pieces
                that occur
    wheels/     packages that the machine lacks, without what its system has no use for
    pack.json   the commit, and every file with its size and checksum

Nothing in it is unpickled by its readers: safetensors, JSON, compressed text, and wheels. The texts
are not to be committed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json, sha256_file
from positionbias.core.publish import atomic_folder, write_json
from positionbias.formats.attach import Attachment
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.msmarco_qa import import_msmarco_qa
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.formats.squad import import_squad
from positionbias.models.encoder_source import MINILM, encoder_folder
from positionbias.positions.histogram import position_histogram
from positionbias.text.words import tokenize

__all__ = ["LIMIT", "cut_encoder", "pack", "slim_wheel"]

LIMIT = 52_000_000  # bytes
TREC = ("dl19", "dl20")
TRAIN = ("queries.train.tsv", "qrels.train.tsv")
# of wheels, models of other tokenizers and libraries of other systems: 42 MB of BlingFire's
_UNUSED = (".bin", ".i2w", ".dll", ".pdb", ".dylib")
_COPIED = ("config.json", "tokenizer_config.json", "special_tokens_map.json")
EMBEDDING = "embeddings.word_embeddings.weight"


def pack(
    data: Path, out: Path, *, encoder: str = MINILM, wheels: Path | None = None, limit: int = LIMIT
) -> dict[str, Any]:
    """Make ``out`` of the data folder that ``POSBIAS_DATA`` names; give back what pack.json says.

    Raises:
        InputError: a file is missing or cannot be read, or all of them take more than ``limit``
            bytes; then nothing is left.
    """
    source = encoder_folder(encoder)
    with atomic_folder(out) as folder, TemporaryDirectory() as scratch:
        squad, msmarco = folder / "squad", folder / "msmarco"
        _compressed(data / "squad" / "train44-v1.1.json", squad / "train.json.gz")
        _compressed(data / "squad" / "dev-v1.1.json", squad / "test.json.gz")
        mini = data / "msmarco_mini"
        _compressed(mini / "collection.tsv", msmarco / "collection.tsv.gz")
        for name in (*TRAIN, *(f"{kind}.{trec}.{end}" for trec in TREC for kind, end in _KINDS)):
            shutil.copyfile(mini / name, msmarco / name)
        spans = import_msmarco_qa(
            {"train": [data / "msmarco_spans" / "qa_v1.1_form.jsonl"]}, Path(scratch) / "spans"
        )
        write_json(squad / "density.json", _density(spans))
        texts = list(_texts(_imported(folder, Path(scratch))))
        counts = cut_encoder(source, Path(scratch) / "minilm", texts)
        for path in sorted((Path(scratch) / "minilm").iterdir()):
            _compressed(path, folder / "minilm" / f"{path.name}.gz")
        for wheel in sorted(wheels.glob("*.whl")) if wheels else ():
            slim_wheel(wheel, folder / "wheels" / wheel.name)
        files = {
            path.relative_to(folder).as_posix(): {
                "bytes": path.stat().st_size,
                "sha256": sha256_file(path),
            }
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        record = {"commit": _commit(), "vocabulary": counts, "files": files}
        write_json(folder / "pack.json", record)
        _check_size(folder, limit)
    return record


_KINDS = (("queries", "tsv"), ("qrels", "txt"), ("bm25", "run"))


def _check_size(folder: Path, limit: int) -> None:
    sizes = {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }
    if (total := sum(sizes.values())) > limit:
        largest = max(sizes, key=lambda name: sizes[name])
        raise InputError(
            f"pack: wanted at most {limit:,} bytes; found {total:,}, of which {largest} has "
            f"{sizes[largest]:,}; leave out or cut a part"
        )


def _compressed(source: Path, target: Path) -> None:
    """A copy by gzip, the same bytes for the same content."""
    if not source.is_file():
        raise bad_input(
            source, wanted="a file of the data folder", found="none", do="check the path"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        open(target, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as handle,
    ):
        handle.write(source.read_bytes())


def _density(collection: Collection) -> dict[str, Any]:
    counted = position_histogram(collection, "train")
    return {"edges": list(counted.edges), "counts": list(counted.counts)}


def _imported(folder: Path, scratch: Path) -> list[Collection]:
    """The packed texts as collections, which also shows that the importers read them."""
    squad, msmarco = folder / "squad", folder / "msmarco"
    attached = [
        Attachment(name, msmarco / f"queries.{name}.tsv", msmarco / f"qrels.{name}.txt")
        for name in TREC
    ]
    parts = [msmarco / name for name in ("collection.tsv.gz", *TRAIN)]
    return [
        import_squad([squad / "train.json.gz"], squad / "test.json.gz", scratch / "squad"),
        import_msmarco(parts, scratch / "msmarco", release=MsmarcoSettings(attach=attached)),
    ]


def _texts(collections: Iterable[Collection]) -> Iterator[str]:
    for collection in collections:
        yield from (passage.text for passage in collection.passages())
        for split in collection.splits:
            yield from (query.text for query in collection.queries(split))


def cut_encoder(source: Path, target: Path, texts: Sequence[str]) -> dict[str, int]:
    """The encoder in bfloat16 with the word pieces that occur in the texts: as they are, and cut
    between any two words, as rotation cuts them.

    Single characters stay, so that nothing that the whole vocabulary can spell becomes unknown.
    WordPiece takes the longest piece that it has, so a text all of whose pieces are kept is read as
    before.

    Raises:
        InputError: a tokenizer of another kind, which cannot be cut so.
    """
    stated = read_json(source / "tokenizer.json", what="a tokenizer")
    if stated["model"]["type"] != "WordPiece":
        found = f"{stated['model']['type']}"
        raise bad_input(
            source / "tokenizer.json",
            wanted="word pieces",
            found=found,
            do="give an encoder like BERT",
        )
    vocabulary: dict[str, int] = stated["model"]["vocab"]
    kept = {token["content"] for token in stated["added_tokens"]}
    kept |= {piece for piece in vocabulary if len(piece.removeprefix("##")) == 1}
    kept |= _pieces(Tokenizer.from_file(str(source / "tokenizer.json")), texts)
    rows = [
        number
        for piece, number in sorted(vocabulary.items(), key=lambda item: item[1])
        if piece in kept
    ]
    numbers = {old: new for new, old in enumerate(rows)}
    new_vocabulary = {
        piece: numbers[old]
        for piece, old in sorted(vocabulary.items(), key=lambda item: item[1])
        if old in numbers
    }
    stated["model"]["vocab"] = new_vocabulary
    for token in stated["added_tokens"]:
        token["id"] = numbers[token["id"]]
    for token in (stated["post_processor"] or {}).get("special_tokens", {}).values():
        token["ids"] = [numbers[old] for old in token["ids"]]
    target.mkdir(parents=True)
    for name in _COPIED:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    (target / "tokenizer.json").write_text(
        json.dumps(stated, ensure_ascii=False, separators=(",", ":"))
    )
    (target / "vocab.txt").write_text("".join(f"{piece}\n" for piece in new_vocabulary))
    config = read_json(source / "config.json", what="an encoder's config")
    padding = numbers[config.get("pad_token_id") or 0]
    write_json(target / "config.json", {**config, "vocab_size": len(rows), "pad_token_id": padding})
    tensors = load_file(source / "model.safetensors")
    tensors[EMBEDDING] = tensors[EMBEDDING][torch.tensor(rows)]
    halves = {
        name: (t.to(torch.bfloat16) if t.is_floating_point() else t).contiguous()
        for name, t in tensors.items()
    }
    save_file(halves, target / "model.safetensors", metadata={"format": "pt"})
    return {"whole": len(vocabulary), "kept": len(rows)}


def _pieces(tokenizer: Tokenizer, texts: Sequence[str]) -> set[str]:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found: set[str] = set()
    for start in range(0, len(texts), 1_000):
        some = texts[start : start + 1_000]
        for forms in (list(some), [" ".join(tokenize(text)) for text in some]):
            for read in tokenizer.encode_batch(forms, add_special_tokens=False):
                found.update(read.tokens)
    return found


def slim_wheel(source: Path, target: Path) -> None:
    """A wheel without models of other tokenizers and libraries of other systems; it can be unpacked
    as it is, and not be checked by its RECORD.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(source) as whole,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as slim,
    ):
        for member in whole.infolist():
            if not member.filename.endswith(_UNUSED):
                slim.writestr(member, whole.read(member), zipfile.ZIP_DEFLATED)


def _commit() -> str:
    """The commit of this file's checkout, with a mark where files were changed since."""
    here = Path(__file__).parent
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=here,
            capture_output=True,
            text=True,
        )
    except OSError:
        return "unknown"
    return told.stdout.strip() or "unknown"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="The folder that POSBIAS_DATA names.")
    parser.add_argument("--encoder", default=MINILM, help="A folder, or minilm.")
    parser.add_argument("--wheels", type=Path, help="A folder of wheels for the machine.")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        record = pack(given.data, given.out, encoder=given.encoder, wheels=given.wheels)
    except InputError as error:
        raise SystemExit(str(error)) from None
    total = sum(file["bytes"] for file in record["files"].values())
    counts = record["vocabulary"]
    print(
        f"{given.out}: {total:,} bytes; {counts['kept']:,} of {counts['whole']:,} word pieces; "
        f"commit {record['commit']}"
    )


if __name__ == "__main__":
    main()
