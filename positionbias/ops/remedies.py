"""Models made less dependent on positions, without training."""

from __future__ import annotations

from typing import Annotated

from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.outcome import Written
from positionbias.core.places import Place, model_place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.settings import Setting
from positionbias.models.kinds import READ_AS

__all__ = ["debias_model"]


@operation
def debias_model(
    model: Annotated[
        Place,
        Setting(
            "A checkpoint, or a model of transformers or sentence-transformers (a folder, a hub "
            "id, minilm).",
            metavar="MODEL",
            place="read",
        ),
    ],
    *,
    remedy: Annotated[
        str,
        Setting(
            "The remedy that is built in, as NAME:K. rotate: the mean over a passage's scores in K "
            "evenly spaced rotations; rotate-max: their maximum; segments-max: the maximum over K "
            "equal parts of it, each read alone. Or calibrate:STRENGTH[:BASKET[:LAYERS]]: "
            "attention to a passage evened out over baskets of 128 tokens in the last half of the "
            "layers, for models with one vector a text.",
            metavar="REMEDY",
        ),
    ],
    kind: Annotated[str | None, READ_AS] = None,
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Give a model a remedy for position bias that needs no training: it reads each passage in
    several variants, and pools their scores, or evens out its attention.

    Wherever a model is wanted, the new one can be given. With variants it takes about K times as
    long to read passages; a model with one vector a text still has one where the mean is taken, so
    that a search takes no longer. Whether it is less biased, and what that costs in quality, an
    audit of both tells. Measure it by a manipulation that the remedy did not use: a mean over
    rotations hardly changes by rotation, whatever else is wrong with it.

        posbias model remedy cat.ckpt --remedy rotate:4 --out cat-rotated
        posbias audit squad --candidates bm25.run --model cat.ckpt --model cat-rotated

    Returns:
        The new model, a folder, and a result, whose value is the number of variants.

    Raises:
        SettingError: no such remedy, or none for this model.
        InputError: no such model, or one that is not in files: an endpoint, or a user's own code.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.debias_model("tk.ckpt", remedy="rotate:4", out="tk-rotated"))
        tk, rotate:4: 4 variants of each passage
    """
    from positionbias.core.manifest import Manifest, input_ref, package_versions
    from positionbias.core.rows import counted_rows
    from positionbias.models.checkpoint import load_checkpoint, save_remedied
    from positionbias.models.remedies import Remedy, read_remedy

    wanted, place = read_remedy(remedy), output_place(out)
    base = load_checkpoint(model_place(model), kind)
    manifest = Manifest(
        kind="checkpoint",
        name="",
        command="debias-model",
        inputs=(input_ref("model", base.path, base.manifest.checksum, artefact=place),),
        licence=base.manifest.licence,
        versions=package_versions("torch"),
    )
    name = save_remedied(place, base, wanted, manifest, overwrite=overwrite)
    hint(
        f"written to {pasted(place)}; next: posbias audit COLLECTION --candidates RUN --model "
        f"{pasted(base.path)} --model {pasted(place)}"
    )
    counted = (
        {"variants of each passage": wanted.number}
        if isinstance(wanted, Remedy)
        else {"tokens in each part that attention is evened out over": wanted.basket}
    )
    return Written(place, rows=counted_rows("debias-model", counted, model=name))
