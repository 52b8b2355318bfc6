"""The state from which a training resumes: weights, optimisers, counters and the log, in
safetensors and JSON.

It lives in a working folder beside the checkpoint to be (``.NAME.training``):

state-STEP/  model.safetensors, optimizers.safetensors, state.json (settings, counters, log, the
             scale of half precision), manifest.json
best-STEP/   model.safetensors, the weights with the best validation so far, manifest.json
log.jsonl    a line per validation, for users to watch; a resumed training reads the state

A save is complete before the one it replaces is removed, so a training killed at any moment
continues from its last save and reaches the same weights.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from positionbias.core.errors import InputError, OutputExistsError, bad_input
from positionbias.core.files import read_json, refuse_links
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.manifest import Manifest, read_manifest, write_manifest
from positionbias.core.publish import atomic_folder, write_json
from positionbias.core.seal import MANIFEST
from positionbias.models.protocols import Ranker
from positionbias.models.tensors import load_tensors, load_weights, save_tensors

_KIND = "training-state"
_OF_A_WEIGHT = ("step", "exp_avg", "exp_avg_sq")  # state of all our optimisers


def working_folder(out: Path) -> Path:
    """Return the state folder of a training towards ``out``."""
    return out.with_name(f".{out.name}.training")


def unfinished(out: Path) -> Path | None:
    """Return the last saved state of a training towards ``out``, or None."""
    return max(working_folder(out).glob("state-*"), default=None)


@dataclass(frozen=True, slots=True)
class Towards:
    """The checkpoint that a training makes, the settings that decide it, and whether to resume an
    unfinished training.
    """

    out: Path
    settings: JsonObject
    resume: bool = False


def find_state(training: Towards) -> JsonObject | None:
    """Return the last record of ``save_state``, checked against the settings; None for a new
    training.

    Raises:
        OutputExistsError: there is an unfinished training and ``resume`` is false.
        InputError: the folder is or holds a link, there is nothing to resume, the state is damaged,
            or its settings differ (the first is named).
    """
    folder, latest = working_folder(training.out), unfinished(training.out)
    refuse_links(folder)
    if latest is None:
        if training.resume:
            raise InputError(
                f"{folder}: wanted a training to resume; found none; start it without --resume"
            )
        return None
    if not training.resume:
        raise OutputExistsError(
            f"{folder}: wanted no unfinished training here; found one; continue it with --resume, "
            "or remove the folder"
        )
    read_manifest(latest, kind=_KIND)
    path = latest / "state.json"
    record = read_json(path, what="a training's state")
    if not (
        isinstance(record, dict)
        and all(isinstance(record.get(key), dict) for key in ("settings", "record"))
    ):
        raise bad_input(
            path,
            wanted="a training's state",
            found="other JSON",
            do=f"remove {folder} and train again",
        )
    before, now = dict(_flat(record["settings"])), dict(_flat(training.settings))
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise bad_input(
                folder,
                wanted=f"the settings it began with ({name} = {before.get(name)})",
                found=f"{name} = {now.get(name)}",
                do="resume with the same, or remove the folder to start over",
            )
    return record


def _flat(settings: JsonObject, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Yield nested settings under dotted names."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _optimizer_tensors(optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    flat: dict[str, Tensor] = {}
    for number, optimizer in enumerate(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                flat[f"{number}.{index}.{key}"] = (
                    value if torch.is_tensor(value) else torch.tensor(float(value))
                )
    return flat


def _restore_optimizers(optimizers: Sequence[torch.optim.Optimizer], path: Path) -> None:
    flat = load_tensors(path)
    for number, optimizer in enumerate(optimizers):
        record = optimizer.state_dict()
        states: dict[int, Mapping[str, object]] = {}
        for index, weight in enumerate(
            weight for group in optimizer.param_groups for weight in group["params"]
        ):
            own: dict[str, Any] = {
                key: flat.pop(f"{number}.{index}.{key}", None) for key in _OF_A_WEIGHT
            }
            if all(value is None for value in own.values()):
                continue  # a weight without a gradient yet
            for key, value in own.items():
                if value is None or value.shape != (() if key == "step" else weight.shape):
                    raise _other_state(
                        path,
                        f"{number}.{index}.{key}",
                        "none" if value is None else f"shape {tuple(value.shape)}",
                    )
            # SparseAdam counts its steps in a plain integer, Adam in a tensor
            plain = isinstance(optimizer, torch.optim.SparseAdam)
            states[index] = {**own, "step": int(own["step"].item()) if plain else own["step"]}
        record["state"] = states
        optimizer.load_state_dict(record)
    if flat:
        raise _other_state(path, "no further tensors", min(flat))


def _other_state(path: Path, wanted: str, found: str) -> InputError:
    what = f"the state of this training's optimisers ({wanted})"
    return bad_input(
        path, wanted=what, found=found, do="remove the folder that it is in and train again"
    )


def save_state(
    folder: Path,
    model: Ranker,
    optimizers: Sequence[torch.optim.Optimizer],
    scaler: torch.amp.GradScaler,
    record: Mapping[str, Any],
) -> None:
    """Write the whole state, then remove the previous one.

    ``record`` holds ``step``, ``settings``, and as ``record`` the counters (``best_step`` among
    them) and the log.
    """
    final = folder / f"state-{record['step']:08d}"
    with atomic_folder(final, overwrite=True, owned=True) as partial:
        save_tensors(partial / "model.safetensors", model.state_dict())
        save_tensors(partial / "optimizers.safetensors", _optimizer_tensors(optimizers))
        write_json(partial / "state.json", {**record, "scaler": scaler.state_dict()})
        write_manifest(partial / MANIFEST, Manifest(_KIND, final.name, "train"))
    kept = {final, _best(folder, record["record"]["best_step"])}
    for older in {*folder.glob("state-*"), *folder.glob("best-*")} - kept:
        shutil.rmtree(older)


def restore_state(
    out: Path,
    model: Ranker,
    optimizers: Sequence[torch.optim.Optimizer],
    scaler: torch.amp.GradScaler,
) -> None:
    """Fill model, optimisers and scaler from the last saved state.

    Raises:
        InputError: a missing or damaged file.
    """
    latest = unfinished(out)
    assert latest is not None
    _fill(model, latest)
    _restore_optimizers(optimizers, latest / "optimizers.safetensors")
    scale = read_json(latest / "state.json", what="a training's state").get("scaler")
    if scale:  # empty where there is nothing to scale
        scaler.load_state_dict(scale)


def _best(folder: Path, step: int) -> Path:
    return folder / f"best-{step:08d}"


def save_best(folder: Path, model: Ranker, step: int) -> None:
    """Save these weights. Earlier ones stay until ``save_state`` has written a state that names
    these.
    """
    with atomic_folder(_best(folder, step), overwrite=True, owned=True) as partial:
        save_tensors(partial / "model.safetensors", model.state_dict())
        write_manifest(partial / MANIFEST, Manifest(_KIND, _best(folder, step).name, "train"))


def load_best(folder: Path, model: Ranker, step: int) -> None:
    """Load the best weights."""
    read_manifest(_best(folder, step), kind=_KIND)
    _fill(model, _best(folder, step))


def _fill(model: Ranker, folder: Path) -> None:
    assert isinstance(model, nn.Module)
    load_weights(model, folder / "model.safetensors")
