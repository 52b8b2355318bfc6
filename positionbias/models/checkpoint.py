"""A trained model on disk: safetensors, JSON and a manifest, no executable code.

manifest.json      command, settings, seed, inputs, versions
posbias.json       the kind of model, its shape, the re-ranking depth tuned on validation
training.json      the log of each validation, and how the training ended
log.jsonl          the same with times, a line a validation
README.md          the model card, with the Hub's metadata
*.safetensors …    the model's own files: weights, and its words or its tokenizer

``load_checkpoint`` also loads other models, with a new manifest and no depth: models saved by
transformers or sentence-transformers, and a user's own scorer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

import torch

from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import read_json, sha256_file
from positionbias.core.json_text import JsonObject, read_as
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    package_versions,
    read_manifest,
    write_manifest,
)
from positionbias.core.outcome import Written, hint_written
from positionbias.core.places import Place, model_place, pasted
from positionbias.core.publish import atomic_folder, write_json
from positionbias.core.rows import counted_rows
from positionbias.core.seal import MANIFEST
from positionbias.evaluation.convergence import Ending, ended_name
from positionbias.models.bert_dot import BertDot
from positionbias.models.card import CARD, model_card
from positionbias.models.encoder_source import encoder_folder
from positionbias.models.endpoint_client import Endpoint, endpoint_named
from positionbias.models.endpoints import open_endpoint
from positionbias.models.foreign import check_model_folder, load_foreign
from positionbias.models.hub import push_checkpoint
from positionbias.models.identity import model_checksum
from positionbias.models.kinds import model_class
from positionbias.models.layout import OURS, has_modules
from positionbias.models.prompts import OWN, Prompts, remark_prompts
from positionbias.models.protocols import AnyRanker, Ranker
from positionbias.models.remedied import (
    MODEL,
    REMEDY,
    check_remedy,
    copy_model,
    remedied,
    remedied_checksum,
)
from positionbias.models.remedies import AnyRemedy, Remedy, read_remedy
from positionbias.models.shapes import KINDS
from positionbias.models.tensors import FACTS, FIX
from positionbias.models.user_code import is_code_name, load_user_code, user_model
from positionbias.text.splitter import remark_other_splitter

KIND = "checkpoint"
LOG = "training.json"


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """The log of each validation, the step of the kept weights, and how and why the training ended;
    empty for other models.
    """

    log: Sequence[Mapping[str, float | None]] = ()
    best_step: int = 0
    stopped: str = ""
    ending: Ending = field(default_factory=Ending)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model with its folder (of an endpoint its name), its manifest, its tuned re-ranking
    depth (None: never tuned) and its training log.
    """

    path: Path | str
    model: AnyRanker
    manifest: Manifest
    depth: int | None
    training: TrainingLog

    @property
    def name(self) -> str:
        """The system's name in runs and results."""
        return self.manifest.name

    @property
    def validation_ndcg(self) -> float | None:
        """nDCG@10 of the kept weights on validation; None without validation."""
        found = self.manifest.content.get("validation_ndcg@10")
        return found if isinstance(found, float) else None

    @property
    def ending(self) -> Ending:
        """The end of its training."""
        return self.training.ending

    @property
    def ended_name(self) -> str:
        """The system's name beside figures, marked if its training is not finished."""
        return ended_name(self.name, self.ending.unfinished)

    @property
    def ranker(self) -> Ranker:
        """The model, if it can be trained further.

        Raises:
            SettingError: it cannot be trained.
        """
        if not isinstance(self.model, Ranker) or self.model.kind not in KINDS:
            raise SettingError(
                f"--start: wanted a model that can be trained (of kind {', '.join(KINDS)}); found "
                f"{self.path}, of kind {self.model.kind}; give another"
            )
        return self.model

    def push_to_hub(self, repo: str, *, private: bool = False) -> str:
        """Upload it to the Hugging Face Hub like ``posbias model push``, and return its address
        there.

        Raises:
            InputError: it is not a checkpoint of ours, it is damaged, or the Hub refuses it.
        """
        return push_checkpoint(Path(self.path), repo, private=private).url


def save_checkpoint(
    path: Path,
    model: Ranker,
    *,
    depth: int | None,
    training: JsonObject,
    manifest: Manifest,
    timed_log: Sequence[JsonObject] = (),
    base: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a checkpoint folder, whole or not at all. ``timed_log``: the log's rows with their
    times, as JSON lines.

    ``base`` is the Hub id of its encoder, for the model card.
    """
    with atomic_folder(path, overwrite=overwrite) as partial:
        model.save(partial)
        write_json(
            partial / FACTS, {"kind": model.kind, "depth": depth, "shape": asdict(model.config)}
        )
        write_json(partial / LOG, training)
        if timed_log:
            (partial / "log.jsonl").write_text(
                "".join(f"{json.dumps(row)}\n" for row in timed_log), encoding="utf-8", newline="\n"
            )
        content = {**manifest.content, "checksum": model_checksum(partial)}
        (partial / CARD).write_text(
            model_card(partial, model.kind, depth, manifest, base), "utf-8", newline="\n"
        )
        write_manifest(partial / MANIFEST, replace(manifest, content=content))


def load_checkpoint(
    path: Path | str,
    kind: str | None = None,
    *,
    store: bool = True,
    prompts: Prompts = OWN,
    label: str | None = None,
) -> Checkpoint:
    """Load any model by name: our checkpoint; a cross-encoder, bi-encoder, multi-vector or sparse
    encoder of transformers or sentence-transformers (a folder, a hub id, ``minilm``), ours by its
    hub id too; or ``module:object``, a user's function, encoder or PyTerrier transformer; or an
    endpoint (``openai:NAME@URL``, ``rerank:NAME@URL``, ``chat:NAME@URL``), whose answers are kept
    on disk with ``store``.

    The files determine what a model is; ``kind`` is for those that do not ("bi-encoder" for a plain
    encoder, "mono_t5" for a T5), and for functions whose arguments do not tell; or it accepts ours
    alone ("bert_cat", "bert_dot"). ``prompts`` stand before each query and passage in place of
    those that sentence-transformers puts there; ``label`` is the score of a classifier of several
    labels.

    Raises:
        InputError: not a model, a missing or mis-shaped tensor, a missing file, content that
            differs from the manifest, unsupported
        parts, or a user's module that fails.
        SettingError: the model is of another kind than ``kind``, takes no prompts, or has no such
            label, or several and none is named.
        DependencyError: the library that runs it is not installed.
    """
    found = _load(path, kind, store, prompts, label)
    if label is not None and getattr(found.model, "label", None) != label:
        raise SettingError(f"--score-label: {found.name} has a single score; leave it out")
    return found


def _load(
    path: Path | str, kind: str | None, store: bool, prompts: Prompts, label: str | None
) -> Checkpoint:
    if (endpoint := endpoint_named(str(path))) is not None:
        return _with_prompts(_load_endpoint(endpoint, kind, store=store), prompts)
    if is_code_name(path):
        return _with_prompts(_load_user_code(str(path), kind), prompts)
    folder = Path(path)
    if (folder / REMEDY).is_file():
        return _load_remedied(folder, kind, prompts, label)
    if not (folder / FACTS).is_file() and not _is_checkpoint(folder) and _may_be_foreign(folder):
        folder = encoder_folder(path, check=_check_any)
        if not (folder / FACTS).is_file():
            return _load_foreign(folder, path, kind, prompts, label)
    found = _with_prompts(_load_ours(folder), prompts)
    if kind not in (None, found.model.kind, OURS.get(found.model.kind)):
        raise SettingError(
            f"--kind: wanted {folder} as {kind}; found a checkpoint of kind {found.model.kind}; "
            "leave --kind out"
        )
    return found


def _with_prompts(found: Checkpoint, prompts: Prompts) -> Checkpoint:
    """Return a checkpoint of ours, an endpoint or a user's encoder with other prompts than its own.

    Raises:
        SettingError: prompts for a model that takes none.
    """
    model: Any = found.model
    if isinstance(model, BertDot):
        own = model.config
        used = prompts.or_else(lambda: own.query_prompt, lambda: own.passage_prompt)
        model.config = replace(
            own, query_prompt=used.query or "", passage_prompt=used.passage or ""
        )
    elif isinstance(getattr(model, "prompts", None), Prompts):
        used = model.prompts = prompts.or_else(str, str)
    elif prompts.given:
        raise SettingError(
            f"--query-prompt and --passage-prompt: {found.name}, of kind {model.kind}, takes no "
            "prompts; leave them out"
        )
    else:
        return found
    remark_prompts(found.name, used)
    return replace(
        found, manifest=replace(found.manifest, notes=(*found.manifest.notes, used.note()))
    )


@dataclass(frozen=True, slots=True)
class _Remedy:
    """The content of ``remedy.json``."""

    remedy: str


def save_remedied(
    path: Path, base: Checkpoint, remedy: AnyRemedy, manifest: Manifest, *, overwrite: bool = False
) -> str:
    """Write a model with a remedy, whole or not at all, and return its name; the model itself is
    copied into it.

    ``manifest`` needs neither name nor settings.

    Raises:
        InputError: the model is not in files.
        SettingError: the remedy is not for this model.
        OutputExistsError: something stands at ``path`` and ``overwrite`` is false.
    """
    source = Path(base.path)
    if not source.is_dir():
        wanted, do = "a model in files", "give its folder, or its name on the Hub"
        raise bad_input(base.path, wanted=wanted, found="an endpoint, or a user's own code", do=do)
    check_remedy(base.model, remedy)
    with atomic_folder(path, overwrite=overwrite) as partial:
        copy_model(source, partial)
        write_json(partial / REMEDY, {"remedy": str(remedy)})
        content = {
            **manifest.content,
            "checksum": remedied_checksum(base.manifest.checksum, remedy),
        }
        named = replace(
            manifest,
            name=f"{base.name}, {remedy}",
            settings={"remedy": str(remedy)},
            content=content,
        )
        write_manifest(partial / MANIFEST, named)
    return named.name


def debias_model(
    model: Place, remedy: str, kind: str | None, out: Place, *, overwrite: bool
) -> Written:
    """Write a model, given by its name, with a remedy, also given by its name.

    Raises:
        SettingError: no such remedy, or not for this model.
        InputError: no such model, or one that is not in files.
    """
    wanted, place = read_remedy(remedy), Path(out)
    base = load_checkpoint(model_place(model), kind)
    manifest = Manifest(
        kind=KIND,
        name="",
        command="remedy",
        inputs=(input_ref("model", base.path, base.manifest.checksum, artefact=place),),
        licence=base.manifest.licence,
        versions=package_versions("torch"),
    )
    name = save_remedied(place, base, wanted, manifest, overwrite=overwrite)
    models = f"--model {pasted(base.path)} --model {pasted(place)}"
    hint_written(place, f"next: posbias audit COLLECTION --candidates RUN {models}")
    counted = (
        {"variants of each passage": wanted.number}
        if isinstance(wanted, Remedy)
        else {"tokens in each part that attention is evened out over": wanted.basket}
    )
    return Written(place, rows=counted_rows("remedy", counted, model=name))


def _load_remedied(
    folder: Path, kind: str | None, prompts: Prompts, label: str | None
) -> Checkpoint:
    manifest = read_manifest(folder, kind=KIND)
    told = read_as(_Remedy, read_json(folder / REMEDY, what="a remedy"), folder / REMEDY, do=FIX)
    try:
        remedy = read_remedy(told.remedy)
    except SettingError as error:
        raise bad_input(
            folder / REMEDY, wanted="a remedy as rotate:4", found=repr(told.remedy), do=FIX
        ) from error
    base = load_checkpoint(folder / MODEL, kind, prompts=prompts, label=label)
    if remedied_checksum(base.manifest.checksum, remedy) != manifest.content.get("checksum"):
        raise bad_input(
            folder, wanted="the model that manifest.json names", found="another", do=FIX
        )
    return replace(
        base,
        path=folder,
        model=remedied(base.model, remedy, shape_of(base.model)),
        manifest=manifest,
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """A checkpoint's facts beside the weights; ``shape`` has the fields of the kind's own
    settings.
    """

    kind: str
    depth: int | None
    shape: JsonObject

    def __post_init__(self) -> None:
        if self.depth is not None and self.depth < 1:
            raise ValueError(f"a re-ranking depth of {self.depth}")


def _load_ours(folder: Path) -> Checkpoint:
    manifest = read_manifest(folder, kind=KIND)
    place = folder / FACTS
    facts = read_as(_Facts, read_json(place, what="a checkpoint's facts"), place, do=FIX, more=True)
    try:
        # random weights, filled later; leaves the caller's generator alone
        with torch.random.fork_rng(devices=[]):
            model = model_class(facts.kind).load(folder, facts.shape)
    except (
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        RuntimeError,
        MemoryError,
        SettingError,
    ) as error:
        found = f"none of {error}" if isinstance(error, KeyError) else str(error)
        raise bad_input(place, wanted="a checkpoint's facts", found=found, do=FIX) from error
    if manifest.content.get("checksum") != model_checksum(folder):
        wanted = "the weights, settings and words that manifest.json names"
        raise bad_input(folder, wanted=wanted, found="other content", do=FIX)
    remark_other_splitter(folder, manifest.versions)
    model.eval()
    return Checkpoint(folder, model, manifest, facts.depth, read_log(folder))


def read_log(folder: Path) -> TrainingLog:
    """Read the training log of a checkpoint.

    Raises:
        InputError: it is malformed.
    """
    return read_as(
        TrainingLog, read_json(folder / LOG, what="a training log"), folder / LOG, do=FIX, more=True
    )


def _is_checkpoint(folder: Path) -> bool:
    """Return True if the manifest is that of a checkpoint; encoders made by ``make_encoder`` have
    manifests, too.
    """
    return (folder / MANIFEST).is_file() and read_manifest(folder).kind == KIND


def _may_be_foreign(folder: Path) -> bool:
    """Return True for a folder in transformers' layout, or the name of a model."""
    return (folder / "config.json").is_file() or has_modules(folder) or not folder.exists()


def _check_any(folder: Path) -> Path:
    """Return the folder if it is a whole checkpoint of ours, or may hold another library's model.

    Raises:
        InputError: it is neither.
    """
    if not (folder / FACTS).is_file():
        return check_model_folder(folder)
    for name in read_manifest(folder, kind=KIND).files or ():
        if not (folder / name).is_file():
            raise bad_input(
                folder, wanted=f"the checkpoint's file {name}", found="none of this name", do=FIX
            )
    return folder


def _load_foreign(
    folder: Path, name: Path | str, kind: str | None, prompts: Prompts, label: str | None
) -> Checkpoint:
    with torch.random.fork_rng(devices=[]):
        model, notes, packages = load_foreign(folder, kind, prompts, label)
    manifest = Manifest(
        kind=KIND,
        # the part of a hub id after the slash
        name=(folder.resolve() if Path(name).is_dir() else Path(name)).name,
        command="",
        content={"checksum": model_checksum(folder)},
        notes=notes,
        versions=package_versions("torch", "transformers", *packages),
    )
    return Checkpoint(folder, model, manifest, None, TrainingLog())


def _load_endpoint(endpoint: Endpoint, kind: str | None, *, store: bool) -> Checkpoint:
    if kind is not None:
        raise SettingError(
            f"--kind: wanted none for {endpoint.name}, whose form says it; found {kind!r}; leave "
            "it out"
        )
    model, answers = open_endpoint(endpoint, store=store)
    note = (
        "a model behind an endpoint: its checksum is of its name and URL, not of what is served "
        "there"
    )
    kept = "; its answers are kept, so that asked again it gives the same" if answers.path else ""
    return _untrained(
        endpoint.name,
        model,
        endpoint.short_name,
        hashlib.sha256(endpoint.name.encode()).hexdigest(),
        note + kept,
    )


def _load_user_code(name: str, kind: str | None) -> Checkpoint:
    model, file = load_user_code(name, kind)
    note = (
        "a user's own code: its checksum is of the file that it is named in, not of what that uses"
    )
    return _untrained(file or Path(name), model, name, sha256_file(file) if file else "", note)


def user_checkpoint(found: Any, name: str, kind: str | None = None) -> Checkpoint:
    """Wrap a user's function or object, which has no checksum, as a checkpoint of this name.

    Raises:
        InputError, SettingError: as ``user_model``.
    """
    return _untrained(
        Path(name),
        user_model(found, name, kind),
        name,
        "",
        "a user's own code, given in Python: it has no checksum",
    )


def _untrained(
    path: Path | str, model: AnyRanker, name: str, checksum: str, note: str
) -> Checkpoint:
    manifest = Manifest(
        kind=KIND,
        name=name,
        command="",
        content={"checksum": checksum},
        notes=(note,),
        versions=package_versions(),
    )
    return Checkpoint(path, model, manifest, None, TrainingLog())


def shape_of(model: AnyRanker) -> JsonObject:
    """Return as JSON what scores and vectors depend on beside a model's files: its kind, its shape
    or the maximum read of a passage, its prompts, and its label, if any."""
    config, room = getattr(model, "config", None), getattr(model, "room", None)
    prompts, label = getattr(model, "prompts", None), getattr(model, "label", None)
    if is_dataclass(config) and not isinstance(config, type):
        shape = asdict(config)
    else:
        shape = {} if room is None else {"room": room}
    if prompts is not None:
        shape |= {"query_prompt": prompts.query, "passage_prompt": prompts.passage}
    return {"kind": model.kind, **shape, **({} if label is None else {"label": label})}
