"""Starting points for models where nothing pre-trained fits: word vectors distilled from an
encoder, and a small encoder made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from positionbias.core.operation import Out, Overwrite, Sources, operation
from positionbias.core.outcome import Written
from positionbias.core.settings import Setting
from positionbias.models.settings import DistilSettings

if TYPE_CHECKING:
    pass


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
