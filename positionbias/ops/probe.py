"""Dependence of a model's term vectors on position: ATS and MATS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, refuse_outputs, save_if_asked
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Overwrite, SavedTo
from positionbias.models.kinds import ReadAs
from positionbias.ops.operation import operation
from positionbias.probe.settings import ProbeSettings

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


@operation
def mats(
    collection: Probed = None,
    *,
    models: Models,
    kind: ReadAs = None,
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
    from positionbias.probe.mats import probe_models

    refuse_outputs(out, overwrite=overwrite)
    measured = probe_models("ats" if curve else "mats", collection, models, kind, settings)
    return save_if_asked(measured, out, overwrite=overwrite)
