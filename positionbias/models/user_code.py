"""A user's own code, named as ``module:object``: a function (query, passages) → scores, a function
texts → array or an object that encodes (``text_encoder``), or a PyTerrier transformer.

The module is the user's own code, named by the user; no data file or checkpoint can name one.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Sequence
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Self

import pandas
import torch

from positionbias.core.errors import InputError, SettingError, where_raised
from positionbias.models.text_encoder import TextEncoder, encoder_of_object

_FORM = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_CPU = torch.device("cpu")


def is_code_name(name: Path | str) -> bool:
    """Return True if a model's name has the form ``module:object``, and no file has that name."""
    return _FORM.fullmatch(str(name)) is not None and not Path(name).exists()


class _UserCode:
    """The common part of both forms, which choose their own device."""

    @property
    def device(self) -> torch.device:
        """The CPU, as the code chooses its own device."""
        return _CPU

    def to(self, device: torch.device) -> Self:
        """Do nothing."""
        return self


class UserFunction(_UserCode):
    """A function of one query and its passages."""

    kind: ClassVar[str] = "function"

    def __init__(self, call: Any) -> None:
        self._call = call

    def score(self, query: str, passages: Sequence[str]) -> Any:
        """Call the function."""
        return self._call(query, list(passages))


class TransformerScorer(_UserCode):
    """A PyTerrier transformer: ``transform`` turns a frame with qid, query, docno and text into one
    with docno and score.

    ``qid`` and ``docno`` are hashes of the texts, so that a transformer that caches scores by id
    treats a rotated passage as new.
    """

    kind: ClassVar[str] = "pyterrier"

    def __init__(self, transformer: Any) -> None:
        self._transformer = transformer

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return the scores in the passages' order.

        Raises:
            InputError: the transformer returned no docno and score, or not one for each passage.
        """
        numbers = [_hash(passage) for passage in passages]
        texts = dict(zip(numbers, passages, strict=True))
        frame = pandas.DataFrame(
            {
                "qid": _hash(query),
                "query": query,
                "docno": list(texts),
                "text": list(texts.values()),
            },
            dtype=object,
        )
        given = self._transformer.transform(frame)
        columns = list(getattr(given, "columns", []))
        if not {"docno", "score"} <= set(columns):
            found = (
                f"columns {', '.join(map(str, columns))}"
                if columns
                else f"{type(given).__name__} without columns"
            )
            raise InputError(
                f"wanted a frame with the columns docno and score; found {found}; fix its transform"
            )
        found_scores = dict(zip(given["docno"], given["score"], strict=True))
        if len(given) != len(texts) or found_scores.keys() != texts.keys():
            raise InputError(
                f"wanted a row for each of {len(texts):,} distinct passages; found {len(given):,} "
                f"rows of {len(found_scores.keys() & texts.keys()):,} of them; fix its transform"
            )
        return [found_scores[number] for number in numbers]


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


UserModel = UserFunction | TransformerScorer | TextEncoder


def code_of(model: Any) -> Any:
    """Return the user's function or object in a model, to compare two; None for other models."""
    match model:
        case UserFunction():
            code = model._call
        case TransformerScorer():
            code = model._transformer
        case TextEncoder():
            code = model.encode
        case _:
            return None
    return code.__self__ if inspect.ismethod(code) else code


def load_user_code(name: str, kind: str | None = None) -> tuple[UserModel, Path | None]:
    """Load the model of ``module:object`` and its module's file; the current folder is searched
    first.

    Raises:
        InputError: no such module or object, a module that fails, or as ``user_model``.
        SettingError: as ``user_model``.
    """
    module_name, _, path = name.partition(":")
    module = _import(name, module_name)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            known = ", ".join(
                key
                for key, value in vars(module).items()
                if callable(value) and not key.startswith("_")
            )
            what = f"none of this name; it has {known}" if known else "none of this name"
            raise InputError(
                f"{name}: wanted {path!r} in the module {module_name}; found {what}; check the name"
            )
        found = getattr(found, part)
    file = getattr(module, "__file__", None)
    return user_model(found, name, kind), Path(file) if file else None


def user_model(found: Any, name: str, kind: str | None = None) -> UserModel:
    """Wrap a user's function or object as a model; errors call it ``name``.

    An object with ``transform`` is a transformer, one with ``encode`` or the like an encoder. A
    function with one required argument is an encoder of texts, one with two a scorer of a query's
    passages. Where the signature does not tell, ``kind`` does: "bi-encoder" or "cross-encoder".

    Raises:
        InputError: it is none of these, its kind is unknown, or an encoder does not return vectors.
        SettingError: ``kind`` is another, or contradicts the signature.
    """
    if inspect.isclass(found):
        raise InputError(
            f"{name}: wanted a function or a transformer; found a class; make one of it in the "
            "module, and name that"
        )
    if kind not in (None, *_ARGUMENTS):
        raise SettingError(
            f"--kind: wanted one of {' or '.join(_ARGUMENTS)} for {name}, which is a user's own "
            f"code; found {kind!r}; leave it out"
        )
    if kind != _ENCODES and callable(getattr(found, "transform", None)):
        return TransformerScorer(found)
    if kind != _SCORES and (encoder := encoder_of_object(found, name)) is not None:
        return encoder
    if not callable(found):
        wanted = (
            "a function (query, passages) → scores or texts → array, or an object with transform "
            "or encode"
        )
        raise InputError(f"{name}: wanted {wanted}; found {type(found).__name__}; name another")
    if (kind or _kind_of(found, name)) == _SCORES:
        return UserFunction(found)
    return TextEncoder(name, found, found)


_ENCODES, _SCORES = "bi-encoder", "cross-encoder"
_ARGUMENTS = {_ENCODES: 1, _SCORES: 2}  # arguments of a function of the kind


def _kind_of(call: Any, name: str) -> str:
    """Return the kind of a function by its number of required arguments.

    Raises:
        InputError: it is neither, or has no signature.
    """
    try:
        arguments = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        found = "a function without a readable signature"
    else:
        needed = [
            one for one in arguments if one.default is one.empty and one.kind is not one.VAR_KEYWORD
        ]
        shown = ", ".join(
            f"*{one.name}" if one.kind is one.VAR_POSITIONAL else one.name for one in needed
        )
        positional = all(
            one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in needed
        )
        for kind, count in _ARGUMENTS.items():
            if positional and len(needed) == count:
                return kind
        found = f"a function that needs ({shown})"
    raise InputError(
        f"{name}: wanted a function of one argument (texts → array) or of two ((query, passages) → "
        f"scores); found {found}; say what it is with --kind {_ENCODES} or {_SCORES}, or wrap it"
    )


def _import(name: str, module_name: str) -> ModuleType:
    here = os.getcwd()
    if sys.path[:1] != [here]:  # as with ``python -m``; a console script has its own folder there
        sys.path.insert(0, here)
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (
            module_name == error.name or module_name.startswith(f"{error.name}.")
        ):
            found, do = (
                f"none in {here} nor on the Python path",
                "check the name, or change to the module's folder",
            )
            raise InputError(
                f"{name}: wanted the module {module_name}; found {found}; {do}"
            ) from error
        raise _failed(name, module_name, error) from error
    except (Exception, SystemExit) as error:
        raise _failed(name, module_name, error) from error


def _failed(name: str, module_name: str, error: BaseException) -> InputError:
    return InputError(
        f"{name}: wanted the module {module_name}; found that it raised {where_raised(error)}; fix "
        "it"
    )
