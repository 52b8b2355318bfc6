"""Tiny encoders of many architectures, each with a tokenizer of its own form, as folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from positionbias.models.encoder import quiet_transformers

from ..tiny import tiny_tokenizer

SHAPE = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "initializer_range": 0.5,
}


def roberta_tokenizer() -> Any:
    """<s> first </s> </s> second </s>, padding with number 1, no token types: RoBERTa's form,
    spelling by letters.
    """
    from transformers import PreTrainedTokenizerFast

    pieces = ["<s>", "<pad>", "</s>", "<unk>", *ascii_lowercase]
    core = Tokenizer(
        models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>")
    )
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Split("", "isolated")]
    )
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        cls_token="<s>",
        sep_token="</s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=60,
    )


def _bert(kind: str) -> tuple[Any, Any]:
    import transformers

    return getattr(transformers, f"{kind}Config")(
        vocab_size=len(tiny_tokenizer()), max_position_embeddings=64, **SHAPE
    ), (tiny_tokenizer())


def _electra() -> tuple[Any, Any]:
    from transformers import ElectraConfig

    return ElectraConfig(
        vocab_size=len(tiny_tokenizer()), max_position_embeddings=64, embedding_size=8, **SHAPE
    ), tiny_tokenizer()


def _distilbert() -> tuple[Any, Any]:
    from transformers import DistilBertConfig

    size = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "initializer_range": 0.5}
    return DistilBertConfig(
        vocab_size=len(tiny_tokenizer()), max_position_embeddings=64, **size
    ), tiny_tokenizer()


def _roberta(kind: str) -> tuple[Any, Any]:
    import transformers

    tokenizer = roberta_tokenizer()
    numbers = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    return getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), max_position_embeddings=66, **numbers, **SHAPE
    ), (tokenizer)


def _modernbert() -> tuple[Any, Any]:
    from transformers import ModernBertConfig

    tokenizer = tiny_tokenizer()
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    numbers = {
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "cls_token_id": 2,
        "sep_token_id": 3,
    }
    return ModernBertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=64, **numbers, **SHAPE
    ), tokenizer


ARCHITECTURES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "bert": lambda: _bert("Bert"),
    "electra": _electra,
    "distilbert": _distilbert,
    "roberta": lambda: _roberta("Roberta"),
    "xlm-roberta": lambda: _roberta("XLMRoberta"),
    "camembert": lambda: _roberta("Camembert"),
    "modernbert": _modernbert,
    "mpnet": lambda: _roberta("MPNet"),
}


def saved(architecture: str, folder: Path, *, classifier: bool = False, labels: int = 1) -> Path:
    """A folder of an architecture with random weights; with ``classifier`` a sequence
    classifier.
    """
    from transformers import AutoModel, AutoModelForSequenceClassification

    torch.manual_seed(3)
    config, tokenizer = ARCHITECTURES[architecture]()
    config.num_labels = labels
    with quiet_transformers():
        (AutoModelForSequenceClassification if classifier else AutoModel).from_config(
            config
        ).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder
