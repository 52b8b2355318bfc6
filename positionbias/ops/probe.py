"""Dependence of a model's term vectors on position: ATS and MATS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Overwrite, SavedTo, operation
from positionbias.core.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.core.places import Place, model_place, pasted
from positionbias.core.progress import say
from positionbias.core.settings import Setting
from positionbias.models.kinds import READ_AS
from positionbias.probe.settings import ProbeSettings

if TYPE_CHECKING:
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["mats"]

Probed = Annotated[
    CollectionLike | None,
    Setting("Whose passages are read.", absent="the originals of the first model's", place="read"),
]
Models = Annotated[
    Sequence[Place],
    Setting(
        "A model with term vectors; repeatable.",
        flags=("--model",),
        metavar="MODEL",
        place="read",
    ),
]
Kind = Annotated[str | None, READ_AS]


@operation
def mats(
    collection: Probed = None,
    *,
    models: Models,
    kind: Kind = None,
    curve: Annotated[
        bool, Setting("Print the curve too: average term similarity (ATS) by distance.")
    ] = False,
    settings: ProbeSettings = ProbeSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Measure how far term vectors depend on position, in one number, MATS.

    Average term similarity (ATS) at distance Δ is the mean cosine of a term's vectors Δ words
    apart, in different passages; MATS is how far it falls below its value at Δ = 0, on average.

    Without ``collection``, the original passages that the first model's manifest leads to. All
    models are probed on the same passages.

        posbias mats squad --model tk.ckpt --model bert.ckpt
        posbias mats squad --model tk.ckpt --curve --out curve

    Returns:
        Rows of each model and layer: MATS, and the curve by Δ.

    Raises:
        SettingError: a model without term vectors, or a layer that it has not.
        InputError: a model's manifest leads to no collection.

    Source: position-bias paper, Eq. 8 and 9, Table 2 and Figure 2.

    Example:
        >>> import positionbias as pb
        >>> print(pb.mats(models=["tk.ckpt"]))
        tk on planted: where positions differ, a word's ... less alike (cosine) than at equal
        ones; MATS 0..., and 0 is no dependence on position.
        <BLANKLINE>
        tk: 240 passages, 12,088 words, 13 unknown ones left out.
        <BLANKLINE>
        Term similarity by distance in position (MATS)
        ...
        >>> print(pb.mats("planted", models=["tk.ckpt"], curve=True))
        tk on planted: ...
        Average term similarity (ATS)
        <BLANKLINE>
        Model   Δ    ATS  Terms    Pairs  Deviation over terms  Deviation over pairs
        ─────  ──  ─────  ─────  ───────  ────────────────────  ────────────────────
        tk      0  1.000    161   56,782                 0.000                 0.000
        ...
    """
    refuse_outputs(out, overwrite=overwrite)
    measured = _probe("ats" if curve else "mats", collection, models, kind, settings)
    return save_if_asked(measured, out, overwrite=overwrite)


def _probe(
    study: str,
    collection: CollectionLike | None,
    models: Sequence[Place],
    kind: str | None,
    settings: ProbeSettings,
) -> Measurements:
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.probe.measured import similarity_rows
    from positionbias.probe.passages import collection_of_checkpoint
    from positionbias.probe.term_vectors import probe_model

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
