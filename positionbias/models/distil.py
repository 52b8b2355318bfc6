"""Word vectors from a pre-trained encoder that reads each word of a collection as a separate text.

The recipe is that of static embeddings (model2vec: Tulkens & van Dongen 2024): the mean of the last
hidden states over the word's pieces, with the special tokens around them; principal components; a
weight that falls with the word's frequency (SIF: Arora et al. 2017). model2vec itself, without
text, infers the frequency from the rank by Zipf's law; we have the counts [decision].
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.outcome import Written, hint_written
from positionbias.core.places import Place, pasted
from positionbias.core.progress import step
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.rows import counted_rows
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.encoder_source import encoder_folder
from positionbias.models.identity import model_checksum
from positionbias.models.settings import DistilSettings
from positionbias.models.torch_threads import torch_threads
from positionbias.models.vector_file import save_vectors
from positionbias.text.splitter import USUAL_WORDS
from positionbias.text.vocabulary import Vocabulary, known_words

# root mean square of the written values: as GloVe's, and as TK's random word vectors
DEVIATION = 0.4
MINIMUM_COUNT = 2  # occurrences from which a word has a vector [decision]
BATCH_WORDS = 256  # words read together
PIECES = 64  # pieces read of a word: longer words are addresses and accidents
_BLOCK = 1 << 14  # rows in double precision at a time


def word_states(
    encoder: Encoder, rows: Sequence[Sequence[int]], batch_size: int, threads: int = 1
) -> np.ndarray:
    """Return the mean last hidden state of each row of pieces with special tokens:
    ``(len(rows), encoder.dimension)`` float32.

    A batch holds rows of one length, so that nothing is padded. One thread reads each, so their
    number does not change the result.
    """
    out = np.empty((len(rows), encoder.dimension), np.float32)

    def read(batch: Sequence[int]) -> int:
        with torch.inference_mode():
            inputs = encoder.assemble(
                [rows[row] for row in batch], limit=PIECES + encoder.template.single.added
            )
            states = encoder.last_hidden(**inputs)  # (batch, length, dim)
            out[batch] = states.float().mean(dim=1).numpy()
        return len(batch)

    pool = ThreadPoolExecutor(threads)
    try:
        with torch_threads(1), step("encoding words", len(rows), unit="words") as bar:
            for count in pool.map(read, _batches(rows, batch_size)):
                bar.advance(count)
    finally:
        pool.shutdown(cancel_futures=True)  # Ctrl-C waits for the running batches only
    return out


def _batches(rows: Sequence[Sequence[int]], size: int) -> Iterator[list[int]]:
    """Yield indices of rows of one length, at most ``size`` at a time."""
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(place)
    for length in sorted(by_length):
        places = by_length[length]
        yield from (places[start : start + size] for start in range(0, len(places), size))


def principal_components(vectors: np.ndarray, dimension: int) -> tuple[np.ndarray, float]:
    """Project centred ``vectors (n, width)`` on their first ``dimension`` components, float32; also
    return their share of variance.

    Each component's largest loading is positive, as its sign would be arbitrary. Computed in double
    precision, by blocks.
    """
    rows, width = torch.from_numpy(vectors), vectors.shape[1]
    with torch_threads(1):
        mean = torch.zeros(width, dtype=torch.float64)
        for block in rows.split(_BLOCK):
            mean += block.sum(dim=0, dtype=torch.float64) / len(rows)
        covariance = torch.zeros(width, width, dtype=torch.float64)
        for block in rows.split(_BLOCK):
            centred = block.double() - mean
            covariance += centred.T @ centred / max(1, len(rows) - 1)
        values, components = torch.linalg.eigh(covariance)  # in ascending order
        values, components = values.flip(0).clamp(min=0), components.flip(1)[:, :dimension]
        components = components * components.gather(0, components.abs().argmax(dim=0)[None]).sign()
        scores = torch.cat(
            [((block.double() - mean) @ components).float() for block in rows.split(_BLOCK)]
        )
    return scores.numpy(), float(values[:dimension].sum() / values.sum().clamp(min=1e-300))


def frequency_weights(counts: np.ndarray, total: int, coefficient: float) -> np.ndarray:
    """Return the SIF weights a / (a + count / total) of each word, ``(n,)`` float64; a = 0 gives
    ones.

    Source: Arora, Liang & Ma (2017), Eq. 3.
    """
    if coefficient == 0:
        return np.ones(len(counts))
    return coefficient / (coefficient + counts / total)


def distil(
    collections: Sequence[Collection],
    encoder_name: str,
    out: Path,
    settings: DistilSettings | None = None,
    *,
    split: str | None = None,
    threads: int = 1,
    overwrite: bool = False,
) -> Manifest:
    """Write the vectors of the collections' words, most frequent first, to ``out``, and a manifest
    beside it; return the manifest.

    Words without a piece known to the encoder are skipped and counted, as they would all share one
    vector [decision]. The result is scaled to a root mean square of 0.4 [decision].

    Raises:
        SettingError: an encoder narrower than ``dimension``, or too few words for as many
            components.
        InputError: the encoder cannot be loaded, or no such split.
    """
    settings = settings or DistilSettings()
    refuse_existing(out, overwrite=overwrite, folder=False)
    folder = encoder_folder(encoder_name)
    encoder = open_encoder(folder).eval()
    if encoder.dimension < settings.dimension:
        raise SettingError(
            f"--dimension: wanted at most {encoder.dimension}, the width of {encoder_name}; found "
            f"{settings.dimension}; lower it (and give the same to training), or take a wider "
            "encoder"
        )
    counts = known_words(collections, None if split is None else (split,))
    words, rows, unknown = _readable(encoder, Vocabulary.build(counts, minimum=MINIMUM_COUNT).words)
    if len(words) <= settings.dimension:
        raise SettingError(
            f"--dimension: wanted fewer than the {len(words):,} words to be distilled; found "
            f"{settings.dimension}; lower it, or give a larger collection"
        )
    vectors, kept = principal_components(
        word_states(encoder, rows, BATCH_WORDS, threads), settings.dimension
    )
    numbers = np.fromiter((counts[word] for word in words), np.float64, len(words))
    vectors *= frequency_weights(numbers, counts.total(), settings.sif_coefficient)[:, None]
    vectors *= DEVIATION / math.sqrt(np.square(vectors, dtype=np.float64).mean())
    with atomic_file(out, overwrite=overwrite) as partial:
        save_vectors(partial, words, vectors)
        figures = {
            "words": len(words),
            "dimension": settings.dimension,
            "variance_kept": kept,
            "words_without_pieces": unknown,
            "words_too_rare": len(counts) - len(words) - unknown,
        }
        given = {"encoder": encoder_name, "split": split, **asdict(settings)}
        manifest = _manifest(out, partial, folder, collections, given, figures, threads)
        write_manifest(manifest_path(partial), manifest)
    return manifest


def _readable(encoder: Encoder, words: Sequence[str]) -> tuple[list[str], list[list[int]], int]:
    """Return the words with a piece known to the encoder, their pieces, and the number of
    others.
    """
    unknown = encoder.tokenizer.unk_token_id
    kept: list[tuple[str, list[int]]] = []
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        pieces = encoder.read(block, PIECES)
        kept += [
            (word, row)
            for word, row in zip(block, pieces, strict=True)
            if any(piece != unknown for piece in row)
        ]
    return [word for word, _ in kept], [row for _, row in kept], len(words) - len(kept)


def _manifest(
    out: Path,
    written: Path,
    folder: Path,
    collections: Sequence[Collection],
    settings: JsonObject,
    figures: JsonObject,
    threads: int,
) -> Manifest:
    collected = [
        input_ref("collection", item.path, item.checksum, artefact=out) for item in collections
    ]
    licences = dict.fromkeys(
        f"{item.name}: {item.manifest.licence or 'not stated'}" for item in collections
    )
    return Manifest(
        kind="vectors",
        name=out.name.partition(".")[0],
        command="vectors",
        settings=settings,
        inputs=(input_ref("encoder", folder, model_checksum(folder), artefact=out), *collected),
        content={"checksum": sha256_file(written), **figures},
        licence="; ".join([f"encoder: {_licence(folder)}", *licences]),
        notes=(
            "A word's vector is the mean last hidden state over its pieces and the special tokens "
            "around them, on principal components, as model2vec makes it.",
            "The weight a / (a + p) takes p from the collections' own counts.",
            f"Scaled to a root mean square of {DEVIATION}.",
            "Words of which the encoder knows no piece are left out.",
        ),
        versions=package_versions("numpy", "torch", "transformers", "safetensors", USUAL_WORDS),
        provenance=provenance(threads=threads),
    )


def _licence(folder: Path) -> str:
    """Return the licence in the model card's header."""
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    found = re.match(r"---\n(?:.*\n)*?license:[ ]*(\S+)", text.partition("\n---\n")[0])
    return found[1] if found else "not stated"


def distil_vectors(
    collections: Sequence[CollectionLike],
    encoder: str,
    out: Place,
    settings: DistilSettings,
    *,
    split: str | None,
    threads: int,
    overwrite: bool,
) -> Written:
    """Write the vectors of the collections' words, as ``distil``; return their counts as rows."""
    opened, place = [find_collection(collection) for collection in collections], Path(out)
    facts: Mapping[str, Any] = distil(
        opened, encoder, place, settings, split=split, threads=threads, overwrite=overwrite
    ).content
    hint_written(place, f"next: posbias train tk COLLECTION --word-vectors {pasted(place)} …")
    numbers = {
        "words": facts["words"],
        "numbers a word": facts["dimension"],
        "words too rare": facts["words_too_rare"],
        "words that the encoder cannot read": facts["words_without_pieces"],
    }
    names = "+".join(collection.name for collection in opened)
    rows = counted_rows("vectors", numbers, collection=names, split=split or "train")
    return Written(place, rows=rows)
