"""Term similarity of several models on one collection, as results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from positionbias.core.collection import find_collection
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, model_place, pasted
from positionbias.core.progress import say
from positionbias.core.rows import Collected
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.probe.measured import similarity_rows
from positionbias.probe.passages import collection_of_checkpoint
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe_model


def probe_models(
    study: str,
    collection: CollectionLike | None,
    models: Sequence[Place],
    kind: str | None,
    settings: ProbeSettings,
) -> Measurements:
    """Measure models on a collection, by default on the originals of the first model's passages.

    Raises:
        SettingError, InputError: as ``probe_model`` and ``collection_of_checkpoint``.
    """
    checkpoints = [load_checkpoint(model_place(model), kind) for model in models]
    if collection is None:
        probed = collection_of_checkpoint(Path(checkpoints[0].path), checkpoints[0].manifest)
        say(
            f"probing on the original passages that {checkpoints[0].name} leads to: "
            f"{pasted(probed.path)}"
        )
    else:
        probed = find_collection(collection)
    made = Collected({"study": study, "collection": probed.name})
    for checkpoint, system in zip(checkpoints, _names(checkpoints, models), strict=True):
        for one in probe_model(checkpoint, probed, settings, system=system):
            similarity_rows(made, one, model=one.system)
    return Measurements(
        rows=made.rows,
        command="mats",
        settings=asdict(settings),
        read=[
            Read("collection", probed.path, probed.checksum),
            *(Read("model", item.path, item.manifest.checksum) for item in checkpoints),
        ],
        seed=settings.seed,
        licence=probed.manifest.licence,
        notes=(
            "Term vectors are those that enter tk's cosine matrix, or an encoder's states of word "
            "pieces; padding, special tokens and unknown words are left out.",
            (
                "The curve ends before the first Δ with too few terms, even where later ones have "
                "more."
            ),
        ),
        packages=("numpy", "torch"),
    )


def _names(checkpoints: Sequence[Checkpoint], models: Sequence[Place]) -> list[str]:
    """The checkpoints' names, numbered where two are alike."""
    names = [checkpoint.ended_name for checkpoint in checkpoints]
    if len(set(names)) == len(names):
        return names
    numbered = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    for name, model in zip(numbered, models, strict=True):
        say(f"{name} is {model}")
    return numbered
