"""Starting points for models where nothing pre-trained fits: word vectors distilled from an
encoder, and a small encoder made anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, Sources, operation
from positionbias.core.outcome import Written
from positionbias.core.places import output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.settings import Setting
from positionbias.models.settings import DistilSettings

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

__all__ = ["distil_vectors"]


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
    from positionbias.core.rows import counted_rows
    from positionbias.models.distil import distil

    opened, place = _opened(collections), output_place(out)
    manifest = distil(
        opened, encoder, place, settings, split=split, threads=threads, overwrite=overwrite
    )
    hint(
        f"written to {pasted(place)}; next: posbias train tk COLLECTION --word-vectors "
        f"{pasted(place)} …"
    )
    numbers = {
        "words": "words",
        "numbers a word": "dimension",
        "words too rare": "words_too_rare",
        "words that the encoder cannot read": "words_without_pieces",
    }
    facts: Mapping[str, Any] = manifest.content
    rows = counted_rows(
        "vectors distil",
        {name: facts[fact] for name, fact in numbers.items()},
        collection="+".join(collection.name for collection in opened),
        split=split or "train",
    )
    return Written(place, rows=rows)


def _opened(collections: Sequence[CollectionLike]) -> list[Collection]:
    from positionbias.core.collection import find_collection

    return [find_collection(place) for place in collections]
