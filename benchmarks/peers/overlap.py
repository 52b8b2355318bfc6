"""Searches of a training file for texts of a test file by other packages and by the published rule: ``python overlap.py NAME FOLDER FOUND [MODEL]``.

Both files have lines of JSON with "id" and "text". FOUND gets the pairs found, as arrays ``train``, ``test`` (line numbers) and
``score``. It imports nothing of ours.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np

WORD = re.compile(r"\w+")
PERMUTATIONS = 128


def texts_of(place):
    with open(place, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def runs_of(text, n):
    """The distinct runs of n words, joined, in lower case."""
    words = WORD.findall(text.lower())
    return {" ".join(words[start : start + n]) for start in range(len(words) - n + 1)}


def reading(test, train, _):
    """Nothing: what reading the two files takes."""
    return []


def containment(test, train, _):
    """The rule of published decontaminated sets: the same text, or at least half of the test text's runs of 13 words in the training text."""
    whole, index, sizes = {}, {}, []
    for number, text in enumerate(test):
        whole.setdefault(" ".join(WORD.findall(text.lower())), []).append(number)
        runs = runs_of(text, 13)
        sizes.append(len(runs))
        for run in runs:
            index.setdefault(run, []).append(number)
    for number, text in enumerate(train):
        found = dict.fromkeys(whole.get(" ".join(WORD.findall(text.lower())), ()), 1.0)
        counts = Counter(other for run in runs_of(text, 13) for other in index.get(run, ()))
        found.update((other, count / sizes[other]) for other, count in counts.items() if count >= 0.5 * sizes[other])
        yield from ((number, other, score) for other, score in found.items())


def datasketch(test, train, n):
    """MinHash of runs of n words in the buckets that the package chooses for 0.5; the score is its estimate."""
    from datasketch import MinHash, MinHashLSH
    from xxhash import xxh32_intdigest

    def sketches(texts):
        runs = ([run.encode() for run in runs_of(text, n)] for text in texts)
        return MinHash.generator(runs, num_perm=PERMUTATIONS, hashfunc=xxh32_intdigest)

    buckets, known = MinHashLSH(threshold=0.5, num_perm=PERMUTATIONS), []
    for number, sketch in enumerate(sketches(test)):
        known.append(sketch)
        if not sketch.is_empty():
            buckets.insert(number, sketch)
    for number, sketch in enumerate(sketches(train)):
        for other in [] if sketch.is_empty() else buckets.query(sketch):
            if (score := sketch.jaccard(known[other])) >= 0.5:
                yield number, other, score


def rensa(test, train, n):
    """Its sketches of runs of n words in 32 buckets of 4, which this sorts, as its own index cannot tell which text a query of many found."""
    from rensa import RMinHash
    from xxhash import xxh64_intdigest

    def sketches(texts):
        runs = [np.fromiter((xxh64_intdigest(run.encode()) for run in runs_of(text, n)), np.uint64) for text in texts]
        starts = np.concatenate([[0], np.cumsum([len(own) for own in runs])]).astype(np.uint64)
        return np.array(RMinHash.digest_matrix_from_flat_token_hashes(np.concatenate(runs), starts, PERMUTATIONS, 42).to_rows())

    own, other, found = sketches(test), sketches(train), set()
    for bucket in range(0, PERMUTATIONS, 4):
        there = {}
        for number, key in enumerate(map(bytes, np.ascontiguousarray(own[:, bucket : bucket + 4]))):
            there.setdefault(key, []).append(number)
        for number, key in enumerate(map(bytes, np.ascontiguousarray(other[:, bucket : bucket + 4]))):
            found.update((number, place) for place in there.get(key, ()))
    for number, place in sorted(found):
        if (score := float((other[number] == own[place]).mean())) >= 0.5:
            yield number, place, score


def semhash(test, train, model):
    """Cosine of a model2vec model in an approximate index, from 0.7 up."""
    from model2vec import StaticModel
    from semhash import SemHash

    tests = [{"number": str(number), "text": text} for number, text in enumerate(test)]
    trains = [{"number": str(number), "text": text} for number, text in enumerate(train)]
    index = SemHash.from_records(tests, columns=["text"], model=StaticModel.from_pretrained(model))
    for one in index.deduplicate(trains, threshold=0.7).filtered:  # each names the nearest test text alone
        yield int(one.record["number"]), int(one.duplicate_of["number"]), one.score


def model2vec(test, train, model):
    """Cosine of all pairs of a model2vec model, from 0.7 up."""
    from model2vec import StaticModel

    encoder = StaticModel.from_pretrained(model)

    def vectors(texts):
        found = np.asarray(encoder.encode(texts), np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)

    own = vectors(test)
    for start in range(0, len(train), 2_048):
        cosines = vectors(train[start : start + 2_048]) @ own.T
        for number, place in np.argwhere(cosines >= 0.7).tolist():
            yield start + number, place, float(cosines[number, place])


SEARCHES = {
    "reading": (reading, None),
    "containment": (containment, None),
    "datasketch-3": (datasketch, 3),
    "datasketch-5": (datasketch, 5),
    "rensa-3": (rensa, 3),
    "semhash": (semhash, None),
    "model2vec": (model2vec, None),
}


def main():
    name, folder, found, *model = sys.argv[1:]
    search, setting = SEARCHES[name]
    pairs = list(
        search(texts_of(Path(folder) / "test.jsonl"), texts_of(Path(folder) / "train.jsonl"), model[0] if model else setting)
    )
    train, test, score = zip(*pairs, strict=True) if pairs else ((), (), ())
    np.savez(found, train=np.array(train, np.int64), test=np.array(test, np.int64), score=np.array(score, np.float64))


if __name__ == "__main__":
    main()
