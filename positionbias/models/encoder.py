"""Any Hugging Face text encoder with its tokenizer: texts → token numbers → input tensors → states
of the last layer.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.files import read_json
from positionbias.core.publish import write_json
from positionbias.models.cls_only import cls_logits, cls_states
from positionbias.models.door import check_door
from positionbias.models.encoder_source import encoder_folder
from positionbias.models.encoder_template import (
    ReadsOtherwise,
    assemble,
    plain_read,
    read_template,
    whole_texts,
)
from positionbias.models.hub_kernels import no_kernels
from positionbias.models.inference import inference_form
from positionbias.models.layout import UnsupportedLayout
from positionbias.models.libraries import transformers_library
from positionbias.models.linear import use_fast_linears
from positionbias.models.offset import position_offset
from positionbias.models.protocols import Tokens
from positionbias.models.tensors import none_of, weight_errors

_UNBOUNDED = 512  # tokens, if neither model nor tokenizer has a limit [decision]
NO_LIMIT = 1_000_000  # a tokenizer without a limit has an astronomical one


class Encoder(nn.Module):
    """A pre-trained encoder. ``model`` is the bare model, or one with its own head (``classifier``
    is then true).
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        use_fast_linears(model)
        self.model = model
        self.tokenizer = tokenizer
        whole_texts(tokenizer)
        self.template = read_template(tokenizer)
        taken = inspect.signature(self.backbone.forward).parameters
        if "token_type_ids" not in taken:  # DistilBERT: its tokenizer may be BERT's
            self.template = replace(self.template, typed=False)

    @property
    def backbone(self) -> Any:
        """The model without a head."""
        return self.model.base_model

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.model.device

    @property
    def dimension(self) -> int:
        """The width of a state."""
        return self.backbone.config.hidden_size

    @property
    def positions(self) -> int | None:
        """The number of tokens the encoder has positions for, including special ones; None if
        unknown.
        """
        limit = getattr(self.backbone.config, "max_position_embeddings", None)
        table = getattr(getattr(self.backbone, "embeddings", None), "position_embeddings", None)
        # RoBERTa counts positions from after the padding number
        start = getattr(table, "padding_idx", None)
        if limit is None or limit < 1:
            return None
        return limit if start is None else limit - start - 1

    @property
    def absolute(self) -> bool:
        """True if the encoder has a table of absolute positions."""
        return (
            getattr(getattr(self.backbone, "embeddings", None), "position_embeddings", None)
            is not None
        )

    def most_tokens(self, named: int | None) -> int:
        """Return the smaller of the encoder's positions and the named length, or the tokenizer's
        limit if none is named.
        """
        limits = [
            limit
            for limit in (named or self.tokenizer.model_max_length, self.positions)
            if limit is not None
        ]
        return int(min(limits)) if min(limits) < NO_LIMIT else _UNBOUNDED

    def check_length(self, length: int, flag: str, *, texts: int) -> None:
        """Check that inputs of ``length`` tokens, including special ones, can be made and read.

        Raises:
            SettingError: no room for text beside the special tokens, or more tokens than positions.
        """
        added = (self.template.single if texts == 1 else self.template.pair).added
        if length < added + texts:
            raise SettingError(
                f"{flag}: wanted at least {added + texts} ({added} special tokens); found "
                f"{length}; raise it"
            )
        if self.positions is not None and length > self.positions:
            raise SettingError(
                f"{flag}: wanted at most {self.positions}, the positions of this encoder; found "
                f"{length}; lower it"
            )

    def drop_head(self) -> Any:
        """Keep only the bare model, and return the model with its head."""
        whole, self.model = self.model, _headless(self.backbone)
        return whole

    # -- reading -----------------------------------------------------------------------------------

    def read(self, texts: Sequence[str], limit: int) -> list[list[int]]:
        """Return the token numbers of texts, the first ``limit`` of each, without special
        tokens.
        """
        return plain_read(self.tokenizer, texts, limit)

    def assemble(
        self, first: Sequence[Tokens], second: Sequence[Tokens] | None = None, *, limit: int
    ) -> dict[str, Tensor]:
        """Return input tensors ``(n, longest)`` on the CPU of texts or pairs, cut to ``limit``
        tokens including special ones.

        Pairs are cut longest first. Without padding there is no ``attention_mask``.
        """
        return assemble(self.template, first, second, limit=limit)

    # -- computing ---------------------------------------------------------------------------------

    def cls(self, **inputs: Tensor) -> Tensor:
        """Return the last layer's state of the first token, ``(n, dim)``, computed for it alone
        where that is exact.
        """
        form = inference_form(self.backbone)
        return (
            cls_states(self.backbone, self._placed(inputs)) if form is None else form.cls_of(inputs)
        )

    def logits(self, **inputs: Tensor) -> Tensor:
        """Return the logits of the model's own head, ``(n, labels)``."""
        return cls_logits(self.model, inputs, self.cls)

    def last_hidden(self, **inputs: Tensor) -> Tensor:
        """Return the last layer's states of all tokens, ``(n, length, dim)``; those of padding mean
        nothing.
        """
        form = inference_form(self.backbone)
        return (
            self.backbone(**self._placed(inputs)).last_hidden_state
            if form is None
            else form.states_of(inputs)
        )

    def _placed(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return inputs with their positions, where they do not begin at 0 (``models.offset``)."""
        if not (offset := position_offset()):
            return inputs
        numbers, table = inputs["input_ids"], self.backbone.embeddings.position_embeddings
        room = self.positions - numbers.shape[1] if self.positions is not None else offset
        first = 0 if table.padding_idx is None else table.padding_idx + 1
        places = torch.arange(numbers.shape[1], device=numbers.device) + first + min(offset, room)
        return {**inputs, "position_ids": places.expand_as(numbers)}

    # -- keeping -----------------------------------------------------------------------------------

    def save(self, folder: Path, *, length: int) -> None:
        """Write config, weights and tokenizer in Hugging Face's layout; ``length`` is where other
        software cuts texts.
        """
        save_pretrained(folder, self.model, self.tokenizer, length=length)


def save_pretrained(folder: Path, model: Any, tokenizer: Any, *, length: int) -> None:
    """Write config, weights and tokenizer in Hugging Face's layout; ``length`` is where other
    software cuts texts.
    """
    with weight_errors(folder), quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    settings = read_json(folder / "tokenizer_config.json", what="a tokenizer's settings")
    # do not disclose the path it was loaded from
    for place in ("is_local", "local_files_only", "name_or_path"):
        settings.pop(place, None)
    write_json(folder / "tokenizer_config.json", {**settings, "model_max_length": length})


def load_encoder(name: str | Path) -> Encoder:
    """Load a pre-trained encoder to train: ``minilm`` (extra ``minilm``), a folder, or a Hugging
    Face id.

    Ours read the front of a text, whatever the tokenizer's files say of its sides, and are saved
    with a tokenizer that says so.

    Raises:
        InputError: a folder without config, weights or tokenizer; a hub id out of reach; a model of
            another kind.
        DependencyError: ``minilm`` without its package.
    """
    encoder = open_encoder(encoder_folder(name))
    encoder.tokenizer.truncation_side = encoder.tokenizer.padding_side = "right"
    return encoder


def open_encoder(
    folder: Path,
    *,
    classifier: bool = False,
    check: Callable[[Any, Any], object] | None = None,
) -> Encoder:
    """Load an encoder from a checked folder; with ``classifier``, as a sequence classifier of one
    label with its head.

    ``check`` gets the tokenizer and transformers' settings of the model before any weights are
    read, and may raise ReadsOtherwise; by default it reads the template.

    Raises:
        UnsupportedLayout: a tokenizer or a model that reads otherwise than ours.
        InputError: damaged files, missing tensors, or not a text encoder.
    """
    library = transformers_library()
    kind = library.AutoModelForSequenceClassification if classifier else library.AutoModel
    try:
        model, tokenizer, lacking = read_pretrained(folder, kind, check or _check_template)
        missing = sorted(name for name in lacking if classifier or not name.startswith("pooler."))
        if missing:
            raise ValueError(none_of(missing))
        encoder = Encoder(model if classifier else _headless(model), tokenizer)
        _check_reads(encoder)
        return encoder
    except InputError:
        raise
    # transformers, tokenizers and safetensors each have errors of their own
    except Exception as error:
        refused = unreadable(
            folder,
            error,
            wanted=f"a text encoder {'and its head, ' * classifier}with its tokenizer",
            do="give another encoder",
        )
        if isinstance(error, ReadsOtherwise):
            refused = UnsupportedLayout(str(refused), str(error))
        raise refused from error


def _check_template(tokenizer: Any, config: Any) -> None:
    read_template(tokenizer)


def _headless(model: Any) -> Any:
    """Return a bare model without its pooler, which is never read: unused weights would stop
    training on several devices.
    """
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def read_pretrained(
    folder: Path, kind: Any, check: Callable[[Any, Any], object] | None = None
) -> tuple[Any, Any, Collection[str]]:
    """Load a folder in float32 with one of transformers' auto classes: the model, its tokenizer,
    and the names of missing tensors.

    Nothing is fetched, not even a kernel; no code in the folder runs; torch's generator is
    unchanged, although unused parts are random. ``check``: as in ``open_encoder``.

    Raises:
        InputError: settings that name code, a file or another model.
    """
    check_door(folder)
    with quiet_transformers(), no_kernels(), torch.random.fork_rng(devices=[]):
        safe = {"trust_remote_code": False, "local_files_only": True}
        tokenizer = transformers_library().AutoTokenizer.from_pretrained(folder, **safe)
        if check is not None:
            check(tokenizer, transformers_library().AutoConfig.from_pretrained(folder, **safe))
        model, report = kind.from_pretrained(
            folder,
            dtype=torch.float32,
            weights_only=True,
            output_loading_info=True,
            **safe,
        )
    return model, tokenizer, report["missing_keys"]


def unreadable(folder: Path, error: Exception, *, wanted: str, do: str) -> InputError:
    """Return a one-line error for a folder that a library could not read."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    found = " ".join(map(str.strip, lines[: 1 + lines[0].endswith(":")]))
    # transformers logs which ones, and its error names only its own switch
    if "ignore_mismatched_sizes" in found:
        found = "tensors of other shapes than config.json says"
    if type(error).__name__ == "UnpicklingError":
        found = "a .bin file with more in it than weights, which is never run"
    return bad_input(folder, wanted=wanted, found=found, do=do)


def _check_reads(encoder: Encoder) -> None:
    """Check that the first token's state depends on later tokens, and that every token has an
    embedding.
    """
    known, tokens = encoder.backbone.get_input_embeddings().num_embeddings, len(encoder.tokenizer)
    if tokens > known:
        raise ValueError(f"a tokenizer of {tokens:,} tokens with embeddings for {known:,}")
    with torch.no_grad():
        one, other = (
            encoder.cls(**encoder.assemble([[number, 0]], limit=64))
            for number in (known - 1, known - 2)
        )
    if encoder.backbone.config.is_encoder_decoder or torch.equal(one, other):
        raise ReadsOtherwise(
            "a model whose first token sees nothing of the text (it reads from left to right)"
        )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' bars and reports, which concern parts we do not use, within the
    block.
    """
    logging = transformers_library().utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
