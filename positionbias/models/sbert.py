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
from positionbias.models.libraries import sentence_transformers_library, transformers_library
from positionbias.models.prompts import OWN, Prompts, heard_prompt, remark_prompts
from positionbias.models.protocols import CutSide
from positionbias.models.sbert_encoders import (
    BiEncoder,
    LibraryEncoder,
    MultiVector,
    Sparse,
    check_padding,
)
from positionbias.models.tensors import none_of

_PAIRS = 32  # a cross-encoder's batch, the library's own default
_DO = "give another model"


def load_by_library(
    folder: Path, family: Family, *, because: str, prompts: Prompts = OWN, label: str | None = None
) -> CrossEncoder | LibraryEncoder:
    """Load a model of any family with sentence-transformers, on the CPU.

    ``because`` is what ours lack, for the error without the library; ``prompts`` replace the
    model's own; ``label`` is the score of a classifier of several.

    Raises:
        DependencyError: the library is not installed.
        InputError: it cannot load the whole folder, or its scores do not rank.
        SettingError: a classifier of several labels, and none of them is named.
    """
    if find_spec("sentence_transformers") is None:
        raise DependencyError(
            f"{folder}: wanted sentence-transformers, which runs what ours cannot ({because}); "
            "found none; run: pip install 'positionbias[sbert]'"
        )
    library = sentence_transformers_library()
    check_door(folder)
    kind = _KINDS[family]
    given: dict[str, Any] = {"activation_fn": nn.Identity()} if kind is CrossEncoder else {}
    try:
        with _quiet(), no_kernels(), _missing_tensors() as missing:
            model = getattr(library, kind.library_class)(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"weights_only": True, "dtype": torch.float32},
                **given,
            )
        if missing:
            found = f"{none_of(missing)}, which would be drawn at random"
            raise bad_input(
                folder, wanted=f"a {family} model with all of its weights", found=found, do=_DO
            )
        if kind is CrossEncoder:
            return CrossEncoder(model.eval(), folder, prompts, label)
        return kind(model.eval(), folder, prompts)
    except (InputError, SettingError):
        raise
    except Exception as error:  # the library has no errors of its own
        found = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise bad_input(
            folder, wanted=f"a {family} model of sentence-transformers", found=found, do=_DO
        ) from error


def wrap_library_model(model: Any, name: str) -> CrossEncoder | LibraryEncoder:
    """Wrap a model that sentence-transformers loaded or trains so that it scores; errors call it
    ``name``.

    Raises:
        InputError: it is not one of the library's, or its scores do not rank.
    """
    library = sentence_transformers_library()
    for kind in _KINDS.values():
        if isinstance(model, getattr(library, kind.library_class)):
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
    """Collect the tensors missing from the files of all models that transformers loads within the
    block, except a bare model's pooler, which no module reads. transformers only warns of them, and
    the library does not check.
    """
    missing: set[str] = set()
    base: Any = transformers_library().PreTrainedModel
    own = base.__dict__["from_pretrained"]

    def counted(cls: Any, /, *args: Any, output_loading_info: bool = False, **kwargs: Any) -> Any:
        model, report = own.__func__(cls, *args, output_loading_info=True, **kwargs)
        bare = cls.__name__.endswith("Model")
        missing.update(
            name for name in report["missing_keys"] if not (bare and name.startswith("pooler."))
        )
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

    def __init__(
        self, model: Any, folder: Path, prompts: Prompts = OWN, label: str | None = None
    ) -> None:
        self._model, self.label = model, label
        self._label = (
            None if model.num_labels == 1 else _place_of(label, _label_names(model), folder)
        )
        self._pairs = _PAIRS
        self.prompts = prompts.or_else(lambda: heard_prompt(model, model.predict, ("a", "b")), str)
        remark_prompts(folder.name, self.prompts, model.prompts if prompts.query is None else {})
        self.reader = _reader(model, self.prompts)
        check_padding(
            model.tokenizer, lambda texts: torch.as_tensor(self.score(texts[0], texts)), folder
        )

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._model.device

    def to(self, device: torch.device) -> Self:
        """Move the weights."""
        self._model.to(device)
        return self

    def score(self, query: str, passages: Sequence[str]) -> Any:
        """Return raw scores ``(len(passages),)``, in smaller batches if the device's memory is too
        small.

        The score of a classifier of several labels is the log-probability of the named one.

        Raises:
            SettingError: one pair does not fit.
        """
        pairs = [(query, f"{self.prompts.passage or ''}{passage}") for passage in passages]
        activation = nn.Identity() if self._label is None else nn.LogSoftmax(dim=-1)
        settings = {
            "prompt": self.prompts.query,
            "show_progress_bar": False,
            "activation_fn": activation,
        }
        while True:
            try:
                scores = self._model.predict(pairs, batch_size=self._pairs, **settings)
                return scores if self._label is None else scores[:, self._label]
            except torch.OutOfMemoryError as error:
                if self._pairs == 1:
                    raise SettingError(
                        "--device: wanted memory for one pair of texts; found the device's too "
                        "small for it; free some of it, give --device cpu, or take a smaller model"
                    ) from error
                self._pairs //= 2


@dataclass(frozen=True, slots=True)
class _PairReader:
    """A ``TokenReader`` of a cross-encoder's pairs; ``tokenizer`` is a copy, whose truncation may
    be set.
    """

    tokenizer: Any
    room: int
    prompts: Prompts

    @property
    def cut_side(self) -> CutSide:
        """The side on which the tokenizer cuts."""
        side: CutSide = self.tokenizer.truncation_side
        return side

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of queries with their prompt, as many as a pair has room for."""
        return plain_read(
            self.tokenizer, [f"{self.prompts.query}{text}" for text in texts], self.room
        )

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of passages with their prompt, as many as a pair has room
        for.
        """
        return plain_read(
            self.tokenizer, [f"{self.prompts.passage}{text}" for text in texts], self.room
        )


def _label_names(model: Any) -> list[str]:
    """Return the names of a classifier's labels, numbers where its files name none."""
    names = getattr(getattr(model[0], "config", None), "id2label", None) or {}
    labels = range(model.num_labels)
    return (
        [str(names[label]) for label in labels]
        if len(names) == len(labels)
        else list(map(str, labels))
    )


def _place_of(label: str | None, names: Sequence[str], folder: Path) -> int:
    """Return the place of the label to rank by.

    Raises:
        SettingError: none is named, or another.
    """
    if label not in names:
        given = "" if label is None else f"; {label!r} is none of them"
        raise SettingError(
            f"{folder}: this cross-encoder has {len(names)} labels, {', '.join(names)}{given}: "
            "name the one to rank by with --score-label"
        )
    return names.index(label)


def _reader(model: Any, prompts: Prompts) -> _PairReader | None:
    """Return the reader of a cross-encoder's pairs; None if it adds a template, or names no
    limit.
    """
    first, tokenizer, limit = model[0], model.tokenizer, model.max_seq_length
    plain = getattr(first, "transformer_task", None) in (
        "sequence-classification",
        "feature-extraction",
    )
    if not plain or "message" in first.modality_config:
        return None
    if not isinstance(tokenizer, transformers_library().PreTrainedTokenizerBase):
        return None
    if not limit or limit >= NO_LIMIT:
        return None
    return _PairReader(
        deepcopy(tokenizer), int(limit) - tokenizer.num_special_tokens_to_add(pair=True), prompts
    )


_KINDS: dict[Family, type[CrossEncoder] | type[LibraryEncoder]] = {
    "cross-encoder": CrossEncoder,
    "bi-encoder": BiEncoder,
    "multi-vector": MultiVector,
    "sparse": Sparse,
}
