"""Does the grid of chunks call blind scorers blind, does it show what scorers of known behaviour do, and what does MiniLM do?

    python benchmarks/chunk_grid.py COLLECTION STATE [--audits 100] [--queries 40] [--model-queries 18]   # writes benchmarks/results/chunk_grid_HARDWARE_DATE.md

``COLLECTION`` is SQuAD, of ``posbias import squad``. A document has the score of its best chunk. Chunks of blind scorers are scored by

- length: less its characters;
- random: a number drawn by a hash of the query and the chunk's words;
- words: the query's words in it, each once, weighted by idf.

Each audit takes 40 questions that no other has, and another seed. An alarm is an interval that leaves out 0. For ``words`` evidence across a border is truly worth less, and whole in two chunks
truly worth more, so that not all of its alarms are false.

Scorers of known behaviour weigh the query's words, each once, by the words before them in the chunk: *reads first 64*, *decays* by half in 100. The expected effect is computed from documents and chunks
that are built here, by other code, without the audit.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

from measuring import hardware, kept_part, result_place
from scipy import stats

from positionbias.audit.audit import make_task
from positionbias.audit.chunk_grid import chunk_grid, make_documents
from positionbias.audit.length_grid import Material, make_materials, sizes_of
from positionbias.audit.reads import Reads, everything, reads_of
from positionbias.audit.settings import AuditSettings, ChunkSettings
from positionbias.audit.systems import System, Task
from positionbias.core.collection import Collection
from positionbias.core.duration import duration_in_words
from positionbias.core.seeds import below, drawn_order, key64
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.user_code import UserFunction
from positionbias.results.chunk_grid import CHUNKS

SETTINGS = AuditSettings(depth=30)
BLIND = ChunkSettings(chunk="64,128", overlap="0,64", document_length=512)  # type: ignore[arg-type]
KNOWN = ChunkSettings(chunk="64,128,256", overlap="0,64", document_length=1_024)  # type: ignore[arg-type]
MODEL = ChunkSettings(chunk="64,128", overlap="0,64", document_length=512)  # type: ignore[arg-type]
EACH, PART, DRAWN = 40, 10, 6_000  # questions of an audit, audits of a kept part, questions of all audits
LIMIT, HALF = 64, 100
UNKNOWN = Reads(everything, None, "not tried")
Scorer = Callable[[str, Sequence[str]], list[float]]


@lru_cache(maxsize=400_000)
def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip(".,;:?!\"'()").lower() for word in text.split())


def scorers(collection: Collection) -> tuple[dict[str, Scorer], dict[str, Scorer]]:
    """The blind scorers, and those of known behaviour."""
    held: Counter[str] = Counter()
    for passage in collection.passages():
        held.update(set(words(passage.text)))
    idf = {word: math.log((1 + len(collection)) / number) for word, number in held.items()}

    def weighted(weight: Callable[[int], float]) -> Scorer:
        def score(query: str, texts: Sequence[str]) -> list[float]:
            wanted = {word: idf.get(word, 0.0) for word in words(query)}
            total = sum(wanted.values()) or 1.0
            found = []
            for text in texts:
                first: dict[str, int] = {}
                for place, word in enumerate(words(text)):
                    if word in wanted:
                        first.setdefault(word, place)
                found.append(sum(wanted[word] * weight(place) for word, place in first.items()) / total)
            return found

        return score

    def random(query: str, texts: Sequence[str]) -> list[float]:
        return [crc32(f"{query}\x1f{text}".encode()) / 2.0**32 for text in texts]

    blind: dict[str, Scorer] = {"length": lambda query, texts: [-float(len(text)) for text in texts], "random": random}
    blind["words"] = weighted(lambda place: 1.0)
    known = {
        "reads all": blind["words"],
        f"reads first {LIMIT}": weighted(lambda place: float(place < LIMIT)),
        "decays": weighted(lambda place: 2.0 ** (-place / HALF)),
    }
    return blind, known


def materials(
    task: Task, ids: Sequence[str], chunks: ChunkSettings, sizes: Any, seed: int, most: int = EACH
) -> tuple[list[Material], dict[str, int], str]:
    assert chunks.chunk is not None
    return make_materials(task, ids, (chunks.chunk[0], chunks.document), sizes, most=most, seed=seed, level=1)


def in_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def payload(
    task: Task, system: System, made: Any, chunks: ChunkSettings, reads: Reads, sizes: Any, unit: str, seed: int
) -> Any:
    found, unmoved, apart = made
    documents = make_documents(found, chunks.document, sizes, answers=True, seed=seed)
    grid = chunk_grid(system, task, documents, chunks.pairs, reads, unmoved=unmoved, unit=unit, apart=apart, seed=seed)
    if grid is None:
        return None
    return system.result(task, CHUNKS, grid, value=None, count=len(found)).to_json()["payload"]


def family(effect: Mapping[str, Any]) -> str:
    """The effects that are counted together."""
    more = "" if abs(effect["more"]) < 1e-3 else ", other number of chunks"
    if effect["of"] in ("cut", "equal budget"):
        return str(effect["of"])
    if effect["of"] == "place in the document":
        whole = effect["chunk"] == BLIND.document
        return f"{effect['of']}: {'whole' if whole else 'end − start' if effect['place'] == 1.0 else 'inner − start'}"
    sides = {
        "start": "end − start",
        "start and end": "middle − ends",
        "first chunk": "last − first",
        "first and last chunk": "middle − outer",
    }
    return f"{effect['of']}: {sides[effect['against']]}{more}"


def blind_part(task: Task, ids: Sequence[str], first: int, blind: Mapping[str, Scorer]) -> dict[str, Any]:
    """Which families have an alarm, of some audits."""
    alarms: list[dict[str, Any]] = []
    for number in range(first, first + PART):
        seed = 1_000 + number
        made = materials(task, ids[number * EACH : (number + 1) * EACH], BLIND, in_words, seed)
        row: dict[str, Any] = {}
        for name, scorer in blind.items():
            found = payload(task, System(name, model=UserFunction(scorer)), made, BLIND, UNKNOWN, in_words, "words", seed)
            effects = found["effects"] if found else []
            row[name] = {"any": False} if effects else {}
            for one in effects:
                out = one["low"] is not None and (one["low"] > 1e-9 or one["high"] < -1e-9)
                for key in ("any", family(one)):
                    row[name][key] = row[name].get(key, False) or out
        alarms.append(row)
    return {"alarms": alarms}


def rebuilt(made: Material, before: int, length: int) -> list[str]:
    """A document with so many words before the evidence, built of lists: whole sentences behind it to half of the fillers, and others before it."""
    piece, behind, ahead = made.piece.text.split(), list[str](), list[str]()
    room = length - len(piece)
    turn = below(len(made.fill), SETTINGS.seed, "chunk grid circle", made.query.query_id)
    for sentence in [*made.fill[turn:], *made.fill[:turn]]:
        given = sentence.split()
        if not ahead and len(behind) + len(given) < room / 2:
            behind += given
        elif len(behind) + len(ahead) < room:
            ahead += given
    ahead = ahead[len(behind) + len(ahead) - room :]
    circle = behind + ahead
    return circle[room - before :] + piece + circle[: room - before]


def cut(document: Sequence[str], size: int, overlap: int) -> Iterator[str]:
    """Its chunks, one after the other until one ends with the document."""
    start = 0
    while True:
        yield " ".join(document[start : start + size])
        if start + size >= len(document):
            return
        start += size - overlap


def expected(made: Sequence[Material], scorer: Scorer) -> dict[str, Any]:
    """The mean score by chunk, overlap and place: natural places, and starts, middles and ends of the first, middle and last chunk."""

    def drawn(one: Material, place: float) -> float:
        moved = key64(SETTINGS.seed, "chunk grid place", one.query.query_id, f"{place:g}") / 2**64 - 0.5
        return place if place in (0.0, 1.0) else place + moved / 4

    def score(one: Material, before: int, length: int, size: int, overlap: int) -> float:
        return max(scorer(one.query.text, list(cut(rebuilt(one, before, length), size, overlap))))

    found: dict[str, float] = {}
    for size, overlap in KNOWN.pairs:
        step, length = size - overlap, KNOWN.document
        for place in (0.0, 0.25, 0.5, 0.75, 1.0):
            rows = [
                score(one, _nearest(drawn(one, place) * (length - len(one.piece.text.split()))), length, size, overlap)
                for one in made
            ]
            found[f"{size} {overlap} anywhere {place}"] = sum(rows) / len(rows)
        number = (length - size) // step + 1
        if number < 2:
            continue
        for within, share in (("start", 0.0), ("middle", 0.5), ("end", 1.0)):
            for place, chunk in ((0.0, 0), (0.5, (number - 1) // 2), (1.0, number - 1)):
                rows = []
                for one in made:
                    before = chunk * step + _nearest(share * (size - len(one.piece.text.split())))
                    rows.append(score(one, before, size + (number - 1) * step, size, overlap))
                found[f"{size} {overlap} {within} {place}"] = sum(rows) / len(rows)
    return {"scores": found}


def _nearest(wanted: float) -> int:
    return math.ceil(wanted - 0.5)  # of two as near the lower


def known_part(task: Task, scorer: Scorer, name: str, queries: int) -> dict[str, Any]:
    ids = drawn_order(task.query_ids, SETTINGS.seed, "needle")
    made = materials(task, ids, KNOWN, in_words, SETTINGS.seed, queries)
    system = System(name, model=UserFunction(scorer))
    grid = payload(task, system, made, KNOWN, UNKNOWN, in_words, "words", SETTINGS.seed)
    return {"grid": grid, **expected(made[0], scorer)}


def model_part(task: Task, queries: int) -> dict[str, Any]:
    system = System.of(load_checkpoint("minilm"), "minilm")
    sizes, unit = sizes_of(system)
    made = materials(task, drawn_order(task.query_ids, SETTINGS.seed, "needle"), MODEL, sizes, SETTINGS.seed, queries)
    reads = reads_of(system, task, {}, declared=None, listwise=False, seed=SETTINGS.seed)
    return {"grid": payload(task, system, made, MODEL, reads, sizes, unit, SETTINGS.seed)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("collection", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--model-queries", type=int, default=18, help="questions that MiniLM is asked")
    parser.add_argument("--only", choices=("blind", "known", "model"), help="make one part and write no table")
    given = parser.parse_args()
    collection = Collection(given.collection)
    task = make_task(
        collection,
        "test",
        lambda queries: retrieve(collection, queries, 30, Bm25Settings()),
        SETTINGS,
        queries=DRAWN,
    )
    blind, known = scorers(collection)
    ids = drawn_order(task.query_ids, SETTINGS.seed, "audits")
    alarms: list[dict[str, Any]] = []
    seconds = 0.0
    parts: dict[str, dict[str, Any]] = {}
    if given.only in (None, "model"):
        parts["minilm"] = kept_part(
            given.state / f"minilm {given.model_queries}.json", partial(model_part, task, given.model_queries)
        )
    if given.only in (None, "known"):
        for name, scorer in known.items():
            parts[name] = kept_part(given.state / f"{name}.json", partial(known_part, task, scorer, name, given.queries))
    for first in range(0, given.audits if given.only in (None, "blind") else 0, PART):
        part = kept_part(given.state / f"blind {first}.json", partial(blind_part, task, ids, first, blind))
        alarms += part["alarms"]
        seconds += part["seconds"]
    if given.only is None:
        result_place("chunk_grid").write_text(page(alarms, seconds, parts), encoding="utf-8")


def page(alarms: Sequence[Mapping[str, Any]], seconds: float, parts: Mapping[str, dict[str, Any]]) -> str:
    """The result file."""
    total = seconds + sum(part["seconds"] for part in parts.values())
    lines = ["# Evidence in documents and chunks", "", f"{hardware()}; questions of SQuAD's development set; {duration_in_words(total)} of processor time. "
             "A document has the score of its best chunk. Effects are in deviations of the competitors' scores, with simultaneous 95 % intervals over all effects of an audit.", "", *blind_lines(alarms)]  # fmt: skip
    for name, part in parts.items():
        lines += ["", f"## {name}: {part['grid']['figures']['queries']} questions", "", *budget_lines(part["grid"])]
        lines += ["", *effect_lines(part)]
    return "\n".join([*lines, ""])


def blind_lines(alarms: Sequence[Mapping[str, Any]]) -> list[str]:
    names = list(alarms[0])
    families = sorted({one for row in alarms for name in names for one in row[name]})
    settings = "; ".join(f"{size} words, overlap {overlap}" for size, overlap in BLIND.pairs[:-1])
    lines = [f"## Blind scorers: {len(alarms)} audits of {EACH} questions", "", f"Documents of {BLIND.document} words; {settings}; and whole. Audits in which any effect of a family has an interval that leaves "
             "out 0, with the exact 95 % interval of the rate. *Other number of chunks*: the evidence is whole in two chunks on one side and in one on the other, which `words` truly gains by; "
             "its evidence across a border is truly worth less (*cut*, *place in the document*).", "", f"| effects | {' | '.join(names)} |", "|" + "---|" * (1 + len(names))]  # fmt: skip
    for one in families:
        cells = []
        for name in names:
            rows = [row[name][one] for row in alarms if one in row[name]]
            cells.append(_rate(sum(rows), len(rows)) if rows else "not measured")
        lines.append(f"| {one} | {' | '.join(cells)} |")
    return lines


def _rate(count: int, of: int) -> str:
    bounds = stats.binomtest(count, of).proportion_ci()
    return f"{count} of {of} ({100 * bounds.low:.1f} to {100 * bounds.high:.1f} %)"


def budget_lines(grid: Mapping[str, Any]) -> list[str]:
    effects = {(one["chunk"], one["overlap"]): one for one in grid["effects"] if one["of"] == "equal budget"}
    unit = grid["figures"]["unit"]
    lines = [f"Documents of {grid['figures']['document']:,} {unit}.", "", f"| budget | vectors a document | {unit} stored | chunk | overlap | mean lead | rank | less the first of the budget | evidence cut | answers cut |",
             "|" + "---|" * 10]  # fmt: skip
    for one in sorted(grid["settings"], key=lambda one: (one["budget"], -one["vectors"], one["stored"])):
        other = effects.get((one["chunk"], one["overlap"]))
        less = f"{other['value']:+.3f} [{other['low']:+.3f}, {other['high']:+.3f}]" if other else "–"
        row = [one["budget"], f"{one['vectors']:g}", f"{one['stored']:,.0f}", one["chunk"], one["overlap"], f"{one['lead']:.2f} [{one['low']:.2f}, {one['high']:.2f}]",
               f"{one['rank']:.2f}", less, f"{one['evidence_cut']} of {one['documents']}", f"{one['answers_cut']} of {one['documents']}"]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, row))} |")
    return lines


def effect_lines(part: Mapping[str, Any]) -> list[str]:
    lines = ["| chunk | overlap | effect | found | expected |", "|" + "---|" * 5]
    scores = part.get("scores")
    units = {(one["chunk"], one["overlap"]): one["deviation"] for one in part["grid"]["settings"]}
    for one in part["grid"]["effects"]:
        pair = one["chunk"], one["overlap"]
        if one["of"] == "equal budget" or (one["of"] == "place in the document" and one["place"] != 1.0):
            continue
        side = one["within"] or {1.0: "end" if one["of"] == "place in the document" else "last", 0.5: "middle"}[one["place"]]
        shown = f"{one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]"
        told = f"{truth(scores, one, pair) / units[pair]:+.3f}" if scores and one["of"] != "cut" else ""
        lines.append(f"| {pair[0]} | {pair[1]} | {one['of']}: {side} − {one['against']} | {shown} | {told} |")
    return lines if scores else ["|".join(line.split("|")[:-2]) + "|" for line in lines]


def truth(scores: Mapping[str, float], one: Mapping[str, Any], pair: tuple[int, int]) -> float:
    """The expected effect, before it is divided by the deviation."""

    def mean(within: Sequence[str], places: Sequence[float]) -> float:
        found = [
            value
            for key in within
            for place in places
            if (value := scores.get(f"{pair[0]} {pair[1]} {key} {place}")) is not None
        ]
        return sum(found) / len(found)

    whole, every = ("start", "middle", "end"), (0.0, 0.5, 1.0)
    if one["of"] == "place in the document":
        return mean(["anywhere"], [one["place"]]) - mean(["anywhere"], [0.0])
    if one["of"] == "place in the chunk":
        return mean([one["within"]], every) - mean(["start", "end"] if one["within"] == "middle" else ["start"], every)
    return mean(whole, [one["place"]]) - mean(whole, [0.0, 1.0] if one["place"] == 0.5 else [0.0])


if __name__ == "__main__":
    main()
