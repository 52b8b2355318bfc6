"""Peers of the steps over a collection: cat, plain loops, pyarrow, sqlite, dict, and other BM25s."""

import hashlib
import json
import random
import shutil
import sqlite3
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np

LOOKUPS, BATCH = 100_000, 1_000


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as rows:
        for row in rows:
            passage_id, _, text = row.rstrip("\n").partition("\t")
            yield passage_id, text


class Corpus:
    packages = ()

    def __init__(self, settings):
        self.settings = settings
        self.corpus = Path(settings["corpus"])
        self.source = self.corpus / "source" / "collection.tsv"
        self.out = self.corpus / "out" / f"peer-{type(self).__name__}"
        self.out.parent.mkdir(exist_ok=True)


class ArrowImport(Corpus):
    packages = ("pyarrow",)

    def run(self):
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        read = arrow_csv.ReadOptions(column_names=["passage_id", "text"], use_threads=self.settings["threads"] > 1)
        parse = arrow_csv.ParseOptions(delimiter="\t", quote_char=False)
        types = arrow_csv.ConvertOptions(column_types={"passage_id": pa.string(), "text": pa.string()})
        table = arrow_csv.read_csv(self.source, read, parse, types)
        with pa.OSFile(str(self.out), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)

    def proof(self):
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.ipc.open_file(pa.memory_map(str(self.out))).read_all()
        return [table.num_rows, pc.sum(pc.utf8_length(table["text"])).as_py()]


class SqliteImport(Corpus):
    def run(self):
        self.out.unlink(missing_ok=True)
        with sqlite3.connect(self.out) as database:
            database.execute("CREATE TABLE passages (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
            database.executemany("INSERT INTO passages VALUES (?, ?)", lines(self.source))

    def proof(self):
        return list(sqlite3.connect(self.out).execute("SELECT count(*), sum(length(text)) FROM passages").fetchone())


class Cat(Corpus):
    def run(self):
        subprocess.run(["sh", "-c", f'cat "$0" > "{self.out}"', str(self.source)], check=True)

    def proof(self):
        digest = hashlib.sha256()
        for line in self.out.read_text("utf-8").split("\n"):
            passage_id, _, text = line.partition("\t")
            digest.update(f"{passage_id} {sorted(text.split())}".encode())
        return digest.hexdigest()


class LoopRotate(Cat):
    """Words at white space, a random cut, joined again."""

    def run(self):
        with open(self.out, "w", encoding="utf-8", newline="\n") as out:
            for passage_id, text in lines(self.source):
                words = text.split()
                cut = random.randrange(len(words))
                out.write(f"{passage_id}\t{' '.join(words[cut:] + words[:cut])}\n")


class LoopHistogram(Corpus):
    """BlingFire's words of passage and answer, compared at every place; places of ten equal shares are counted."""

    packages = ("blingfire",)

    def run(self):
        import blingfire

        pairs = json.loads((self.corpus / "answers.json").read_text("utf-8"))
        counts, self.found = [0] * 10, 0
        for passage, answer in pairs:
            words, wanted = blingfire.text_to_words(passage).split(" "), blingfire.text_to_words(answer).split(" ")
            for start in range(len(words) - len(wanted) + 1):
                if words[start : start + len(wanted)] == wanted:
                    counts[10 * start // len(words)] += 1
                    self.found += 1

    def proof(self):
        return float(self.found)


class DictLookUp(Corpus):
    packages = ("numpy",)

    def __init__(self, settings):
        super().__init__(settings)
        drawn = np.random.default_rng(1).integers(0, settings["passages"], (LOOKUPS // BATCH, BATCH))
        self.batches = [[str(number) for number in batch] for batch in drawn.tolist()]
        self.open()

    def open(self):
        self.texts = dict(lines(self.source))

    def texts_of(self, batch):
        return [self.texts[item] for item in batch]

    def run(self):
        self.characters = sum(sum(map(len, self.texts_of(batch))) for batch in self.batches)

    def proof(self):
        return [self.characters]


class SqliteLookUp(DictLookUp):
    def open(self):
        self.out.unlink(missing_ok=True)
        self.database = sqlite3.connect(self.out)
        self.database.execute("CREATE TABLE passages (id TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID")
        self.database.executemany("INSERT INTO passages VALUES (?, ?)", lines(self.source))
        self.database.commit()

    def texts_of(self, batch):
        ask = "SELECT text FROM passages WHERE id = ?"
        return [self.database.execute(ask, (item,)).fetchone()[0] for item in batch]


class Searching(Corpus):
    """k1 0.9 and b 0.4 where it can be set; the index is built before the clock."""

    K1, B = 0.9, 0.4

    def __init__(self, settings):
        super().__init__(settings)
        self.queries, self.depth = json.loads((self.corpus / "queries.json").read_text("utf-8")), settings["depth"]
        self.open()

    def proof(self):
        return [found[:10] for found in self.found]


class Bm25s(Searching):
    packages = ("bm25s", "PyStemmer", "numpy", "numba")
    backend = "numpy"

    def open(self):
        import bm25s
        import Stemmer

        self.library, self.stemmer = bm25s, Stemmer.Stemmer("porter")
        self.ids, texts = zip(*lines(self.source), strict=False)
        self.index = bm25s.BM25(k1=self.K1, b=self.B, method="lucene", backend=self.backend)
        self.index.index(self.tokens(list(texts)), show_progress=False)

    def tokens(self, texts):
        return self.library.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def run(self):
        threads = self.settings["threads"] if self.settings["threads"] > 1 else 0
        rows, _ = self.index.retrieve(self.tokens(self.queries), k=self.depth, n_threads=threads, show_progress=False)
        self.found = [[self.ids[row] for row in found] for found in rows.tolist()]


class Bm25sNumba(Bm25s):
    backend = "numba"


def tantivy_index(source, folder):
    """The index in a folder, built unless it is there."""
    import tantivy

    if folder.exists():
        return tantivy.Index.open(str(folder))
    schema = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw")
    schema = schema.add_text_field("text", tokenizer_name="en_stem").build()
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    index = tantivy.Index(schema, path=str(partial))
    writer = index.writer(num_threads=1)
    for passage_id, text in lines(source):
        writer.add_document(tantivy.Document(id=passage_id, text=text))
    writer.commit()
    writer.wait_merging_threads()
    partial.rename(folder)
    return tantivy.Index.open(str(folder))


class Tantivy(Searching):
    packages = ("tantivy",)

    def open(self):
        self.index = tantivy_index(self.source, self.out)

    def run(self):
        searcher, self.found = self.index.searcher(), []
        for text in self.queries:
            query, _ = self.index.parse_query_lenient(text, ["text"])
            hits = searcher.search(query, self.depth).hits
            self.found.append([searcher.doc(address)["id"][0] for _, address in hits])


class TantivyIndexing(Corpus):
    packages = ("tantivy",)

    def run(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.index = tantivy_index(self.source, self.out)

    def proof(self):
        return [self.index.searcher().num_docs]


class Pisa(Searching):
    """PISA's own words, stems and stop words, with the search that is fastest of its own here."""

    packages = ("pyterrier_pisa", "python-terrier")
    stemmer, stops = "porter2", "terrier"

    def open(self):
        import pandas as pd
        from pyterrier_pisa import PisaIndex

        threads = self.settings["threads"]
        index = PisaIndex(str(self.out), stemmer=self.stemmer, stops=self.stops, threads=threads)
        if not index.built():
            self.build(index)
        self.retriever = index.bm25(
            k1=self.K1,
            b=self.B,
            num_results=self.depth,
            threads=threads,
            query_algorithm="block_max_maxscore",
            query_weighted=True,  # a word that comes twice counts twice
            toks_scale=1,
        )
        asked = self.asked()
        self.frame = pd.DataFrame({"qid": [str(number) for number in range(len(self.queries))], asked[0]: asked[1]})

    def build(self, index):
        index.indexer("text").index({"docno": passage_id, "text": text} for passage_id, text in lines(self.source))

    def asked(self):
        return "query", self.queries

    def run(self):
        self.frame_found = self.retriever.transform(self.frame)

    def proof(self):
        found = {qid: part.sort_values("rank")["docno"].tolist() for qid, part in self.frame_found.groupby("qid")}
        return [found.get(qid, [])[:10] for qid in self.frame["qid"]]


class PisaOurTerms(Pisa):
    """Fed the terms of our analysis: what is left of the difference is PISA's BM25, whose idf is ln((N - n + 1/2) / (n + 1/2)), at least 1e-6."""

    stemmer, stops = "none", "none"

    def build(self, index):
        index.toks_indexer("toks", scale=1).index(
            {"docno": passage_id, "toks": Counter(terms.split(" "))} for passage_id, terms in lines(self.corpus / "terms.tsv")
        )

    def asked(self):
        return "query_toks", [Counter(terms) for terms in json.loads((self.corpus / "query_terms.json").read_text("utf-8"))]


class PisaIndexing(Corpus):
    packages = Pisa.packages

    def run(self):
        from pyterrier_pisa import PisaIndex

        shutil.rmtree(self.out, ignore_errors=True)
        self.index = PisaIndex(str(self.out), stemmer=Pisa.stemmer, threads=self.settings["threads"])
        Pisa.build(self, self.index)
        self.index.bm25(k1=Searching.K1, b=Searching.B)  # it compresses the postings for these

    def proof(self):
        return [self.index.num_docs()]
