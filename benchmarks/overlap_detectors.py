"""Detectors of overlap on planted duplicates, beside other packages: processor time, memory, and recall by kind, also at equal precision.

    python benchmarks/overlap_detectors.py FOLDER --peers PYTHON --model FOLDER   # writes benchmarks/results/overlap_detectors_HARDWARE_DATE.md

PYTHON has datasketch, rensa, semhash and model2vec (``peers/overlap.py``); the model is one of model2vec, here distilled from
minilm.

Three sets. "invented": 100,000 training and 10,000 test passages by ``make_corpus``, and the duplicates of 1,000 test passages.
"real": passages of MS MARCO and SQuAD's training articles against paragraphs of SQuAD's development articles, all from
$POSBIAS_DATA, and the duplicates of 500; "small": every tenth test and every fortieth training text of it, with the encoder. A
pair of a duplicate and its own test text is right; any other is wrong, but for a merged text and its neighbours. So precision
is that against unrelated pairs. Each detector is a process of one thread that reads the files, searches and writes its pairs;
those of under a minute take turns three times, and the median counts. Runs are kept in FOLDER, so a stopped call goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from make_corpus import Corpus, make_corpus
from measuring import hardware, kept_part, measured, result_place

from positionbias.ops.query_encoder import Encoder
from positionbias.overlap.detectors import Texts, searches
from positionbias.overlap.planted import DuplicateKind, plan_duplicates
from positionbias.overlap.settings import OverlapSettings

BY_WORDS = ("exact", "ngram", "near")
OURS = {
    "exact": OverlapSettings(detectors=("exact",)),
    "ngram": OverlapSettings(detectors=("ngram",)),
    "near": OverlapSettings(detectors=("near",)),
    "exact, ngram and near": OverlapSettings(detectors=BY_WORDS),
    "near, runs of 2 from 0.3": OverlapSettings(detectors=("near",), near_n=2, jaccard=0.3),
    "exact, ngram and near, runs of 2 from 0.3": OverlapSettings(detectors=BY_WORDS, near_n=2, jaccard=0.3),
    "meaning": OverlapSettings(detectors=("meaning",), threshold=0.7),
}
PEERS = {
    "reading": "reading the files",
    "containment": "13-gram containment, as published, in Python",
    "datasketch-3": "datasketch, MinHash-LSH, runs of 3 words",
    "datasketch-5": "datasketch, MinHash-LSH, runs of 5 words",
    "rensa-3": "rensa, MinHash, runs of 3 words",
    "semhash": "semhash, model2vec from minilm",
    "model2vec": "model2vec from minilm, all pairs",
}
SLOW = {"meaning", "semhash", "model2vec"}
ONLY_WORDS = {"invented": SLOW, "real": {"meaning"}}  # of invented words vectors mean nothing; an encoder takes too long
PRECISIONS = (0.99,)
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "MKL_NUM_THREADS"), "1")
BATCH = 2_048


def invented(folder: Path) -> tuple[list[str], list[str], int]:
    if not (folder / "collection.tsv").exists():
        make_corpus(folder, Corpus(passages=110_000, words=300_000))
    texts = [line.split("\t", 1)[1] for line in (folder / "collection.tsv").read_text("utf-8").splitlines()]
    return texts[:10_000], texts[10_000:], 1_000


def real(_: Path) -> tuple[list[str], list[str], int]:
    data = Path(os.environ["POSBIAS_DATA"])
    marco = (data / "msmarco_mini" / "collection.tsv").read_text("utf-8").splitlines()
    train = [line.split("\t", 1)[1] for line in marco] + list(squad(data / "squad" / "train44-v1.1.json"))
    return list(squad(data / "squad" / "dev-v1.1.json")), train, 500


def small(folder: Path) -> tuple[list[str], list[str], int]:
    """A part of it, so that an encoder is measured too."""
    test, train, _ = real(folder)
    return test[::10], train[::40], 100


def squad(place: Path) -> Iterator[str]:
    for article in json.loads(place.read_text("utf-8"))["data"]:
        yield from (paragraph["context"] for paragraph in article["paragraphs"])


SETS: Mapping[str, Callable[[Path], tuple[list[str], list[str], int]]] = {"invented": invented, "real": real, "small": small}


def write_set(folder: Path, name: str) -> None:
    """Write the texts of a set, and for each planted training text its kind and test text."""
    if (folder / "planted.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    test, train, drawn = SETS[name](folder)
    planted = plan_duplicates([(str(number), text) for number, text in enumerate(test)], drawn, 1)
    write_lines(folder / "test.jsonl", test)
    write_lines(folder / "train.jsonl", [*train, *(one.text for one in planted)])
    told = {"first": len(train), "kinds": [one.kind.value for one in planted], "tests": [one.test for one in planted]}
    (folder / "planted.json").write_text(json.dumps(told), encoding="utf-8")


def write_lines(place: Path, texts: Iterable[str]) -> None:
    with open(place, "w", encoding="utf-8") as lines:
        for number, text in enumerate(texts):
            lines.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")


def search(name: str, folder: Path, found: Path, encoder: str) -> None:
    """Search with one of our detectors, as a process of its own."""
    test, train = (read_lines(folder / f"{side}.jsonl") for side in ("test", "train"))
    settings = OURS[name]
    made = searches(test, settings, Encoder(encoder, device="cpu").open()[1] if "meaning" in settings.detectors else None)
    best: dict[tuple[int, int], float] = {}
    for start in range(0, len(train), BATCH):
        batch = Texts(train.ids[start : start + BATCH], train.texts[start : start + BATCH])
        for one in made.values():
            hits = one(batch)
            score = np.max([*hits.scores.values()], axis=0) if len(hits.train) else []
            for train_text, test_text, value in zip(hits.train.tolist(), hits.test.tolist(), score, strict=True):
                pair = start + train_text, test_text
                best[pair] = max(best.get(pair, 0.0), float(value))
    keys = np.array([*best], np.int64).reshape(-1, 2)
    np.savez(found, train=keys[:, 0], test=keys[:, 1], score=np.array([*best.values()]))


def read_lines(place: Path) -> Texts:
    with open(place, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return Texts([one["id"] for one in records], [one["text"] for one in records])


@dataclass(frozen=True)
class Truth:
    """What was planted: the first planted training text, and the kind and test text of each."""

    first: int
    kinds: np.ndarray
    tests: np.ndarray

    @staticmethod
    def read(folder: Path) -> Truth:
        told = json.loads((folder / "planted.json").read_text("utf-8"))
        return Truth(told["first"], np.array(told["kinds"]), np.array(told["tests"]))

    def judged(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which pairs are right, and which are neither: a merged text with one of the texts around it."""
        place = np.clip(train - self.first, 0, len(self.kinds) - 1)
        planted = train >= self.first
        right = planted & (self.tests[place] == test)
        return right, planted & ~right & (self.kinds[place] == DuplicateKind.MERGED.value)


def scored(place: Path, truth: Truth) -> dict[str, Any]:
    """Return the pairs found, their precision, and the recall by kind: of all pairs, and of those from the lowest score that reaches a precision."""
    with np.load(place) as found:
        train, test, score = found["train"], found["test"], found["score"]
    right, neither = truth.judged(train, test)
    train, score, right = train[~neither], score[~neither], right[~neither]
    told: dict[str, Any] = {"pairs": len(train), "wrong": int((~right).sum()), "recall": by_kind(train[right], truth)}
    values, last = np.unique(-score, return_inverse=True)  # pairs of one score stay together
    all_pairs, true_pairs = (np.bincount(last, of, len(values)).cumsum() for of in (None, right))
    for wanted in PRECISIONS:
        enough = np.flatnonzero(true_pairs >= wanted * all_pairs)
        least = -values[enough[-1]] if len(enough) else np.inf
        told[f"from {wanted:g}"] = float(least) if len(enough) else None
        told[f"recall at {wanted:g}"] = by_kind(train[right & (score >= least)], truth)
    return told


def by_kind(found: np.ndarray, truth: Truth) -> dict[str, float]:
    there = np.zeros(len(truth.kinds), bool)
    there[found - truth.first] = True
    return {
        "all": float(there.mean()),
        **{kind.value: float(there[truth.kinds == kind.value].mean()) for kind in DuplicateKind},
    }


def run(name: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Run a detector once, and keep its pairs."""
    found = folder / f"{name}.npz"
    command = [sys.executable, __file__, str(given.folder), "--one", name, "--set", folder.name, "--encoder", given.encoder]
    if name in PEERS:
        peers = Path(__file__).parent / "peers" / "overlap.py"
        command = [given.peers, str(peers), name, str(folder), str(found)] + ([given.model] if name in SLOW else [])
    home = folder / "home"  # where vectors are kept: of no earlier run
    shutil.rmtree(home, ignore_errors=True)
    environment = {**os.environ, **ONE_THREAD, "HF_HUB_OFFLINE": "1", "POSBIAS_HOME": str(home)}
    if name in PEERS:
        environment.pop("PYTHONPATH", None)
    one = measured(command, environment=environment)
    return {"processor": one.processor, "peak": one.peak, "found": found.name, "load": os.getloadavg()[0]}


def campaign(folder: Path, given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Run all detectors on a set, in turns."""
    write_set(folder, folder.name)
    names = [name for name in (*PEERS, *OURS) if name not in ONLY_WORDS.get(folder.name, ())]
    rounds = {name: 1 if name in SLOW else 3 for name in names}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for turn in range(max(rounds.values())):
        for name in names:
            if turn < rounds[name]:
                runs[name].append(
                    kept_part(folder / "runs" / f"{name}-{turn}.json", lambda name=name: run(name, folder, given))
                )  # type: ignore[misc]
    truth = Truth.read(folder)
    return {
        name: {
            "processor": median(one["processor"] for one in of),
            "peak": max(one["peak"] for one in of),
            "load": median(one["load"] for one in of),
            **scored(folder / of[0]["found"], truth),
        }
        for name, of in runs.items()
    }


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(found: Mapping[str, Mapping[str, Any]], recall: str) -> Iterator[str]:
    kinds = ["all", *(kind.value for kind in DuplicateKind)]
    score = recall.replace("recall at", "from") if recall != "recall" else ""
    yield row(
        ["detector", "processor s", "peak MiB", "pairs", "wrong", *(["from score"] if score in found["near"] else []), *kinds]
    )
    yield row(["---"] * (len(kinds) + 5 + (score in found["near"])))
    for name, of in found.items():
        if name == "reading" and recall != "recall":
            continue
        least = of.get(score)
        shares: Mapping[str, float] = of[recall]
        cells = [
            PEERS.get(name, f"**{name}**"),
            f"{of['processor']:.1f}",
            f"{of['peak'] / 2**20:,.0f}",
            f"{of['pairs']:,}",
            f"{of['wrong']:,}",
        ]
        cells += ["–" if least is None else f"{least:.3f}"] if score in found["near"] else []
        yield row([*cells, *(f"{shares[kind]:.3f}" for kind in kinds)])


def ahead(found: Mapping[str, Mapping[str, Any]], recall: str) -> Iterator[str]:
    """Yield where a peer finds more of a kind than each of ours that takes no more time."""
    kinds = ["all", *(kind.value for kind in DuplicateKind)]
    for name, of in found.items():
        ours = (
            [own for other, own in found.items() if other in OURS and own["processor"] <= of["processor"]]
            if name in PEERS
            else []
        )
        for kind in kinds if ours else []:
            best = max(own[recall][kind] for own in ours)
            if of[recall][kind] > best + 1e-9:
                yield f"- {kind}: {PEERS[name]} finds {of[recall][kind]:.3f}; ours in no more time at most {best:.3f}"


def smaller(found: Mapping[str, Mapping[str, Any]], recall: str) -> Iterator[str]:
    """Yield the peers with a lower peak of memory than each of ours that finds at least as much."""
    for name, of in found.items():
        ours = [own["peak"] for other, own in found.items() if other in OURS and own[recall]["all"] >= of[recall]["all"]]
        if name in PEERS and name != "reading" and ours and of["peak"] < min(ours):
            yield f"- {PEERS[name]}: {of['peak'] / 2**20:,.0f} MiB; ours at least {min(ours) / 2**20:,.0f}"


def load(found: Mapping[str, Mapping[str, Any]], of: Container[str]) -> float:
    """Return the median load of the machine while these ran."""
    return median(one["load"] for name, one in found.items() if name in of)


def report(sets: Mapping[str, Mapping[str, Mapping[str, Any]]], given: argparse.Namespace) -> Iterator[str]:
    yield "# Detectors of overlap on planted duplicates\n"
    loads = "; ".join(f"{name}: peers {load(found, PEERS):.1f}, ours {load(found, OURS):.1f}" for name, found in sets.items())
    yield f"{hardware()}; one thread each; median load {loads}.\n"
    yield "    python benchmarks/overlap_detectors.py FOLDER --peers PYTHON --model FOLDER\n"
    yield " ".join((__doc__ or "").split("\n\n")[3].split()) + "\n"
    for name, found in sets.items():
        yield f"## {name}\n"
        yield "At the detectors' own thresholds (ours the defaults):\n"
        yield from table(found, "recall")
        for wanted in PRECISIONS:
            yield f"\nFrom the lowest score at which at least {wanted:.0%} of the pairs are right (– where none is):\n"
            yield from table(found, f"recall at {wanted:g}")
        yield "\nWhere a peer finds more than each of ours that takes no more time, at a precision of 0.99:\n"
        yield from [*ahead(found, "recall at 0.99")] or ["- nowhere"]
        yield "\nPeers that need less memory than each of ours that finds as much in all:\n"
        yield from [*smaller(found, "recall at 0.99")] or ["- none"]
        yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--model", default="")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--set", action="append", choices=SETS)
    parser.add_argument("--one", choices=OURS, help="run this detector here (what the script itself calls)")
    given = parser.parse_args()
    if given.one:
        search(given.one, given.folder / given.set[0], given.folder / given.set[0] / f"{given.one}.npz", given.encoder)
        return
    found = {name: campaign(given.folder / name, given) for name in given.set or SETS}
    text = "\n".join(report(found, given)) + "\n"
    result_place("overlap_detectors").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
