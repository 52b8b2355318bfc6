"""Small T5s with random weights, each with a tokenizer of its own, as folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from positionbias.models.encoder import quiet_transformers

WORDS = (
    "Query:",
    "Document:",
    "Relevant:",
    "true",
    "false",
    "what",
    "is",
    "the",
    "lamp",
    "gate",
    "green",
    "iron",
    "oil",
)


def t5_tokenizer(words: Sequence[str] = WORDS) -> Any:
    """SentencePiece's form: ▁ before each word, some words whole, all else by letters; </s> at the
    end.
    """
    from transformers import PreTrainedTokenizerFast

    letters = "▁.,:" + ascii_lowercase + ascii_lowercase.upper()
    pieces = [
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", -30.0),
        *((f"▁{word}", -2.0) for word in words),
    ]
    pieces += [(letter, -10.0) for letter in letters]
    core = Tokenizer(models.Unigram(pieces, unk_id=2, byte_fallback=False))
    core.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def saved_t5(folder: Path, *, version: str = "t5", tokenizer: Any = None, seed: int = 3) -> Path:
    """A folder of ``t5`` (1.0: the head is the embedding), ``v1.1`` (a head of its own, gated),
    ``mt5`` or ``umt5``.
    """
    import transformers

    torch.manual_seed(seed)
    tokenizer = tokenizer or t5_tokenizer()
    shape = {
        "d_model": 16,
        "d_kv": 8,
        "d_ff": 24,
        "num_layers": 2,
        "num_heads": 2,
        "vocab_size": len(tokenizer) + 3,
    }
    name = {"t5": "T5", "v1.1": "T5", "mt5": "MT5", "umt5": "UMT5"}[version]
    changes = (
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
        if version == "v1.1"
        else {}
    )
    config = getattr(transformers, f"{name}Config")(
        **shape, decoder_start_token_id=0, initializer_factor=1.0, **changes
    )
    with quiet_transformers():
        getattr(transformers, f"{name}ForConditionalGeneration")(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder
