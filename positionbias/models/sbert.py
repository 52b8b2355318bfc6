"""Load models that only sentence-transformers runs (extra ``sbert``), and wrap its cross-encoders.

Weights are read as float32 from tensors alone; a checkpoint's code is never run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import nn

from positionbias.core.errors import DependencyError, InputError, SettingError, bad_input
from positionbias.models.door import check_door
from positionbias.models.encoder import NO_LIMIT, quiet_transformers
from positionbias.models.encoder_template import plain_read
from positionbias.models.hub_kernels import no_kernels
from positionbias.models.layout import Family
from positionbias.models.protocols import CutSide
from positionbias.models.sbert_encoders import BiEncoder, LibraryEncoder, MultiVector, Sparse, check_padding
from positionbias.models.tensors import none_of

__all__ = ["CrossEncoder", "load_by_library", "wrap_library_model"]

_PAIRS = 32  # a cross-encoder's batch, the library's own default
_DO = "give another model"


def load_by_library(folder: Path, family: Family, *, because: str) -> CrossEncoder | LibraryEncoder:
    """Load a model of any family with sentence-transformers, on the CPU.

    ``because`` is what ours lack, for the error without the library.

    Raises:
        DependencyError: the library is not installed.
        InputError: it cannot load the whole folder, or its scores do not rank.
    """
    if find_spec("sentence_transformers") is None:
        raise DependencyError(
            f"{folder}: wanted sentence-transformers, which runs what ours cannot ({because}); found none; "
            "run: pip install 'positionbias[sbert]'"
        )
    import sentence_transformers

    check_door(folder)
    kind = _KINDS[family]
    given: dict[str, Any] = {"activation_fn": nn.Identity()} if kind is CrossEncoder else {}
    try:
        with _quiet(), no_kernels(), _missing_tensors() as missing:
            model = getattr(sentence_transformers, kind.library_class)(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"weights_only": True, "dtype": torch.float32},
                **given,
            )
        if missing:
            found = f"{none_of(missing)}, which would be drawn at random"
            raise bad_input(folder, wanted=f"a {family} model with all of its weights", found=found, do=_DO)
        return kind(model.eval(), folder)
    except InputError:
        raise
    except Exception as error:  # the library has no errors of its own
        found = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise bad_input(folder, wanted=f"a {family} model of sentence-transformers", found=found, do=_DO) from error


def wrap_library_model(model: Any, name: str) -> CrossEncoder | LibraryEncoder:
    """Wrap a model that sentence-transformers loaded or trains so that it scores; errors call it ``name``.

    Raises:
        InputError: it is not one of the library's, or its scores do not rank.
    """
    import sentence_transformers

    for kind in _KINDS.values():
        if isinstance(model, getattr(sentence_transformers, kind.library_class)):
            return kind(model, Path(name))
    wanted = ", ".join(kind.library_class for kind in _KINDS.values())
    raise bad_input(name, wanted=f"one of {wanted}", found=type(model).__name__, do=_DO)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the libraries' reports within the block."""
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with quiet_transformers():
            yield
    finally:
        logger.setLevel(level)


@contextmanager
def _missing_tensors() -> Iterator[set[str]]:
    """Collect the tensors missing from the files of all models that transformers loads within the block, except a bare model's pooler,
    which no module reads. transformers only warns of them, and the library does not check.
    """
    from transformers import PreTrainedModel

    missing: set[str] = set()
    base: Any = PreTrainedModel
    own = base.__dict__["from_pretrained"]

    def counted(cls: Any, /, *args: Any, output_loading_info: bool = False, **kwargs: Any) -> Any:
        model, report = own.__func__(cls, *args, output_loading_info=True, **kwargs)
        bare = cls.__name__.endswith("Model")
        missing.update(name for name in report["missing_keys"] if not (bare and name.startswith("pooler.")))
        return (model, report) if output_loading_info else model

    base.from_pretrained = classmethod(counted)
    try:
        yield missing
    finally:
        base.from_pretrained = own


class CrossEncoder:
    """``CrossEncoder.predict`` without an activation, as a ``TextScorer``."""

    kind: ClassVar[str] = "cross-encoder"
    library_class: ClassVar[str] = "CrossEncoder"

    def __init__(self, model: Any, folder: Path) -> None:
        if model.num_labels != 1:
            found = f"{model.num_labels} labels, none of which is the score to rank by"
            raise bad_input(folder, wanted="a cross-encoder with one score", found=found, do=_DO)
        self._model = model
        self._pairs = _PAIRS
        self.reader = _reader(model)
        check_padding(model.tokenizer, lambda texts: torch.as_tensor(self.score(texts[0], texts)), folder)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._model.device

    def to(self, device: torch.device) -> Self:
        """Move the weights."""
        self._model.to(device)
        return self

    def score(self, query: str, passages: Sequence[str]) -> Any:
        """Return raw scores ``(len(passages),)``, in smaller batches if the device's memory is too small.

        Raises:
            SettingError: one pair does not fit.
        """
        pairs = [(query, passage) for passage in passages]
        while True:
            try:
                return self._model.predict(pairs, batch_size=self._pairs, show_progress_bar=False, activation_fn=nn.Identity())
            except torch.OutOfMemoryError as error:
                if self._pairs == 1:
                    raise SettingError(
                        "--device: wanted memory for one pair of texts; found the device's too small for it; free some of it, give "
                        "--device cpu, or take a smaller model"
                    ) from error
                self._pairs //= 2


@dataclass(frozen=True, slots=True)
class _PairReader:
    """A ``TokenReader`` of a cross-encoder's pairs; ``tokenizer`` is a copy, whose truncation may be set."""

    tokenizer: Any
    room: int

    @property
    def cut_side(self) -> CutSide:
        """The side on which the tokenizer cuts."""
        side: CutSide = self.tokenizer.truncation_side
        return side

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of queries, as many as a pair has room for."""
        return plain_read(self.tokenizer, texts, self.room)

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of passages, as many as a pair has room for."""
        return plain_read(self.tokenizer, texts, self.room)


def _reader(model: Any) -> _PairReader | None:
    """Return the reader of a cross-encoder's pairs; None if it adds a prompt or a template, or names no limit."""
    from transformers import PreTrainedTokenizerBase

    first, tokenizer, limit = model[0], model.tokenizer, model.max_seq_length
    plain = getattr(first, "transformer_task", None) in ("sequence-classification", "feature-extraction")
    if not plain or "message" in first.modality_config or model.default_prompt_name:
        return None
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        return None
    if not limit or limit >= NO_LIMIT:
        return None
    return _PairReader(deepcopy(tokenizer), int(limit) - tokenizer.num_special_tokens_to_add(pair=True))


_KINDS: dict[Family, type[CrossEncoder] | type[LibraryEncoder]] = {
    "cross-encoder": CrossEncoder,
    "bi-encoder": BiEncoder,
    "multi-vector": MultiVector,
    "sparse": Sparse,
}
