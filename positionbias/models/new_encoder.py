"""Make a small BERT with random weights and word pieces learned from collections, for use without a
network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from positionbias.core.collection import find_collection
from positionbias.core.errors import InputError
from positionbias.core.inputs import CollectionLike
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.publish import atomic_folder, refuse_existing
from positionbias.core.seeds import key64
from positionbias.models.encoder import save_pretrained
from positionbias.models.identity import model_checksum
from positionbias.models.libraries import transformers_library
from positionbias.models.settings import SPECIAL, EncoderSettings
from positionbias.text.vocabulary import known_words
from positionbias.text.word_pieces import learn_pieces

KIND = "encoder"


def make_encoder(
    collections: Sequence[CollectionLike],
    out: Path | str,
    settings: EncoderSettings | None = None,
    *,
    overwrite: bool = False,
) -> Manifest:
    """Write a small BERT with random weights, its word pieces learned from the collections.

    It is for a machine without a pre-trained encoder, and for experiments on planted collections,
    where what an encoder has read before is of no use. A bert_cat or bert_dot that begins with it
    needs far more steps, and a higher learning rate. Feed-forward layers are four times as wide as
    the encoder, and weights are drawn as BERT's.

    Args:
        collections: Collections; pieces are learned from all passages and the training queries.
        out: The folder to write, in Hugging Face's layout, with a manifest.
        settings: Layers, width, heads, word pieces, and the seed of the weights; the same content
            and settings give the same folder.
        overwrite: Replace what stands at ``out``.

    Returns:
        The manifest; its ``content`` has the numbers of pieces, words and weights.

    Raises:
        InputError: collections without words.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import EncoderSettings
        >>> tiny = EncoderSettings(layers=1, width=8, heads=2, pieces=90)
        >>> pb.make_encoder(["planted"], "tiny-bert", tiny).content["weights"]
        5720
    """
    settings, out = settings or EncoderSettings(), Path(out)
    refuse_existing(out, overwrite=overwrite)
    opened = [find_collection(collection) for collection in collections]
    counts = _normal_words(known_words(opened, None))
    if not counts:
        names = ", ".join(str(collection.path) for collection in opened)
        raise InputError(
            f"{names}: wanted passages to learn word pieces from; found no word in them; give "
            "another collection"
        )
    pieces = [*SPECIAL, *learn_pieces(counts, settings.pieces - len(SPECIAL))]
    with atomic_folder(out, overwrite=overwrite) as partial:
        model = _random_bert(settings, len(pieces))
        save_pretrained(partial, model, _tokenizer(pieces), length=settings.max_length)
        manifest = Manifest(
            kind=KIND,
            name=out.name,
            command="make_encoder",
            settings={name: value for name, value in asdict(settings).items() if name != "seed"},
            seed=settings.seed,
            inputs=tuple(input_ref("collection", c.path, c.checksum, artefact=out) for c in opened),
            content={
                "checksum": model_checksum(partial),
                "pieces": len(pieces),
                "words": len(counts),
                "weights": sum(weight.numel() for weight in model.parameters()),
            },
            licence="; ".join(f"{c.name}: {c.manifest.licence or 'not stated'}" for c in opened),
            notes=("Weights are random: the encoder has read nothing.",),
            versions=package_versions("torch", "transformers", "tokenizers"),
            provenance=provenance(),
        )
        write_manifest(manifest_path(partial), manifest)
    return manifest


def _normal_words(counts: Counter[str]) -> Counter[str]:
    """Normalise words as BERT's tokenizer does: without accents, separated from punctuation."""
    normalizer, parts = BertNormalizer(lowercase=True), BertPreTokenizer()
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for part, _ in parts.pre_tokenize_str(normalizer.normalize_str(word)):
            found[part] += count
    return found


def _tokenizer(pieces: Sequence[str]) -> Any:
    return transformers_library().BertTokenizer(
        vocab={piece: number for number, piece in enumerate(pieces)}, do_lower_case=True
    )


def _random_bert(settings: EncoderSettings, pieces: int) -> Any:
    shape = transformers_library().BertConfig(
        vocab_size=pieces,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.width,
        max_position_embeddings=settings.max_length,
    )
    # uses the global generator, which is seeded here and restored
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key64(settings.seed, "encoder weights") % 2**63)
        return transformers_library().BertModel(shape, add_pooling_layer=False)
