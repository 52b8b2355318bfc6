"""monoT5: a T5 reads query and passage together and answers "true" or "false" (Nogueira et al.
2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import InputError, SettingError
from positionbias.core.json_text import JsonObject
from positionbias.models.encoder import read_pretrained, save_pretrained, unreadable
from positionbias.models.encoder_source import check_encoder_folder, encoder_folder
from positionbias.models.encoder_template import Frame, Template, plain_read
from positionbias.models.libraries import transformers_library
from positionbias.models.linear import use_fast_linears
from positionbias.models.protocols import Role, Tokens
from positionbias.models.relevance import log_relevance
from positionbias.models.shapes import MonoT5Config
from positionbias.models.tensors import read_shape

# before the query, before the passage, and at the end
_WORDS = ("Query:", "Document:", "Relevant:")
_ANSWERS = ("false", "true")
_WANTED = "a T5 with its tokenizer"
_DO = "give another T5, as t5-base"


class T5(nn.Module):
    """A T5 and its tokenizer, with the token numbers of the words around both texts and of the
    answers.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        use_fast_linears(model)
        self.model, self.tokenizer = model, tokenizer
        if tokenizer.pad_token_id is None or tokenizer.eos_token_id is None:
            raise ValueError("a tokenizer without a token for padding, or for the end")
        before, between, after = self.read(_WORDS)
        frame = Frame(
            (tuple(before), tuple(between), (*after, tokenizer.eos_token_id)), ((), (), ()), ()
        )
        self.template = Template(frame, frame, tokenizer.pad_token_id, 0, typed=False)
        # the first of several pieces, as in the original
        self.answers = [row[0] for row in self.read(_ANSWERS) if row]
        if len(set(self.answers)) < 2:
            raise ValueError(f'a tokenizer that begins "{_ANSWERS[1]}" and "{_ANSWERS[0]}" alike')
        self.start = model.config.decoder_start_token_id
        if self.start is None:
            self.start = tokenizer.pad_token_id

    def read(self, texts: Sequence[str], limit: int | None = None) -> list[list[int]]:
        """Return the token numbers of texts stripped of white space [decision], the first ``limit``
        of each.
        """
        return plain_read(self.tokenizer, [text.strip() for text in texts], limit)

    def logits(self, **inputs: Tensor) -> Tensor:
        """Return the logits ``(n, 2)`` of false and true at the decoder's first step, the last
        product in full precision.
        """
        model, numbers = self.model, inputs["input_ids"]
        mask = inputs.get("attention_mask")
        mask = torch.ones_like(numbers) if mask is None else mask
        # (n, length, dim)
        read = model.encoder(input_ids=numbers, attention_mask=mask).last_hidden_state
        first = numbers.new_full((len(numbers), 1), self.start)
        said = model.decoder(
            input_ids=first,
            encoder_hidden_states=read,
            encoder_attention_mask=mask,
            use_cache=False,
        ).last_hidden_state[:, 0]  # (n, dim)
        with torch.autocast(numbers.device.type, enabled=False):
            said = said.float() * (model.config.d_model**-0.5 if _scales(model.config) else 1.0)
            return F.linear(said, model.lm_head.weight[self.answers].float())


def _scales(config: Any) -> bool:
    """Return True if transformers scales the decoder's output before the last product (T5 before
    version 1.1).
    """
    if config.model_type == "umt5":
        return bool(config.tie_word_embeddings)
    return bool(getattr(config, "scale_decoder_outputs", False))


class MonoT5(nn.Module):
    """The model: s = log softmax(false, true) of the first token after "Query: q Document: p
    Relevant:", of true.

    T5's dropout acts in training.
    """

    kind: ClassVar[str] = "mono_t5"

    def __init__(self, config: MonoT5Config, t5: T5) -> None:
        super().__init__()
        self.config, self.t5 = config, t5
        added = t5.template.pair.added
        if config.pair_length < added + 2:
            found = f"found {config.pair_length}; raise it"
            raise SettingError(
                f"--pair-length: wanted at least {added + 2} ({added} of them around the texts); "
                f"{found}"
            )

    @classmethod
    def over(cls, config: MonoT5Config, name: str) -> Self:
        """Make a new model over a T5: a folder, or a hub id."""
        return cls(config, load_t5(name))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.t5.model.device

    @property
    def room(self) -> int:
        """The maximum of word pieces read of query and passage together."""
        return self.config.pair_length - self.t5.template.pair.added

    # -- reading -----------------------------------------------------------------------------------

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, as many as a pair has room for."""
        return self.t5.read(texts, self.room)

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, as many as a pair has room for; pairs are cut when
        they are assembled.
        """
        return self.t5.read(texts, self.room)

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: ``input_ids``, and with padding ``attention_mask``, each
        ``(n, length)``.
        """
        asked = [queries[index % len(queries)] for index in range(len(passages))]
        return self.t5.template.assemble(
            [
                (query, passage[: self.room - len(query)])
                for query, passage in zip(asked, passages, strict=True)
            ]
        )

    # -- scoring -----------------------------------------------------------------------------------

    def forward(self, **inputs: Tensor) -> Tensor:
        """Return scores ``(n,)``: log-probabilities, in full precision."""
        return log_relevance(self.t5.logits(**inputs))

    # -- training and keeping ----------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Give all weights one role."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}

    def save(self, folder: Path) -> None:
        """Save model and tokenizer in transformers' format, which is all that a T5 with answers
        true and false needs.
        """
        save_pretrained(folder, self.t5.model, self.t5.tokenizer, length=self.config.pair_length)

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        return cls(read_shape(MonoT5Config, shape, folder), load_t5(check_encoder_folder(folder)))


def load_t5(name: str | Path) -> T5:
    """Load a T5 of transformers (t5, mt5, umt5; version 1.1 and Flan-T5 too): a folder, or a
    Hugging Face id.

    Raises:
        InputError: a folder without config, weights or tokenizer; an unreachable hub id; a model of
            another kind; a tokenizer that
        does not distinguish true and false.
    """
    folder = encoder_folder(name)
    try:
        kind = transformers_library().AutoModelForSeq2SeqLM
        model, tokenizer, lacking = read_pretrained(folder, kind)
        if model.config.model_type not in ("t5", "mt5", "umt5"):
            raise ValueError(f"a {model.config.model_type}")
        if lacking:
            raise ValueError(f"no tensor {min(lacking)}")
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            raise ValueError(f"a tokenizer of {len(tokenizer):,} tokens with embeddings for fewer")
        return T5(model, tokenizer)
    except InputError:
        raise
    # transformers, tokenizers and safetensors each have errors of their own
    except Exception as error:
        raise unreadable(folder, error, wanted=_WANTED, do=_DO) from error
