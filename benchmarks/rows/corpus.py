"""BM25 over an invented collection."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import numbers, top_lists
from harness.records import OURS, Inputs, Peer, Row, Settings, Side

from rows.squad import posbias

PEER = "peers.corpus"


def corpus(passages: int, queries: int = 100) -> Inputs:
    """``make_corpus.py``'s files, the collection imported from them, and queries of 3 to 8 words of
    a passage.
    """

    def inputs(folder: Path, quick: bool) -> Settings:
        count = max(10_000, passages // 10) if quick else passages
        place = folder / f"corpus-{count}"
        if not (place / "queries.json").exists():
            shutil.rmtree(place, ignore_errors=True)
            script = Path(__file__).parents[1] / "make_corpus.py"
            subprocess.run(
                [
                    sys.executable,
                    str(script),
                    str(place / "source"),
                    "--passages",
                    str(count),
                    "--queries",
                    "1000",
                ],
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
    """The corpus, and beside it the terms of its passages and queries, for a peer that is fed
    ours.
    """
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
    (place / "query_terms.json").write_text(
        json.dumps([analyzer(query) for query in queries]), "utf-8"
    )


class Bm25:
    """``retrieve``'s search, the index opened and built before the clock."""

    packages = ("positionbias", "bm25s", "numpy", "pyserini")
    backend = "bm25s"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.collection import find_collection
        from positionbias.core.records import Query
        from positionbias.engine.choose import open_engine
        from positionbias.firststage.bm25 import open_index
        from positionbias.firststage.settings import PRESETS

        self.depth = settings["depth"]
        texts = json.loads((Path(settings["corpus"]) / "queries.json").read_text("utf-8"))
        self.queries = [Query(str(number), text) for number, text in enumerate(texts)]
        self.engine = open_engine("local", settings["threads"])
        collection = find_collection(str(Path(settings["corpus"]) / "collection"))
        map_shards = self.engine.__enter__()
        self.index = open_index(
            collection,
            PRESETS["anserini"],
            backend=self.backend,
            workers=settings["threads"],
            map_shards=map_shards,
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
    """Lucene as Anserini has it, called through pyjnius (extra ``lucene``): without pyserini's
    Python between.
    """

    backend = "lucene"
    WARM = 20  # runs before the clock: Java gets faster while it runs

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        for _ in range(self.WARM):
            self.run()


class Indexing:
    """A first search's part before the search: the index built from the collection, into its
    cache.
    """

    packages = Bm25.packages
    backend = "bm25s"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.collection import find_collection

        self.collection = find_collection(str(Path(settings["corpus"]) / "collection"))
        self.threads = settings["threads"]

    def run(self) -> None:
        from positionbias.engine.choose import open_engine
        from positionbias.firststage.bm25 import open_index
        from positionbias.firststage.settings import PRESETS

        shutil.rmtree(self.collection.cache / self.backend, ignore_errors=True)
        with open_engine("local", self.threads) as map_shards:
            open_index(
                self.collection,
                PRESETS["anserini"],
                backend=self.backend,
                workers=self.threads,
                map_shards=map_shards,
            )

    def proof(self) -> list[int]:
        return [len(self.collection)]


class LuceneIndexing(Indexing):
    backend = "lucene"


DEPTH = {"depth": 1000}
SMALL = (  # they hold all texts while they build, or need our terms in a file
    Peer("bm25s, its own Python", "bm25", Side(f"{PEER}:Bm25s", DEPTH), goal=1.0),
    Peer("bm25s with numba", "bm25", Side(f"{PEER}:Bm25sNumba", DEPTH)),
    # the idf is its own
    Peer("PISA, fed our terms", "pisa", Side(f"{PEER}:PisaOurTerms", DEPTH), bound=0.1),
)
ON_DISK = (  # they split words by rules of their own
    Peer("tantivy", "bm25", Side(f"{PEER}:Tantivy", DEPTH), goal=1.0, bound=0.7),
    Peer("PISA", "pisa", Side(f"{PEER}:Pisa", DEPTH), goal=1.0, bound=0.7),
)


def lucene(goal: float) -> Peer:
    return Peer(
        "Lucene (`--set backend=lucene`)", OURS, Side("rows.corpus:Lucene", DEPTH), goal=goal
    )


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
            Peer("Lucene (`--set backend=lucene`)", OURS, Side("rows.corpus:LuceneIndexing")),
        ),
        inputs=corpus(200_000),
        compare=numbers,
        bound=0,
        large=True,
    ),
)
