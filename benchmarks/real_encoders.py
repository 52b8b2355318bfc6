"""How much of an answer's worth do published encoders lose where it stands later in the text?

    python benchmarks/real_encoders.py SQUAD_DEV STATE NAME=FOLDER[:TOKENS] …

    python benchmarks/real_encoders.py dev-v1.1.json state MiniLM=all-MiniLM-L6-v2:254 \\
      mpnet=all-mpnet-base-v2:382

Writes benchmarks/results/real_encoders.csv. 300 questions of SQuAD's development set are drawn. The
sentence that answers, with as many neighbours as fit into 64 tokens, is put at five places of a
text of 128 tokens, and of one as long as the model reads (``TOKENS``, special tokens left out).
Sentences of passages of other articles fill the text, the same at every place.

- Worth: the score of a text less that of the same text with equally long sentences of another
  passage in the evidence's place (to the nearest token), at one of the five places, drawn for each
  question; its mean over questions is the unit.
- Effect: the score with the evidence at a place, less that at the start, in % of the worth, a ratio
  of means. Intervals are simultaneous over all effects of one scorer, by a jackknife over passages.
- nDCG@10: of the text with the evidence among the texts of all questions of other passages, whose
  evidence stays at the start, so that only one text changes. A tie counts against the evidence.
- Floors: BM25, which reads no order; and the same texts scored for the question of another passage,
  in the same unit.

Vectors are kept under ``STATE``, block by block, so a run that was stopped goes on. Nothing here is
tuned or chosen by its result.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

import positionbias
import positionbias.settings
from positionbias.audit.audit import make_task
from positionbias.audit.length_grid import PLACES, Material, make_materials
from positionbias.audit.settings import AuditSettings
from positionbias.core.collection import Collection
from positionbias.core.publish import atomic_file
from positionbias.core.run import Run
from positionbias.core.seeds import below, drawn_order
from positionbias.evaluation.simultaneous import simultaneous

# tokens of the shorter texts; of fillers kept for the sentences without evidence
SHORT, SPARE = 128, 600
QUESTIONS, SEED, BLOCK = 300, 1, 10
TEXTS = len(PLACES) + 1
SETTINGS = AuditSettings(depth=30)
COLUMNS = (
    *(
        "study",
        "collection",
        "split",
        "text",
        "model",
        "role",
        "test",
        "seed",
        "measure",
        "statistic",
        "against",
    ),
    *(
        "axis",
        "at",
        "value",
        "low",
        "high",
        "level",
        "interval",
        "unit",
        "count",
        "counted",
        "clusters",
        "detectable",
    ),
)


def materials_of(
    squad: Path, state: Path, tokens: Sequence[int], sizes: Callable[[Sequence[str]], list[int]]
) -> list[Material]:
    """Return the drawn questions with their evidence, competitors and fillers."""
    place, run = state / "squad", state / "bm25.run"
    if not place.exists():
        positionbias.import_squad(test=squad, out=place)
    if not run.exists():
        positionbias.retrieve(
            place, wanted=positionbias.settings.Retrieval(depth=SETTINGS.depth), out=run
        )
    collection = Collection(place)
    task = make_task(collection, "test", Run.from_file(run), SETTINGS)
    order = drawn_order(task.query_ids, SEED, "real encoders")
    lengths = (SHORT, *sorted(tokens), max(tokens) + SPARE)
    made, skipped = make_materials(task, order, lengths, sizes, most=QUESTIONS, seed=SEED, level=1)
    print(f"{len(made)} questions; skipped: {skipped}", flush=True)
    return made


def without_evidence(material: Material, longest: int) -> str:
    """Return consecutive sentences of the spare fillers whose tokens are nearest in number to those
    of the evidence.
    """
    starts = np.concatenate([[0], np.cumsum(material.sizes)])
    first = int(np.searchsorted(starts, longest, side="right"))
    spans = [
        (low, high)
        for low in range(first, len(material.sizes))
        for high in range(low + 1, len(material.sizes) + 1)
    ]
    low, high = min(
        spans, key=lambda span: (abs(starts[span[1]] - starts[span[0]] - material.piece.size), span)
    )
    return " ".join(material.fill[low:high])


def drawn_place(material: Material) -> int:
    return below(len(PLACES), SEED, "worth", material.query.query_id)


def texts_of(material: Material, length: int, longest: int) -> list[str]:
    """Return the texts with the evidence at each place, and last the one without it."""
    moved = [material.text(material.piece, length, place) for place in PLACES]
    before, behind = material.split(material.piece, length, PLACES[drawn_place(material)])
    without = " ".join([*before, without_evidence(material, longest), *behind])
    return [*moved, without]


def encoded(encoder: SentenceTransformer, texts: Sequence[str], place: Path) -> np.ndarray:
    """Return vectors ``(texts, dimensions)``, kept at ``place``."""
    if not place.exists():
        vectors = encoder.encode(
            list(texts), batch_size=16, normalize_embeddings=True, show_progress_bar=False
        )
        with atomic_file(place, overwrite=True) as draft, open(draft, "wb") as file:
            np.save(file, vectors)
    return np.load(place)


def scores_of(
    name: str,
    encoder: SentenceTransformer,
    materials: Sequence[Material],
    length: int,
    longest: int,
    state: Path,
) -> np.ndarray:
    """Return the score of each text for each question, ``(questions, materials, texts)``."""
    started, parts = time.time(), []
    queries = encoder.encode(
        [one.query.text for one in materials], normalize_embeddings=True, show_progress_bar=False
    )
    for first in range(0, len(materials), BLOCK):
        block = [
            texts_of(material, length, longest) for material in materials[first : first + BLOCK]
        ]
        flat = encoded(
            encoder,
            [text for texts in block for text in texts],
            state / f"{name}-{length}-{first}.npy",
        )
        parts.append(flat.reshape(len(block), TEXTS, -1))
        print(
            f"{name}, {length} tokens: {first + len(block)} of {len(materials)} in "
            f"{time.time() - started:.0f} s",
            flush=True,
        )
    return np.einsum("qd,mtd->qmt", queries, np.concatenate(parts))


def mismatched(materials: Sequence[Material], row: int) -> int:
    """Return another question, of another passage."""
    turn = (row + len(materials) // 2 + step for step in range(len(materials)))
    return next(
        place % len(materials)
        for place in turn
        if materials[place % len(materials)].cluster != materials[row].cluster
    )


def bm25_scores(materials: Sequence[Material], length: int, longest: int) -> np.ndarray:
    """Return BM25's score of each text for each question, with the statistics of all texts of this
    length.
    """
    block = [texts_of(material, length, longest) for material in materials]
    index = bm25s.BM25(k1=0.9, b=0.4)
    index.index(
        bm25s.tokenize([text for texts in block for text in texts], show_progress=False),
        show_progress=False,
    )
    asked = bm25s.tokenize(
        [one.query.text for one in materials], return_ids=False, show_progress=False
    )
    return np.stack([index.get_scores(terms).reshape(len(materials), TEXTS) for terms in asked])


def contrasts(scores: np.ndarray) -> np.ndarray:
    """Return each place less the start, ``(questions, places − 1)``."""
    return scores[:, 1 : len(PLACES)] - scores[:, :1]


def gains(scores: np.ndarray, asked: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    """Return nDCG@10 of each material's text, with the evidence at each place, for the question
    ``asked`` of it, ``(materials, places)``.
    """
    others = np.array(labels)[:, None] != np.array(labels)[None, :]
    moved = scores[asked, np.arange(len(asked)), : len(PLACES)]
    above = (scores[asked, :, 0][:, None, :] >= moved[:, :, None]) & others[:, None, :]
    ranks = 1 + above.sum(axis=2)
    return np.where(ranks <= 10, 1 / np.log2(1 + ranks), 0.0)


def rows_of(
    name: str,
    role: str,
    by_length: dict[int, np.ndarray],
    materials: Sequence[Material],
    asked: Sequence[int],
) -> list[dict[str, object]]:
    """Return the rows of one scorer and the questions ``asked`` of the materials: each place in %
    of the worth, and nDCG@10.
    """
    labels = [one.cluster for one in materials]
    every = np.arange(len(materials))
    drawn = np.array([drawn_place(one) for one in materials])
    rows, moved, worths, changed, levels = [], [], [], [], []
    for scores in by_length.values():
        worth = scores[every, every, drawn] - scores[every, every, len(PLACES)]
        moved.append(contrasts(scores[asked, every]))
        worths.append(np.repeat(worth[:, None], len(PLACES) - 1, axis=1))
        quality = gains(scores, asked, labels)
        levels.append(quality)
        changed.append(quality[:, 1:] - quality[:, :1])
    kinds = (
        ("score", "relative", "place=0", PLACES[1:], moved, worths, "% of worth", 100.0),
        ("nDCG@10", "difference", "place=0", PLACES[1:], changed, None, "", 1.0),
        ("nDCG@10", "mean", "", PLACES, levels, None, "", 1.0),
    )
    for measure, statistic, against, places, columns, unit_columns, unit_name, times in kinds:
        found = simultaneous(
            np.hstack(columns), labels, None if unit_columns is None else np.hstack(unit_columns)
        )
        keys = [(length, place) for length in by_length for place in places]
        for (length, place), one in zip(keys, found, strict=True):
            shown = [
                None if number is None else times * number
                for number in (one.value, one.low, one.high, one.detectable)
            ]
            rows.append(
                {
                    "study": "real encoders",
                    "collection": "squad",
                    "split": "test",
                    "text": "placed",
                    "model": name,
                    "role": role,
                    "test": f"{length} tokens",
                    "seed": SEED,
                    "measure": measure,
                    "statistic": statistic,
                    "against": against,
                    "axis": "place",
                    "at": place,
                    "value": shown[0],
                    "low": shown[1],
                    "high": shown[2],
                    "level": 0.95,
                    "interval": "simultaneous",
                    "unit": unit_name,
                    "count": len(materials),
                    "counted": "queries",
                    "clusters": len(set(labels)),
                    "detectable": shown[3],
                }
            )
    return rows


def main() -> None:
    torch.set_num_threads(1)
    squad, state = Path(sys.argv[1]), Path(sys.argv[2])
    state.mkdir(parents=True, exist_ok=True)
    given = [argument.partition("=") for argument in sys.argv[3:]]
    models = {
        name: (folder, int(tokens))
        for name, _, value in given
        for folder, _, tokens in [value.rpartition(":")]
    }
    encoders = {
        name: SentenceTransformer(folder, device="cpu") for name, (folder, _) in models.items()
    }
    tokenizer = next(iter(encoders.values())).tokenizer  # the models named above share their words
    longest = max(tokens for _, tokens in models.values())

    def sizes(texts: Sequence[str]) -> list[int]:
        return [
            len(ids)
            for ids in tokenizer(list(texts), add_special_tokens=False, truncation=False)[
                "input_ids"
            ]
        ]

    materials = materials_of(squad, state, [tokens for _, tokens in models.values()], sizes)
    rows = []
    lengths = sorted({SHORT, *(tokens for _, tokens in models.values())})
    by_bm25 = {length: bm25_scores(materials, length, longest) for length in lengths}
    matched = list(range(len(materials)))
    others = [mismatched(materials, row) for row in matched]
    rows += rows_of("BM25", "floor", by_bm25, materials, matched)
    for name, (_, tokens) in models.items():
        scored = {
            n: scores_of(name, encoders[name], materials, n, longest, state)
            for n in (SHORT, tokens)
        }
        rows += rows_of(name, "encoder", scored, materials, matched)
        rows += rows_of(f"{name}, mismatched questions", "floor", scored, materials, others)
        place = Path(__file__).parent / "results" / "real_encoders.csv"
        with (
            atomic_file(place, overwrite=True) as draft,
            open(draft, "w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
