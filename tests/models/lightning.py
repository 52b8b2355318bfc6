"""Tiny models in the folders that lightning-ir writes, and its scores written out by hand from its code: one text at a time, no batches."""

from __future__ import annotations

import json
from pathlib import Path
from string import punctuation
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..tiny import tiny_encoder

WIDTH, PROJECTED = 16, 6
MONO = {"query_length": 6, "doc_length": 14, "pooling_strategy": "first", "scoring_strategy": "rank", "linear_bias": False}
DPR = {
    "query_length": 8,
    "doc_length": 24,
    "pooling_strategy": "first",
    "projection": "linear",
    "similarity_function": "dot",
    "normalization_strategy": None,
    "sparsification_strategy": None,
    "add_marker_tokens": False,
}
COL = {
    **{name: value for name, value in DPR.items() if name != "pooling_strategy"},
    "query_expansion": False,
    "doc_expansion": False,
    "attend_to_query_expanded_tokens": False,
    "attend_to_doc_expanded_tokens": False,
    "query_mask_scoring_tokens": None,
    "doc_mask_scoring_tokens": None,
    "query_aggregation_function": "sum",
    "doc_aggregation_function": "max",
    "k_train": None,
}
TYPES = {"mono": MONO, "lir-dpr": DPR, "col": COL}
TOKENIZERS = {"mono": "CrossEncoderTokenizer", "lir-dpr": "BiEncoderTokenizer", "col": "ColTokenizer"}


def lightning(folder: Path, kind: str, **settings: Any) -> Path:
    """A folder of lightning-ir's layout with random weights. ``bert_pool``: with the dense layer of BERT's own pooler."""
    bert_pool = settings.pop("bert_pool", False)
    tiny_encoder(folder, max_position_embeddings=64, vocab_size=200)
    own = {**TYPES[kind], **settings}
    record = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(
            {**record, "model_type": kind, "backbone_model_type": "bert", "use_adapter": False, "adapter_config": None, **own}
        )
    )
    place = folder / "tokenizer_config.json"
    told = {"tokenizer_class": TOKENIZERS[kind], "backbone_tokenizer_class": "BertTokenizerFast", "model_max_length": 40}
    place.write_text(json.dumps({**json.loads(place.read_text()), **told}))
    if own.get("add_marker_tokens"):
        _add_tokens(folder / "tokenizer.json", ["[QUE]", "[DOC]"])
    save_file({**load_file(folder / "model.safetensors"), **_head(kind, own, bert_pool)}, folder / "model.safetensors")
    return folder


def _add_tokens(place: Path, tokens: list[str]) -> None:
    record = json.loads(place.read_text())
    first = len(record["model"]["vocab"])
    plain = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    record["added_tokens"] += [{"id": first + number, "content": token, **plain} for number, token in enumerate(tokens)]
    place.write_text(json.dumps(record))


def _head(kind: str, own: dict[str, Any], bert_pool: bool) -> dict[str, Tensor]:
    drawn = torch.Generator().manual_seed(7)

    def random(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=drawn) / 4

    if kind == "mono":
        outputs = 2 if own["scoring_strategy"] == "mono" else 1
        pool = {"bert_pool.0.weight": random(WIDTH, WIDTH), "bert_pool.0.bias": random(WIDTH)} if bert_pool else {}
        bias = {"linear.bias": random(outputs)} if own["linear_bias"] else {}
        return {"linear.weight": random(outputs, WIDTH), **bias, **pool}
    if own["projection"] is None:
        return {}
    bias = {"projection.bias": random(PROJECTED)} if own["projection"] == "linear" else {}
    return {"projection.weight": random(PROJECTED, WIDTH), **bias}


class Reference:
    """lightning-ir's score of one query and one passage."""

    def __init__(self, folder: Path) -> None:
        from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

        self.own = json.loads((folder / "config.json").read_text())
        config = {name: value for name, value in self.own.items() if name != "model_type"}
        self.tensors = load_file(folder / "model.safetensors")
        self.bert = BertModel(BertConfig(**config), add_pooling_layer=False).eval()
        self.bert.load_state_dict({name: self.tensors[name] for name in self.bert.state_dict()})
        names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
        self.tokens = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **names)

    @torch.no_grad()
    def score(self, query: str, passage: str) -> float:
        """The score by the type of the model."""
        if self.own["model_type"] == "mono":
            return self._mono(query, passage)
        sides = [self._side(text, *names) for text, *names in ((query, "query", "[QUE]"), (passage, "doc", "[DOC]"))]
        if self.own["model_type"] == "lir-dpr":
            return float((sides[0] * sides[1]).sum())
        matches = sides[0] @ sides[1].T
        best = getattr(matches, {"max": "amax"}.get(how := self.own["doc_aggregation_function"], how))(dim=1)
        return float(getattr(best, {"max": "amax"}.get(how := self.own["query_aggregation_function"], how))(dim=0))

    def _mono(self, query: str, passage: str) -> float:
        first = self.tokens.encode(query, add_special_tokens=False)[: self.own["query_length"]]
        second = self.tokens.encode(passage, add_special_tokens=False)[: self.own["doc_length"]]
        numbers = [2, *first, 3, *second, 3]  # [CLS] and [SEP]
        types = torch.tensor([[0] * (len(first) + 2) + [1] * (len(second) + 1)])
        states = self.bert(torch.tensor([numbers]), token_type_ids=types).last_hidden_state[0]
        state = self._pool(states)
        if "bert_pool.0.weight" in self.tensors:
            state = torch.tanh(self.tensors["bert_pool.0.weight"] @ state + self.tensors["bert_pool.0.bias"])
        outputs = self.tensors["linear.weight"] @ state + self.tensors.get("linear.bias", torch.zeros(1))
        return float(torch.log_softmax(outputs, 0)[1] if len(outputs) == 2 else outputs[0])

    def _pool(self, states: Tensor) -> Tensor:
        how = self.own["pooling_strategy"]
        return states[0] if how == "first" else getattr(states, {"max": "amax"}.get(how, how))(dim=0)

    def _side(self, text: str, side: str, marker: str) -> Tensor:
        """The vectors of a text that are scored ``(rows, dim)``; of a dpr its one ``(dim,)``."""
        own = self.own
        before = [2, *([self.tokens.convert_tokens_to_ids(marker)] if own["add_marker_tokens"] else [])]
        length = own[f"{side}_length"]
        words = self.tokens.encode(text, add_special_tokens=False)
        numbers = [*before, *words[: length - len(before) - 1], 3]
        attended = [1] * len(numbers)
        if own.get(f"{side}_expansion"):
            extra = length - len(numbers)
            numbers += [4] * extra  # [MASK]
            attended += [int(own[f"attend_to_{side}_expanded_tokens"])] * extra
        states = self.bert(torch.tensor([numbers]), attention_mask=torch.tensor([attended])).last_hidden_state[0]
        if own["model_type"] == "lir-dpr":
            return self._vector(self._pool(states))
        unscored = own[f"{side}_mask_scoring_tokens"] or []
        left_out = {
            self.tokens.convert_tokens_to_ids(token) for token in (punctuation if unscored == "punctuation" else unscored)
        }
        return self._vector(states[[number not in left_out for number in numbers]])

    def _vector(self, states: Tensor) -> Tensor:
        own = self.own
        if own["projection"]:
            states = states @ self.tensors["projection.weight"].T + self.tensors.get("projection.bias", torch.zeros(PROJECTED))
        for step in {"relu": ["relu"], "relu_log": ["relu", "log1p"], "relu_2xlog": ["relu", "log1p", "log1p"]}.get(
            own["sparsification_strategy"], []
        ):
            states = getattr(torch, step)(states)
        if own["normalization_strategy"] or own["similarity_function"] == "cosine":
            states = states / states.norm(dim=-1, keepdim=True)
        return states
