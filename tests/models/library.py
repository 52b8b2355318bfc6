"""sentence-transformers' models of tiny parts with random weights, and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.models.encoder import quiet_transformers

from ..tiny import tiny_encoder

theirs = pytest.importorskip(
    "sentence_transformers", reason="sentence-transformers is not installed"
)

QUIET = {"show_progress_bar": False}


def cross_encoder(*args: Any, **kwargs: Any) -> Any:
    with quiet_transformers():
        return theirs.CrossEncoder(*args, device="cpu", **kwargs)


def bi_encoder(*args: Any, **kwargs: Any) -> Any:
    with quiet_transformers():
        return theirs.SentenceTransformer(*args, device="cpu", **kwargs)


def transformer(place: Path, **settings: Any) -> Any:
    from sentence_transformers.base.modules import Transformer

    with quiet_transformers():
        return Transformer(str(tiny_encoder(place)), **settings)


def head(**settings: Any) -> Any:
    from sentence_transformers.base.modules import Dense

    torch.manual_seed(2)
    shape = {"activation_function": torch.nn.Identity(), "module_output_name": "scores", **settings}
    return Dense(16, **{"out_features": 1, **shape})


def pooling(mode: Any, **settings: Any) -> Any:
    from sentence_transformers.sentence_transformer.modules import Pooling

    return Pooling(16, pooling_mode=mode, **settings)


def kept(model: Any, place: Path) -> Path:
    with quiet_transformers():
        model.save_pretrained(str(place), create_model_card=False)
    return place
