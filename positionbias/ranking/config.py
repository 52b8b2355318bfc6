"""Settings of re-rankers: batch size, precision, device. Torch is imported on use."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from positionbias.core.errors import models_extra
from positionbias.core.places import Place, model_place
from positionbias.core.progress import remark
from positionbias.core.settings import Settings, setting
from positionbias.core.shared_settings import QueryPrompt, RelevantFrom, Split, WithoutOwn
from positionbias.models.kinds import ReadAs

if TYPE_CHECKING:
    import torch

    from positionbias.core.json_text import JsonObject
    from positionbias.core.steps import MapShards
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.ranking.loading import Loading

Precision = Literal["auto", "float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
DEVICES = ("auto", "cpu", "cuda")
LONG = 20_000  # pairs or passages, some ten minutes for a small encoder on two cores
CPU_TOKENS, CPU_HALF_TOKENS, GPU_TOKENS = 4_096, 2_048, 131_072


def _loading() -> Any:
    """Return what computes with these settings, which needs torch."""
    from positionbias.ranking import loading

    return loading


@dataclass(frozen=True, slots=True)
class RankingConfig(Settings):
    """Batch size and precision. ``batch_tokens`` bounds a batch's padded tokens; 0 is 4,096 on a
    CPU (small caches; 2,048 in half precision, which has faster products and so waits more for
    memory), 131,072 on a GPU.

    ``precision`` ``auto`` is float32 on a CPU, bfloat16 on a GPU, and float16 on a GPU without
    bfloat16.
    """

    batch_tokens: int = setting(
        0,
        "Padded tokens in a batch; 0: chosen by device.",
        least=0,
        shown=False,
    )
    precision: Precision = setting(
        "auto",
        "Precision of matrix products; auto is float32 on a CPU and bfloat16 on a GPU, or float16 "
        "on one without.",
        choices=PRECISIONS,
        shown=False,
    )

    def tokens(self, device: torch.device) -> int:
        """Return the padded tokens of a batch on this device."""
        if self.batch_tokens or device.type == "cuda":
            return self.batch_tokens or GPU_TOKENS
        return CPU_TOKENS if str(self.dtype(device)) == "torch.float32" else CPU_HALF_TOKENS

    def dtype(self, device: torch.device) -> torch.dtype:
        """Return the precision of matrix products on this device."""
        return _loading().dtype_of(self.precision, device)

    def advise(self, model: Any, texts: int) -> None:
        """Remark that bfloat16 would be faster, where the user chose nothing, the work is long, and
        it would be.
        """
        if self.precision == "auto" and texts >= LONG and _loading().halves(model):
            remark(
                "float32, so that scores are the same on every machine; here "
                "--set precision=bfloat16 takes about 0.6 of the time"
            )

    def arithmetic(self, model: Any) -> JsonObject:
        """Return what the last bits of scores depend on beside the model, the texts and the
        precision.
        """
        return {
            "batch_tokens": self.tokens(model.device),
            "device": model.device.type,
            "threads": self.fixed_threads(model),
        }

    def fixed_threads(self, model: Any) -> int | None:
        """Return the number of this process's threads; None where it changes no bit: on a GPU, or
        of texts that threads divide whole.
        """
        return _loading().fixed_threads(model, self.dtype(model.device))

    def packages(self, device: torch.device) -> tuple[str, ...]:
        """Return the packages that compute on this device, for a manifest's versions."""
        halved = device.type == "cpu" and str(self.dtype(device)) == "torch.bfloat16"
        return ("torch", "openvino") if halved and find_spec("openvino") is not None else ("torch",)

    def autocast(self, device: torch.device) -> AbstractContextManager[Any]:
        """Return the context in which a model computes with ``dtype``."""
        return _loading().autocast(device, self.dtype(device))


@dataclass(frozen=True, slots=True)
class Computing(Settings):
    """How a model is run: its device and precision, its prompts, the label that is its score, and
    whether an endpoint's answers are kept.
    """

    device: str = setting(
        "auto",
        "Device to compute on; auto is the GPU if there is one.",
        choices=DEVICES,
        shown=True,
    )
    config: RankingConfig = field(default_factory=RankingConfig)
    query_prompt: QueryPrompt = None
    passage_prompt: str | None = setting(
        None,
        "Text before each passage.",
        absent="what sentence-transformers puts there",
        metavar="TEXT",
        shown=False,
    )
    score_label: str | None = setting(
        None,
        "Label whose log-probability is the score, of a cross-encoder with several.",
        metavar="NAME",
        shown=False,
    )
    store: bool = setting(
        True,
        "Keep an endpoint's answers (numbers, no texts), so that nothing is paid for twice.",
        shown=False,
    )

    def pick_device(self) -> torch.device:
        """Return the device.

        Raises:
            SettingError: there is no such GPU.
        """
        return _loading().pick_device(self.device)

    def load(self, model: Place, kind: str | None = None) -> Checkpoint:
        """Load a model by name onto the device, as ``load_checkpoint``.

        Raises:
            SettingError: as ``load_checkpoint``, no such GPU, or a precision that the device or the
                model has not.
            InputError: as ``load_checkpoint``.
        """
        return self.loading(model, kind)()

    def loading(self, model: Place, kind: str | None = None) -> Loading:
        """Return how ``load`` loads a model, for other processes."""
        return _loading().Loading(model_place(model), kind, self)

    @models_extra()
    def open(self, model: Any, kind: str | None = None) -> Checkpoint:
        """Return a model as it was given, a checkpoint or a user's object, or loaded by its name.

        Raises:
            InputError, SettingError: as ``load_checkpoint``.
            DependencyError: the extra ``models`` is not installed.
        """
        if isinstance(model, Place):
            return self.load(model, kind)
        return _loading().opened(model, kind)

    def spread(
        self, model: Any, opened: Checkpoint, kind: str | None, map_shards: MapShards
    ) -> Spread | None:
        """Return how other processes compute with a model; None for an object, which is in this
        one, and an endpoint, which one asks.
        """
        if not isinstance(model, Place) or _loading().is_served(opened):
            return None
        return Spread(self.loading(model, kind), map_shards)


@dataclass(frozen=True, slots=True)
class Spread:
    """How other processes compute with a model: how each loads it, the engine's map over shards,
    and how many share a machine if known.
    """

    loading: Loading
    map_shards: MapShards
    workers: int | None = 1


@dataclass(frozen=True, slots=True)
class Reranking(Settings):
    """The depth of re-ranking, and the run's tag."""

    split: Split = "test"
    depth: int | None = setting(
        None,
        "Candidates to re-rank.",
        least=1,
        absent="the depth tuned on validation, or all",
    )
    name: str | None = setting(None, "The run's tag.", absent="the checkpoint's name")
    without_own: WithoutOwn = False
    allow_missing: bool = setting(
        False,
        "Put passages for which an endpoint gives no score behind the others, and name them.",
        shown=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtPassages(Settings):
    """The passages that a teacher scores: candidates and relevant passages of a split's queries, or
    pairs of a training set.
    """

    split: str | None = setting(
        None, "Split of the queries.", absent="train, or the splits of --trainset", metavar="SPLIT"
    )
    candidates: Place | None = setting(
        None,
        "Candidates to score, along with each query's relevant passages.",
        metavar="RUN",
        place="read",
    )
    trainset: Place | None = setting(
        None,
        "Score exactly the pairs of a training set, instead of --candidates.",
        metavar="DIR",
        place="read",
    )
    depth: int | None = setting(None, "Candidates of a query to score.", least=1, absent="all")
    relevant_from: RelevantFrom = 1
    block_pairs: int | None = setting(
        None,
        "Pairs scored and saved together; an interruption loses at most these.",
        least=1,
        absent=(
            "16384 on a CPU, 65536 on a GPU, more where blocks would encode passages again, all of "
            "an endpoint"
        ),
        shown=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher(Settings):
    """The source of the scores: a model, or the file of a teacher that runs elsewhere."""

    model: Place | None = setting(
        None,
        "The teacher: a checkpoint; a model of transformers or sentence-transformers (a folder, a "
        "hub id, minilm); your own module:object; or an endpoint, as openai:NAME@URL, "
        "rerank:NAME@URL or chat:NAME@URL.",
        metavar="MODEL",
        place="read",
    )
    kind: ReadAs = None
    scores: Place | None = setting(
        None,
        "Instead of --model, the scores of a teacher that runs elsewhere: a TREC run, lines of "
        "query, passage and score, or published margins.",
        metavar="FILE",
        place="read",
    )
    order_only: bool = setting(
        False,
        "With --scores: they mean nothing but their order. Such a teacher can be learnt from by "
        "ranknet.",
    )
    only_known: bool = setting(
        False,
        "With --scores: leave out, and count, those of queries and passages that the collection "
        "has not.",
        shown=False,
    )
    name: str | None = setting(
        None,
        "What the teacher is called.",
        absent="the checkpoint's name, or the file's",
        shown=True,
    )
