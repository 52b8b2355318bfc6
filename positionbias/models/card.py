"""Write a checkpoint's model card: README.md with the Hub's metadata, made of its manifest and its
files alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_name
from positionbias.models.encoder_source import MINILM
from positionbias.models.layout import architecture, has_modules

CARD = "README.md"
_MINILM = "sentence-transformers/all-MiniLM-L6-v2"  # the model in the package of the extra
_CLASSES = {
    "bert_cat": "CrossEncoder",
    "bert_dot": "SentenceTransformer",
    "colbert": "MultiVectorEncoder",
}
# the training settings that readers ask for first
_TRAINING = {"loss": "loss", "batch_size": "batch size", "learning_rate": "learning rate"}


def model_card(
    folder: Path, kind: str, depth: int | None, manifest: Manifest, base: str | None
) -> str:
    """Return the card of a checkpoint of this kind with its other files in ``folder``. ``base`` is
    the encoder's id on the Hub.
    """
    facts = _metadata(folder, kind, manifest, base)
    header = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items()]
    sections = {
        "Use": _use(folder, kind, manifest.name),
        "Data": _data(manifest),
        "Training": _training(manifest, base),
        "Evaluation": _evaluation(manifest.content, depth),
        "Licence": [f"Of the training data: {manifest.licence or 'none was recorded'}."],
    }
    lines = [
        "---",
        *header,
        "---",
        "",
        f"# {manifest.name}",
        "",
        f"A re-ranker of kind {kind}, by positionbias.",
        "",
    ]
    for title, content in sections.items():
        lines += [f"## {title}", "", *content, ""]
    return "\n".join(lines)


def _metadata(folder: Path, kind: str, manifest: Manifest, base: str | None) -> JsonObject:
    library = _library(folder)
    licence = (
        {"license": "other", "license_name": "of-the-training-data"} if manifest.licence else {}
    )
    collection = manifest.input("collection")
    return {
        "library_name": library,
        "pipeline_tag": "sentence-similarity"
        if kind in ("bert_dot", "colbert")
        else "text-ranking",
        **licence,
        **({"datasets": [Path(collection.path).name]} if collection else {}),
        **({"base_model": _MINILM if base == MINILM else base} if base else {}),
        "tags": list(
            dict.fromkeys(
                ["positionbias", kind, *(["sentence-transformers"] if has_modules(folder) else [])]
            )
        ),
    }


def _library(folder: Path) -> str:
    """Return the library that loads a whole checkpoint, head and all."""
    named = architecture(folder) if (folder / "config.json").is_file() else ""
    if named.endswith(("ForSequenceClassification", "ForConditionalGeneration")):
        return "transformers"
    return "sentence-transformers" if has_modules(folder) else "positionbias"


def _use(folder: Path, kind: str, name: str) -> Sequence[str]:
    lines = [f"posbias rerank COLLECTION --model {name} --candidates RUN --out RERANKED"]
    if has_modules(folder):
        lines.append(f'sentence_transformers.{_CLASSES[kind]}("{name}")')
    if _library(folder) == "transformers":
        task = "Seq2SeqLM" if kind == "mono_t5" else "SequenceClassification"
        lines.append(f'transformers.AutoModelFor{task}.from_pretrained("{name}")')
    return [f"    {line}" for line in lines]


def _data(manifest: Manifest) -> Sequence[str]:
    return [
        f"- {item.role.replace('_', ' ')}: {input_name(item.path)} (`{item.checksum}`)"
        for item in manifest.inputs
    ] or ["None was recorded."]


def _training(manifest: Manifest, base: str | None) -> Sequence[str]:
    settings, content = manifest.settings, manifest.content
    training: Any = settings.get("training")
    chosen: dict[str, Any] = {
        "command": f"posbias {manifest.command}",
        "started from": base,
        "seed": manifest.seed,
    }
    if isinstance(training, Mapping):
        chosen |= {label: training.get(name) for name, label in _TRAINING.items()}
    if rotate := settings.get("rotate"):
        chosen["passages rotated anew at each read"] = json.dumps(rotate)
    for name in ("training_groups", "steps", "stopped", "best_step", "weights"):
        chosen[name.replace("_", " ")] = content.get(name)
    versions = ", ".join(f"{package} {version}" for package, version in manifest.versions.items())
    return [
        f"- {label}: {value}"
        for label, value in {**chosen, "versions": versions}.items()
        if value not in (None, "")
    ]


def _evaluation(content: JsonObject, depth: int | None) -> Sequence[str]:
    value, first = content.get("validation_ndcg@10"), content.get("first_stage_ndcg@10")
    if not isinstance(value, float):
        return ["Not validated while it was trained."]
    compared = f"; the first stage's own order has {first:.4f}" if isinstance(first, float) else ""
    return [
        (
            f"nDCG@10 on validation queries: {value:.4f}, re-ranking the first {depth} "
            f"candidates{compared}."
        ),
        (
            "These queries chose the weights and the depth, so the figure is optimistic and has no "
            "interval."
        ),
    ]
