"""How often our own splitter of words and sentences differs from BlingFire, and what that changes in figures:

    posbias import squad $POSBIAS_DATA/squad --out squad
    python benchmarks/splitters.py squad        # writes benchmarks/results/splitters_HARDWARE_DATE.md

Counted over all passages: those in which any word (or sentence) begins or ends elsewhere, the words of which one splitter's is none of the other's, and
the passages that ``debias --seed 1`` cuts elsewhere. The histogram is that of each split with answers, by the source's offsets and by matching words.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from datetime import date
from importlib.metadata import version

from measuring import hardware, result_place

from positionbias.core.collection import Collection, find_collection
from positionbias.positions.histogram import position_histogram, splits_with_answers
from positionbias.positions.rotate import Rotation
from positionbias.positions.settings import HistogramOptions, Matching
from positionbias.results.payloads import PositionHistogram
from positionbias.text.unicode_words import unicode_sentence_starts
from positionbias.text.words import WordMethod, sentence_starts, word_spans

METHODS: tuple[WordMethod, WordMethod] = ("blingfire", "unicode")


def differing(pieces: list[list[object]], others: list[list[object]]) -> str:
    """A row's cells: passages that differ, their share, pieces of both, and pieces that only one has."""
    passages = sum(one != other for one, other in zip(pieces, others, strict=True))
    apart = [sum(len(set(a) - set(b)) for a, b in zip(*pair, strict=True)) for pair in ((pieces, others), (others, pieces))]
    return f"{passages:,} ({passages / len(pieces):.2%}) | {sum(map(len, pieces)):,} | {sum(map(len, others)):,} | {apart[0]:,} | {apart[1]:,}"


def cuts(texts: dict[str, str], words: WordMethod) -> list[int]:
    rotation = Rotation(words=words, seed=1)
    return [rotation.cut(text, passage_id) for passage_id, text in texts.items()]


def histogram_rows(collection: Collection, split: str, offsets: bool) -> list[str]:
    """The rows of one histogram, a splitter each."""
    rows = []
    for words in METHODS:
        options = HistogramOptions(matching=Matching(words=words, offsets=offsets), resamples=100)
        result = position_histogram(collection, split, options)
        assert isinstance(result.payload, PositionHistogram)
        found = result.payload.figures
        figures = (found.mean, found.first_tenth, found.first_fifth, found.total_variation)
        rows.append(
            f"| {split} | {'offsets' if offsets else 'words'} | {words} | {result.count:,} | {' | '.join(f'{figure.value:.5f}' for figure in figures)} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    given = parser.parse_args()
    collection = find_collection(given.collection)
    texts = {passage.passage_id: passage.text for passage in collection.passages()}

    def of_all(split: Callable[[str], list[object]]) -> list[list[object]]:
        return [split(text) for text in texts.values()]

    spans = [of_all(lambda text, words=words: [*word_spans(text, words)]) for words in METHODS]
    starts = [of_all(lambda text: [*sentence_starts(text)]), of_all(lambda text: [*unicode_sentence_starts(text)])]
    other_cuts = sum(one != other for one, other in zip(*(cuts(texts, words) for words in METHODS), strict=True))
    histograms = [
        row
        for split in splits_with_answers(collection)
        for offsets in (True, False)
        for row in histogram_rows(collection, split, offsets)
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("blingfire", "numpy", "positionbias"))
    lines = [
        "# Words by BlingFire and by our own rules",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/splitters.py {collection.name}",
        "",
        f"{collection.name}: {len(texts):,} passages.",
        "",
        "| of | passages that differ | by BlingFire | by our rules | only BlingFire's | only ours |",
        "|---|---|---|---|---|---|",
        f"| words | {differing(*spans)} |",
        f"| sentences | {differing(*starts)} |",
        "",
        f"`debias --seed 1` cuts {other_cuts:,} of them ({other_cuts / len(texts):.2%}) elsewhere.",
        "",
        "| split | answers by | words | answers | mean position | first tenth | first fifth | total variation |",
        "|---|---|---|---|---|---|---|---|",
        *histograms,
    ]
    text = "\n".join(lines) + "\n"
    result_place("splitters").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
