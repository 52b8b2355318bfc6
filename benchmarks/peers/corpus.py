"""Other BM25s."""

import json
import shutil
from collections import Counter
from pathlib import Path


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


class Searching(Corpus):
    """k1 0.9 and b 0.4 where it can be set; the index is built before the clock."""

    K1, B = 0.9, 0.4

    def __init__(self, settings):
        super().__init__(settings)
        self.queries, self.depth = (
            json.loads((self.corpus / "queries.json").read_text("utf-8")),
            settings["depth"],
        )
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
        return self.library.tokenize(
            texts, stopwords="en", stemmer=self.stemmer, show_progress=False
        )

    def run(self):
        threads = self.settings["threads"] if self.settings["threads"] > 1 else 0
        rows, _ = self.index.retrieve(
            self.tokens(self.queries), k=self.depth, n_threads=threads, show_progress=False
        )
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
        self.frame = pd.DataFrame(
            {"qid": [str(number) for number in range(len(self.queries))], asked[0]: asked[1]}
        )

    def build(self, index):
        index.indexer("text").index(
            {"docno": passage_id, "text": text} for passage_id, text in lines(self.source)
        )

    def asked(self):
        return "query", self.queries

    def run(self):
        self.frame_found = self.retriever.transform(self.frame)

    def proof(self):
        found = {
            qid: part.sort_values("rank")["docno"].tolist()
            for qid, part in self.frame_found.groupby("qid")
        }
        return [found.get(qid, [])[:10] for qid in self.frame["qid"]]


class PisaOurTerms(Pisa):
    """Fed the terms of our analysis: what is left of the difference is PISA's BM25, whose idf is
    ln((N - n + 1/2) / (n + 1/2)), at least 1e-6.
    """

    stemmer, stops = "none", "none"

    def build(self, index):
        index.toks_indexer("toks", scale=1).index(
            {"docno": passage_id, "toks": Counter(terms.split(" "))}
            for passage_id, terms in lines(self.corpus / "terms.tsv")
        )

    def asked(self):
        return "query_toks", [
            Counter(terms)
            for terms in json.loads((self.corpus / "query_terms.json").read_text("utf-8"))
        ]


class PisaIndexing(Corpus):
    packages = Pisa.packages

    def run(self):
        from pyterrier_pisa import PisaIndex

        shutil.rmtree(self.out, ignore_errors=True)
        self.index = PisaIndex(
            str(self.out), stemmer=Pisa.stemmer, threads=self.settings["threads"]
        )
        Pisa.build(self, self.index)
        self.index.bm25(k1=Searching.K1, b=Searching.B)  # it compresses the postings for these

    def proof(self):
        return [self.index.num_docs()]
