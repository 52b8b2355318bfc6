"""Train–test overlap of passages, queries and pairs, at corpus scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.operation import Out, Overwrite, operation
from positionbias.core.places import Place, input_place, output_place, pasted
from positionbias.core.progress import hint
from positionbias.core.screen import wrapped
from positionbias.core.settings import Setting
from positionbias.engine.choose import Engine
from positionbias.ops.outcome import Measurements, Read, refuse_outputs
from positionbias.overlap.settings import OverlapSettings

if TYPE_CHECKING:
    from positionbias.overlap.sources import TextSet
    from positionbias.overlap.text import Example
    from positionbias.results.result import Result

__all__ = ["OverlapFound", "overlap_leakage"]


@dataclass(frozen=True, slots=True, repr=False)
class OverlapFound(Measurements):
    """The counts of overlap by test set, unit, detector and training set; the pairs stand in the
    folder that was written.
    """

    examples: Sequence[Example] = ()

    def _text(self) -> str:
        from positionbias.overlap.text import overlap_text

        return wrapped(overlap_text(self.results, self.examples))


@operation
def overlap_leakage(
    training: Annotated[
        Sequence[CollectionLike],
        Setting("Training sets.", metavar="[NAME=]TRAIN[:SPLIT]...", place="read"),
    ],
    *,
    tests: Annotated[
        Sequence[CollectionLike],
        Setting(
            "A test set; may be given again.",
            flags=("--test",),
            metavar="[NAME=]TEST[:SPLIT]",
            place="read",
        ),
    ] = (),
    settings: OverlapSettings = OverlapSettings(),
    labelled: Annotated[
        Sequence[Place],
        Setting(
            "A filled sheet of posbias leakage sample, which gives the precision of the detectors; "
            "may be given again.",
            metavar="SHEET",
            place="read",
        ),
    ] = (),
    examples: Annotated[
        int, Setting("Pairs to print of each test set and unit, with their texts.", least=0)
    ] = 0,
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> OverlapFound:
    """Find passages, queries and pairs of test sets in training sets.

    Texts are compared without case and punctuation: the same words (exact), and shared runs of 13
    words (ngram). How many of the pairs are right, only a labelled sample says (``labelled``). In a
    test set with judgements its relevant passages are compared, in a training set those that
    judgements name. A passage in a corpus that both sides share is not its own copy, and is counted
    apart.

        posbias leakage overlap msmarco --test msmarco:dl19 --test msmarco:dl20 --out overlap
        posbias leakage sample overlap/pairs/msmarco.dl19.passages.jsonl --found-by ngram \\
                --score of_test --above 0 --out sheet.tsv

    Returns:
        The share of test queries that are found, by test set, unit, detector and training set. The
        pairs stand in ``out``, a file pairs/TEST.UNIT.jsonl each.

    Raises:
        SettingError: no test set, or two sets of a side with one name.
        InputError: texts that cannot be read, or a sheet of other pairs.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> print(pb.overlap_leakage(["planted:train"], tests=["planted:test"], out="overlap"))
        0 of 18 queries of planted.test (0.0%) have a relevant passage in planted.train.
        0 of 18 queries of planted.test (0.0%) are in planted.train.
        ...
    """
    from positionbias.overlap.find import find_overlap
    from positionbias.overlap.lines import FOLDER
    from positionbias.overlap.sources import text_set
    from positionbias.overlap.text import surest

    if not training or not tests:
        found = "no training set" if tests else "no --test" if training else "neither"
        raise SettingError(
            f"leakage overlap: wanted training sets and --test; found {found}; give both"
        )
    refuse_outputs(out, overwrite=overwrite)
    place = output_place(out)
    train, test = (
        [text_set(one, settings, test=side is tests) for one in side] for side in (training, tests)
    )
    named = [*(("training set", one) for one in train), *(("test set", one) for one in test)]

    def measured(results: Sequence[Result], remarks: Sequence[str]) -> OverlapFound:
        return OverlapFound(
            results,
            command="leakage overlap",
            settings={**asdict(settings), "training": _splits(train), "tests": _splits(test)},
            read=[
                *(Read(f"{role} {one.name}", one.place, one.checksum) for role, one in named),
                *(Read.file("labelled pairs", input_place(one)) for one in labelled),
            ],
            name=f"Overlap with {', '.join(one.name for one in test)}",
            packages=("numpy", "pyarrow"),
            host=engine.host,
            remarks=remarks,
        )

    with engine.open() as map_shards:
        results, remarks = find_overlap(
            place,
            train,
            test,
            settings,
            lambda *found: measured(*found).manifest(place),
            labelled=labelled,
            map_shards=map_shards,
            overwrite=overwrite,
        )
    hint(f"written to {pasted(place)}, the pairs to {pasted(place / FOLDER)}")
    return replace(
        measured(results, remarks), examples=surest(place, results, examples) if examples else ()
    )


def _splits(sets: Sequence[TextSet]) -> dict[str, str]:
    """Return the splits of collections by the sets' names, so that a search can be repeated."""
    return {one.name: str(getattr(one, "split", "")) for one in sets}
