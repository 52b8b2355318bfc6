"""What each other library does in ``interop.py``, which runs this file in that library's environment: ``python interop_peers.py NAME WORK``.

Each part loads a folder of ours, or makes models and saves them, and gives scores of all pairs; what it cannot load is the error's first line. Written is
``WORK/NAME.json``: versions, and by row the scores or the error.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

Scores = list[list[float]]
Parts = dict[str, Callable[[], Any]]


def pairs(work: Path) -> list[tuple[str, list[str]]]:
    return [(query, passages) for query, passages in json.loads((work / "pairs.json").read_text())]


# -- transformers, sentence-transformers, rerankers, onnxruntime --------------------------------------------


def encoded_pairs(work: Path, folder: str) -> Iterator[dict[str, Any]]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(work / folder)
    for query, passages in pairs(work):
        yield dict(tokenizer([query] * len(passages), passages, truncation=True, padding=True, return_tensors="pt"))


def by_transformers(work: Path, folder: str) -> Scores:
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(work / folder).eval()
    with torch.inference_mode():
        return [model(**inputs).logits[:, 0].tolist() for inputs in encoded_pairs(work, folder)]


def by_cross_encoder(work: Path) -> Scores:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(work / "cat.ckpt"), device="cpu")
    return [model.predict([(query, text) for text in texts]).tolist() for query, texts in pairs(work)]


def by_rerankers(work: Path) -> Scores:
    from rerankers import Reranker

    model = Reranker(str(work / "cat.ckpt"), model_type="cross-encoder", dtype="fp32", device="cpu", verbose=0)
    found = []
    for query, texts in pairs(work):
        scores = {
            int(one.doc_id): float(one.score) for one in model.rank(query, texts, doc_ids=list(range(len(texts)))).results
        }
        found.append([scores[place] for place in range(len(texts))])
    return found


def by_sentence_transformer(work: Path) -> Scores:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(work / "dot.ckpt"), device="cpu")
    return [(model.encode_query([query]) @ model.encode_document(texts).T)[0].tolist() for query, texts in pairs(work)]


def by_multi_vector_encoder(work: Path) -> Scores:
    from sentence_transformers import MultiVectorEncoder

    model = MultiVectorEncoder(str(work / "colbert.ckpt"), device="cpu")
    found = []
    for query, texts in pairs(work):
        queries = model.encode_query([query] * len(texts))
        found.append(model.similarity_pairwise(queries, model.encode_document(texts)).tolist())
    return found


def by_onnxruntime(work: Path) -> Scores:
    import onnxruntime
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(work / "cat.ckpt").eval()
    sample = next(encoded_pairs(work, "cat.ckpt"))
    names = ["input_ids", "attention_mask", "token_type_ids"]
    place = work / "onnx" / "model.onnx"
    place.parent.mkdir(exist_ok=True)
    axes = {name: {0: "batch", 1: "length"} for name in names}
    arguments = tuple(sample[name] for name in names)
    torch.onnx.export(
        model,
        arguments,
        str(place),
        input_names=names,
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (place.parent / name).write_bytes((work / "cat.ckpt" / name).read_bytes())
    session = onnxruntime.InferenceSession(str(place), providers=["CPUExecutionProvider"])
    return [
        session.run(None, {name: inputs[name].numpy() for name in names})[0][:, 0].tolist()
        for inputs in encoded_pairs(work, "cat.ckpt")
    ]


def by_optimum(work: Path) -> Scores:
    from optimum.onnxruntime import ORTModelForSequenceClassification

    model = ORTModelForSequenceClassification.from_pretrained(str(work / "onnx"))
    return [model(**inputs).logits[:, 0].tolist() for inputs in encoded_pairs(work, "onnx")]


# -- lightning-ir -------------------------------------------------------------------------------------------


def random_encoders(work: Path) -> None:
    """A tiny ELECTRA, ModernBERT and DistilBERT with random weights, and MiniLM's tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerFast

    tokenizer = AutoTokenizer.from_pretrained(work / "minilm")
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    untyped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
        **special,
    )
    shapes: dict[str, dict[str, Any]] = {
        "electra": {
            "embedding_size": 24,
            "hidden_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "intermediate_size": 64,
        },
        "modernbert": {
            "hidden_size": 32,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "intermediate_size": 64,
            "pad_token_id": 0,
        },
        "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    }
    for kind, shape in shapes.items():
        torch.manual_seed(5)
        config = AutoConfig.for_model(kind, vocab_size=30_522, initializer_range=0.3, **shape)
        AutoModel.from_config(config).save_pretrained(work / kind)
        (untyped if kind == "modernbert" else tokenizer).save_pretrained(work / kind)


def lightning_configs() -> dict[str, Any]:
    from lightning_ir.models.bi_encoders.col import ColConfig
    from lightning_ir.models.bi_encoders.dpr import DprConfig
    from lightning_ir.models.cross_encoders.mono import MonoConfig

    punctuated = {
        "query_length": 32,
        "doc_length": 64,
        "doc_mask_scoring_tokens": "punctuation",
        "normalization_strategy": "l2",
    }
    return {
        "mono": MonoConfig(query_length=8, doc_length=24),
        "mono, two logits, mean": MonoConfig(scoring_strategy="mono", pooling_strategy="mean", linear_bias=True),
        "mono, BERT's pooler": MonoConfig(query_length=16, doc_length=104, pooling_strategy="bert_pool"),
        "dpr": DprConfig(query_length=16, doc_length=40),
        "dpr, mean, unit vectors, markers": DprConfig(
            pooling_strategy="mean", projection=None, normalize=True, add_marker_tokens=True
        ),
        "dpr, max, sparse, cosine": DprConfig(
            pooling_strategy="max",
            projection="linear_no_bias",
            similarity_function="cosine",
            sparsification_strategy="relu_log",
        ),
        "col": ColConfig(query_length=16, doc_length=104),
        "col as ColBERT": ColConfig(add_marker_tokens=True, query_expansion=True, projection="linear_no_bias", **punctuated),
        "col, both sides expanded, mean": ColConfig(
            query_length=24,
            doc_length=48,
            similarity_function="cosine",
            query_expansion=True,
            attend_to_query_expanded_tokens=True,
            doc_expansion=True,
            query_aggregation_function="mean",
            query_mask_scoring_tokens=["the", "?"],
            embedding_dim=16,
        ),
    }


def lightning_scores(work: Path, module: Any) -> Scores:
    import torch

    with torch.inference_mode():
        return [module.eval().score([query], [texts]).scores.tolist() for query, texts in pairs(work)]


def made_by_lightning(work: Path, encoder: str, name: str) -> Scores:
    """A model with a random head, saved; scored as it was loaded again, or as it is where lightning-ir does not load it again."""
    import torch
    from lightning_ir import BiEncoderModule, CrossEncoderModule

    config = lightning_configs()[name]
    made = CrossEncoderModule if "mono" in name else BiEncoderModule
    module = made(str(work / encoder), config)
    torch.manual_seed(6)
    for part in ("linear", "projection", "bert_pool"):
        for weights in getattr(module.model, part, torch.nn.Identity()).parameters():
            torch.nn.init.normal_(weights, std=0.1)
    folder = work / "lightning-ir" / encoder / name
    module.model.save_pretrained(folder)
    module.tokenizer.save_pretrained(folder)
    return lightning_scores(work, module if "pooler" in name else made(str(folder)))


def ours_by_lightning(work: Path) -> Scores:
    from lightning_ir import BiEncoderModule
    from lightning_ir.models.bi_encoders.dpr import DprConfig

    shape = json.loads((work / "dot.ckpt" / "posbias.json").read_text())["shape"]
    lengths = {
        "query_length": 8 * -(shape["query_length"] // -8),
        "doc_length": shape["passage_length"],
    }  # it takes multiples of 8 alone
    config = DprConfig(projection=None, pooling_strategy="first", **lengths)
    return lightning_scores(work, BiEncoderModule(str(work / "dot.ckpt"), config))


# -- PyLate -------------------------------------------------------------------------------------------------

PYLATE: dict[str, dict[str, Any]] = {
    "ColBERT": {},
    "ColBERT, attends to [MASK], bias": {
        "query_length": 20,
        "document_length": 50,
        "attend_to_expansion_tokens": True,
        "embedding_size": 24,
        "bias": True,
        "skiplist_words": ["the", "."],
    },
    "ColBERT, no expansion, prefix, skip list": {
        "do_query_expansion": False,
        "query_prefix": "",
        "document_prefix": "",
        "skiplist_words": [],
    },
}


def pylate_scores(work: Path, model: Any) -> Scores:
    """Each passage alone: PyLate's ``rank.rerank`` pads shorter passages with zeros, which win where all matches are negative."""
    import torch
    from pylate.scores import colbert_scores

    def score(query: Any, passage: Any) -> float:
        return float(colbert_scores(torch.tensor(query)[None], torch.tensor(passage)[None])[0, 0])

    found = []
    for query, texts in pairs(work):
        asked = model.encode([query], is_query=True)[0]
        found.append([score(asked, passage) for passage in model.encode(texts, is_query=False)])
    return found


def made_by_pylate(work: Path, encoder: str, name: str) -> Scores:
    import torch
    from pylate.models import ColBERT

    torch.manual_seed(1)
    folder = work / "pylate" / encoder / name
    ColBERT(str(work / encoder), device="cpu", **PYLATE[name]).save(str(folder))
    return pylate_scores(work, ColBERT(str(folder), device="cpu"))


def ours_by_pylate(work: Path) -> Scores:
    from pylate.models import ColBERT

    return pylate_scores(work, ColBERT(str(work / "colbert.ckpt"), device="cpu"))


# -- the parts of each environment --------------------------------------------------------------------------


def parts(name: str, work: Path) -> Parts:
    if name == "current":
        return {
            "cat.ckpt by transformers": lambda: by_transformers(work, "cat.ckpt"),
            "cat.ckpt by sentence-transformers": lambda: by_cross_encoder(work),
            "cat.ckpt by rerankers": lambda: by_rerankers(work),
            "cat.ckpt by onnxruntime": lambda: by_onnxruntime(work),
            "dot.ckpt by sentence-transformers": lambda: by_sentence_transformer(work),
            "colbert.ckpt by sentence-transformers": lambda: by_multi_vector_encoder(work),
        }
    if name == "optimum":
        return {
            "cat.ckpt by optimum-onnx": lambda: by_optimum(work),
            "cat.ckpt by transformers": lambda: by_transformers(work, "cat.ckpt"),
        }
    if name == "lightning-ir":
        random_encoders(work)
        few = ("mono", "dpr", "col")  # markers are for BERT and ModernBERT alone
        by_encoder = {"minilm": lightning_configs(), "modernbert": lightning_configs(), "electra": few, "distilbert": few}
        kept = [(encoder, row) for encoder, made in by_encoder.items() for row in made]
        return {"dot.ckpt by lightning-ir": lambda: ours_by_lightning(work)} | {
            f"{row}: {encoder}": lambda e=encoder, r=row: made_by_lightning(work, e, r) for encoder, row in kept
        }
    return {"colbert.ckpt by pylate": lambda: ours_by_pylate(work)} | {
        f"{row}: {encoder}": lambda e=encoder, r=row: made_by_pylate(work, e, r)
        for encoder in ("minilm", "modernbert")
        for row in PYLATE
    }


def main(name: str, work: Path) -> None:
    found: dict[str, Any] = {}
    for row, part in parts(name, work).items():
        try:
            found[row] = part()
        except Exception as error:  # what a library cannot load is a result
            found[row] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
        print(f"{name}: {row}", file=sys.stderr, flush=True)
    packages = (
        "torch",
        "transformers",
        "sentence-transformers",
        "rerankers",
        "onnxruntime",
        "optimum-onnx",
        "lightning-ir",
        "pylate",
    )
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except Exception:  # not in this environment
            continue
    (work / f"{name}.json").write_text(json.dumps({"versions": versions, "rows": found}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
