"""Steps over an invented collection: import, rotation, histogram, look-ups, and BM25."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import equal, numbers, top_lists
from harness.records import OURS, Inputs, Peer, Row, Settings, Side

from rows.squad import posbias

PEER = "peers.corpus"
LOOKUPS, BATCH = 100_000, 1_000


def corpus(passages: int, queries: int = 100) -> Inputs:
    """``make_corpus.py``'s files, the collection imported from them, and queries of 3 to 8 words of a passage."""

    def inputs(folder: Path, quick: bool) -> Settings:
        count = max(10_000, passages // 10) if quick else passages
        place = folder / f"corpus-{count}"
        if not (place / "queries.json").exists():
            shutil.rmtree(place, ignore_errors=True)
            script = Path(__file__).parents[1] / "make_corpus.py"
            subprocess.run(
                [sys.executable, str(script), str(place / "source"), "--passages", str(count), "--queries", "1000"],
                check=True,
                capture_output=True,
            )
            posbias("import", "msmarco", place / "source", "--out", place / "collection")
            _write_queries(place, count, queries)
        return {"corpus": str(place), "passages": count}

    return inputs


def _write_queries(place: Path, passages: int, count: int) -> None:
    """Words of passages that are drawn, a line at a time: the corpus may be larger than memory."""
    draw, made = np.random.default_rng(1), []
    wanted = set(draw.permutation(passages)[: 2 * count].tolist())
    with open(place / "source" / "collection.tsv", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            words = line.partition("\t")[2].split() if number in wanted else []
            size = int(draw.integers(3, 9)) if words else 0
            if 0 < size <= len(words):
                made.append(" ".join(draw.choice(words, size, replace=False)))
    (place / "queries.json").write_text(json.dumps(made[:count]), "utf-8")


def terms(passages: int) -> Inputs:
    """The corpus, and beside it the terms of its passages and queries, for a peer that is fed ours."""
    base = corpus(passages)

    def inputs(folder: Path, quick: bool) -> Settings:
        settings = base(folder, quick)
        place = Path(settings["corpus"])
        if not (place / "query_terms.json").exists():
            _write_terms(place)
        return settings

    return inputs


def _write_terms(place: Path) -> None:
    from positionbias.firststage.terms import Analyzer

    analyzer = Analyzer()
    with (
        open(place / "source" / "collection.tsv", encoding="utf-8", newline="\n") as lines,
        open(place / "terms.tsv", "w", encoding="utf-8", newline="\n") as out,
    ):
        for line in lines:
            passage_id, _, text = line.rstrip("\n").partition("\t")
            out.write(f"{passage_id}\t{' '.join(analyzer(text))}\n")
    queries = json.loads((place / "queries.json").read_text("utf-8"))
    (place / "query_terms.json").write_text(json.dumps([analyzer(query) for query in queries]), "utf-8")


def answers(rows: int) -> Inputs:
    """A collection with an answer of one to six words in each passage, beside the corpus; and the same as JSON."""
    base = corpus(rows)

    def inputs(folder: Path, quick: bool) -> Settings:
        settings = dict(base(folder, quick))
        place = Path(settings["corpus"]) / "answered"
        if not place.exists():
            _write_answers(Path(settings["corpus"]) / "source" / "collection.tsv", place)
        return settings

    return inputs


def _write_answers(source: Path, place: Path) -> None:
    from positionbias.core.collection_writer import create_collection
    from positionbias.core.manifest import Manifest
    from positionbias.core.records import Answer, Passage, Qrel, Query

    draw, found = np.random.default_rng(1), []
    passages = [Passage(*line.split("\t")) for line in source.read_text("utf-8").splitlines()]
    for passage in passages:
        words = passage.text.split()
        size = int(draw.integers(1, min(6, len(words)) + 1))
        first = int(draw.random() * (len(words) - size + 1) * (0.1 if draw.random() < 0.35 else 1))
        found.append(Answer(f"q{passage.passage_id}", passage.passage_id, " ".join(words[first : first + size])))
    with create_collection(place) as writer:
        writer.add_passages(passages)
        queries = [Query(answer.query_id, f"what is {answer.query_id}") for answer in found]
        writer.add_split("train", queries, [Qrel(a.query_id, a.passage_id, 1) for a in found], found)
        writer.finish(Manifest("collection", "answered", "a benchmark"))
    pairs = [(p.text, a.text) for p, a in zip(passages, found, strict=True)]
    (place.parent / "answers.json").write_text(json.dumps(pairs), "utf-8")


class Command:
    """A command of ours as a user calls it, start included, by its one process as the peers are; what it wrote stays until the next run."""

    packages = ("positionbias", "numpy", "pyarrow", "blingfire")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.corpus = Path(settings["corpus"])
        self.out = self.corpus / "out" / type(self).__name__
        self.out.parent.mkdir(exist_ok=True)
        self.said: Any = None
        self.facts = {
            "passages": settings["passages"],
            "MB": (self.corpus / "source" / "collection.tsv").stat().st_size // 10**6,
        }

    def call(self, *arguments: object) -> Any:
        command = [sys.executable, "-m", "positionbias", "-q", *map(str, arguments), "--json"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


class Import(Command):
    def run(self) -> None:
        self.call("import", "msmarco", self.corpus / "source", "--overwrite", "--out", self.out)

    def proof(self) -> list[float]:
        """Passages, and characters of their texts."""
        from positionbias.core.collection import Collection

        lengths = [len(passage.text) for passage in Collection(self.out).passages()]
        return [len(lengths), sum(lengths)]


class Rotate(Command):
    def run(self) -> None:
        options = ("--words", "whitespace", "--format", "tsv", "--overwrite")
        self.call("debias", self.corpus / "source" / "collection.tsv", *options, "--out", self.out.with_suffix(".tsv"))

    def proof(self) -> str:
        """Of the words of every passage without their order: rotation keeps them."""
        return words_digest(self.out.with_suffix(".tsv"))


def words_digest(path: Path) -> str:
    digest = hashlib.sha256()
    for line in path.read_text("utf-8").split("\n"):
        passage_id, _, text = line.partition("\t")
        digest.update(f"{passage_id} {sorted(text.split())}".encode())
    return digest.hexdigest()


class Histogram(Command):
    def run(self) -> None:
        self.said = self.call("histogram", self.corpus / "answered", "--split", "train", "--no-offsets")

    def proof(self) -> float:
        """The answers found by their words."""
        return float(self.said["results"][0]["count"])


class LookUp:
    """Texts by random ids, batch after batch, from a collection on disk."""

    packages = ("positionbias", "numpy", "pyarrow")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.collection import Collection

        self.collection = Collection(Path(settings["corpus"]) / "collection")
        self.batches = id_batches(settings["passages"])
        self.facts = {"look-ups": LOOKUPS}
        self.characters = 0

    def run(self) -> None:
        self.characters = sum(sum(map(len, self.collection.texts(batch))) for batch in self.batches)

    def proof(self) -> list[float]:
        return [self.characters]


def id_batches(passages: int) -> list[list[str]]:
    drawn = np.random.default_rng(1).integers(0, passages, (LOOKUPS // BATCH, BATCH))
    return [[str(number) for number in batch] for batch in drawn.tolist()]


class Bm25:
    """``retrieve``'s search, the index opened and built before the clock."""

    packages = ("positionbias", "bm25s", "numpy", "pyserini")
    backend = "bm25s"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.collection import find_collection
        from positionbias.core.records import Query
        from positionbias.engine.choose import open_engine
        from positionbias.firststage.bm25 import PRESETS, open_index

        self.depth = settings["depth"]
        texts = json.loads((Path(settings["corpus"]) / "queries.json").read_text("utf-8"))
        self.queries = [Query(str(number), text) for number, text in enumerate(texts)]
        self.engine = open_engine("local", settings["threads"])
        collection = find_collection(str(Path(settings["corpus"]) / "collection"))
        map_shards = self.engine.__enter__()
        self.index = open_index(
            collection, PRESETS["anserini"], backend=self.backend, workers=settings["threads"], map_shards=map_shards
        )
        self.facts = {"queries": len(self.queries)}
        self.found: Any = None

    def run(self) -> None:
        from positionbias.firststage.bm25 import search

        self.found = search(self.index, self.queries, self.depth)

    def proof(self) -> list[list[str]]:
        """The first ten of each query: backends stem and tie otherwise further down."""
        return [list(self.found[query.query_id].passage_ids[:10]) for query in self.queries]


class Lucene(Bm25):
    """Lucene as Anserini has it, called through pyjnius (extra ``lucene``): without pyserini's Python between."""

    backend = "lucene"
    WARM = 20  # runs before the clock: Java gets faster while it runs

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        for _ in range(self.WARM):
            self.run()


class Indexing:
    """A first search's part before the search: the index built from the collection, into its cache."""

    packages = Bm25.packages
    backend = "bm25s"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.collection import find_collection

        self.collection = find_collection(str(Path(settings["corpus"]) / "collection"))
        self.threads = settings["threads"]

    def run(self) -> None:
        from positionbias.engine.choose import open_engine
        from positionbias.firststage.bm25 import PRESETS, open_index

        shutil.rmtree(self.collection.cache / self.backend, ignore_errors=True)
        with open_engine("local", self.threads) as map_shards:
            open_index(self.collection, PRESETS["anserini"], backend=self.backend, workers=self.threads, map_shards=map_shards)

    def proof(self) -> list[int]:
        return [len(self.collection)]


class LuceneIndexing(Indexing):
    backend = "lucene"


DEPTH = {"depth": 1000}
SMALL = (  # they hold all texts while they build, or need our terms in a file
    Peer("bm25s, its own Python", "bm25", Side(f"{PEER}:Bm25s", DEPTH), goal=1.0),
    Peer("bm25s with numba", "bm25", Side(f"{PEER}:Bm25sNumba", DEPTH)),
    Peer("PISA, fed our terms", "pisa", Side(f"{PEER}:PisaOurTerms", DEPTH), bound=0.1),  # the idf is its own
)
ON_DISK = (  # they split words by rules of their own
    Peer("tantivy", "bm25", Side(f"{PEER}:Tantivy", DEPTH), goal=1.0, bound=0.7),
    Peer("PISA", "pisa", Side(f"{PEER}:Pisa", DEPTH), goal=1.0, bound=0.7),
)


def lucene(goal: float) -> Peer:
    return Peer("Lucene (`--backend lucene`)", OURS, Side("rows.corpus:Lucene", DEPTH), goal=goal)


def bm25(name: str, passages: int, peers: tuple[Peer, ...], *, large: bool = False) -> Row:
    return Row(
        name=name,
        work=f"BM25 over {passages:,} passages, 100 queries of 3 to 8 words, top 1,000",
        ours=Side("rows.corpus:Bm25", DEPTH),
        peers=peers,
        inputs=(terms if SMALL[0] in peers else corpus)(passages),
        compare=top_lists,
        bound=0.3,  # of the first ten; stems and stop words are each library's own
        large=large,
    )


def command(name: str, work: str, kind: str, peers: tuple[Peer, ...], inputs: Inputs, compare: Any, bound: float) -> Row:
    return Row(name, work, Side(f"rows.corpus:{kind}"), peers, inputs, compare, bound)


def relative(expected: float, found: float) -> dict[str, float]:
    """How far counts are apart, as a share of what was expected."""
    return {"apart": abs(found / expected - 1)}


ROWS = (
    bm25("bm25_50k", 50_000, (*SMALL, *ON_DISK, lucene(1.0))),
    bm25("bm25_200k", 200_000, (*SMALL, *ON_DISK, lucene(1.0)), large=True),
    bm25("bm25_2m", 2_000_000, (*ON_DISK, lucene(2.0)), large=True),
    bm25("bm25_8m", 8_841_823, (*ON_DISK, lucene(2.0)), large=True),
    Row(
        name="bm25_index_200k",
        work="BM25's index of 200,000 passages",
        ours=Side("rows.corpus:Indexing"),
        peers=(
            Peer("tantivy", "bm25", Side(f"{PEER}:TantivyIndexing")),
            Peer("PISA", "pisa", Side(f"{PEER}:PisaIndexing")),
            Peer("Lucene (`--backend lucene`)", OURS, Side("rows.corpus:LuceneIndexing")),
        ),
        inputs=corpus(200_000),
        compare=numbers,
        bound=0,
        large=True,
    ),
    command(
        "import_tsv",
        "import of 200,000 passages of MS MARCO's form",
        "Import",
        (
            Peer("pyarrow.csv to Arrow", "plain", Side(f"{PEER}:ArrowImport")),
            Peer("a plain loop into sqlite", "plain", Side(f"{PEER}:SqliteImport"), goal=1.0),
        ),
        corpus(200_000),
        numbers,
        0,
    ),
    command(
        "rotate_tsv",
        "rotation of 200,000 passages, words at white space",
        "Rotate",
        (
            Peer("cat FILE > FILE2", "plain", Side(f"{PEER}:Cat")),
            Peer("a plain loop", "plain", Side(f"{PEER}:LoopRotate"), goal=1.0),
        ),
        corpus(200_000),
        equal,
        0,
    ),
    command(
        "histogram",
        "histogram of 50,000 answers, found by their words, with intervals",
        "Histogram",
        (Peer("a plain loop, counts alone", "plain", Side(f"{PEER}:LoopHistogram"), goal=1.0, bound=0.01),),
        answers(50_000),
        relative,
        0.01,
    ),
    command(
        "lookups",
        f"{LOOKUPS:,} texts by random ids of 200,000 passages",
        "LookUp",
        (
            Peer("sqlite, by its primary key", "plain", Side(f"{PEER}:SqliteLookUp"), goal=1.0),
            Peer("a dict in memory", "plain", Side(f"{PEER}:DictLookUp")),
        ),
        corpus(200_000),
        numbers,
        0,
    ),
)
