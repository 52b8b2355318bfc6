"""Word vectors distilled from an encoder, and models with a remedy, without training."""

from __future__ import annotations

from typing import Annotated

from positionbias.core.outcome import Written
from positionbias.core.places import Place
from positionbias.core.settings import Setting
from positionbias.core.shared_settings import Out, Overwrite, Sources
from positionbias.models.kinds import ReadAs
from positionbias.models.settings import DistilSettings
from positionbias.ops.operation import operation


@operation
def distil_vectors(
    collections: Sources,
    *,
    encoder: Annotated[
        str,
        Setting("The pre-trained encoder that reads each word.", metavar="PATH|ID", place="read"),
    ],
    settings: DistilSettings = DistilSettings(),
    split: Annotated[
        str | None,
        Setting(
            "Its queries' words count too.", metavar="SPLIT", absent="train, where there is one"
        ),
    ] = None,
    threads: Annotated[
        int,
        Setting("CPU threads; the output is the same for any number.", least=1, shown=False),
    ] = 1,
    out: Out,
    overwrite: Overwrite = False,
) -> Written:
    """Make vectors of the collections' words from a pre-trained encoder: the static-embedding
    recipe of model2vec.

    Each word is read as a text of its own; the mean of its last hidden states is reduced to
    principal components and weighted by the word's frequency. Give all collections that one TK will
    meet (to train on one and test on another).

        posbias model vectors --encoder minilm squad --out squad.safetensors
        posbias train tk squad --word-vectors squad.safetensors …

    Returns:
        A .safetensors file of vectors, and its counts as rows.

    Raises:
        SettingError: an encoder narrower than ``dimension``, or too few words for as many
            components.
        InputError: the encoder cannot be loaded, or no such split.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import DistilSettings
        >>> print(
        ...     pb.distil_vectors(
        ...         ["planted"],
        ...         encoder="small-bert",
        ...         settings=DistilSettings(dimension=4),
        ...         out="words",
        ...     )
        ... )
        planted: 446 words, 4 numbers a word, 22 words too rare
    """
    from positionbias.models.distil import distil_vectors as write

    return write(
        collections, encoder, out, settings, split=split, threads=threads, overwrite=overwrite
    )


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
    kind: ReadAs = None,
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
    from positionbias.models.checkpoint import debias_model as write

    return write(model, remedy, kind, out, overwrite=overwrite)
