"""A folder with what the pages' commands read, under the names that the pages use: small
collections, runs, models, releases.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import positionbias as pb
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.firststage.retrieval import Retrieval
from positionbias.formats.validation_draw import ValidationDraw
from positionbias.leakage.settings import Encoder, FindSettings
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from tests import tiny
from tests.formats import tripclick_files
from tests.formats.msmarco_files import write_tar
from tests.formats.test_position_sets import posir
from tests.models.t5 import saved_t5
from tests.pooling.simulated import simulated_runs
from tests.pooling.simulated_files import SIMULATION, write_pool

SHAPE: Mapping[str, Any] = {
    "queries": 90,
    "passages": 320,
    "test_share": 0.3,
    "validation_share": 0.3,
}
SENTENCE_TRANSFORMER: Mapping[str, Any] = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {
            "idx": 1,
            "name": "1",
            "path": "1_Pooling",
            "type": "sentence_transformers.models.Pooling",
        },
        {
            "idx": 2,
            "name": "2",
            "path": "2_Normalize",
            "type": "sentence_transformers.models.Normalize",
        },
    ],
    "1_Pooling/config.json": {"word_embedding_dimension": 320, "pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
}
CODE = """
import numpy as np
def score(query, passages):
    return [float(sum(passage.count(word) for word in query.split())) for passage in passages]
def encode(texts):
    return np.array([[len(text), text.count("e"), text.count("a"), 1.0] for text in texts], \
dtype=np.float32)
"""


def make_shelf(folder: Path) -> None:
    """Fill a folder; small enough that all pages run in about a minute."""
    planted = write_planted(
        Path("planted"), PlantedSettings(**SHAPE, leaked_queries=20), name="planted"
    )
    _squad(planted)
    _collections(planted)
    _models()
    _runs()
    _tables()
    _topics(planted)
    _pools()
    _pages()
    shutil.rmtree("planted")


def _squad(planted: Collection) -> None:
    """Write SQuAD's two files: training and validation questions in one, test questions in the
    other, an article a passage.
    """
    texts = {passage.passage_id: passage.text for passage in planted.passages()}
    for name, splits in {
        "train-v1.1.json": ("train", "validation"),
        "dev-v1.1.json": ("test",),
    }.items():
        asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for split in splits:
            questions = {query.query_id: query.text for query in planted.queries(split)}
            # one passage a question
            for one in {one.query_id: one for one in planted.answers(split)}.values():
                answer = {"text": one.text, "answer_start": one.start}
                asked[one.passage_id].append(
                    {"id": one.query_id, "question": questions[one.query_id], "answers": [answer]}
                )
        paragraphs = [
            {"context": texts[passage], "qas": found} for passage, found in sorted(asked.items())
        ]
        data = [
            {"title": f"Article {number}", "paragraphs": [one]}
            for number, one in enumerate(paragraphs)
        ]
        Path(name).write_text(json.dumps({"version": "1.1", "data": data}))
    pb.import_squad(
        train=["train-v1.1.json"],
        test="dev-v1.1.json",
        validation=ValidationDraw(12),
        out="./squad",
    )


def _renamed(planted: Collection, name: str, splits: Mapping[str, str]) -> None:
    """Make a collection of the same passages, whose splits are those named; what is relevant has
    grade 3.
    """
    with create_collection(Path(name)) as writer:
        writer.share_passages(planted)
        for split, source in splits.items():
            qrels = [qrel._replace(grade=3 * qrel.grade) for qrel in planted.qrels(source)]
            writer.add_split(split, planted.queries(source), qrels, planted.answers(source))
        writer.finish(Manifest("collection", name, "a test"))


def _collections(planted: Collection) -> None:
    of_msmarco = {
        "train": "train",
        "validation": "validation",
        "test": "test",
        "dl19": "test",
        "dl20": "validation",
    }
    _renamed(planted, "msmarco", of_msmarco)
    for name, of in {
        "robust04": planted,
        "trec-covid": planted,
        "robust": Collection("squad"),
    }.items():
        _renamed(of, name, {"test": "test"})
    pb.export("./planted", to="beir", out="./beir/scifact")
    pb.import_beir("./beir/scifact", out="./scifact")
    texts = [f"{passage.passage_id}\t{passage.text}\n" for passage in planted.passages()]
    Path("collection.tsv").write_text("".join(texts))
    pb.export("./msmarco", to="msmarco", out="./msmarco-files")
    files = {
        path.name: path.read_bytes()
        for path in Path("msmarco-files").iterdir()
        if path.suffix == ".tsv"
    }
    write_tar(Path("collectionandqueries.tar.gz"), files)
    _tripclick(planted)


def _tripclick(planted: Collection) -> None:
    """Write a release of TripClick: the invented files, and the planted passages and training
    queries among them.
    """
    files = tripclick_files.files()
    numbers = {
        passage.passage_id: str(number) for number, passage in enumerate(planted.passages(), 1000)
    }
    made = [
        tripclick_files.document(numbers[one.passage_id], "", "", one.text)
        for one in planted.passages()
    ]
    files["benchmark/documents/docs_grp_02.txt"] = "".join(made)
    queries = {
        query.query_id: str(number) for number, query in enumerate(planted.queries("train"), 1000)
    }
    texts = {queries[query.query_id]: query.text for query in planted.queries("train")}
    files["benchmark/topics/topics.head.train.txt"] += tripclick_files.topics(texts)
    clicked = [
        f"{queries[one.query_id]} 0 {numbers[one.passage_id]} {one.grade}\n"
        for one in planted.qrels("train")
    ]
    files["benchmark/qrels/qrels.raw.head.train.txt"] += "".join(clicked)
    for name, text in files.items():
        Path("release", name).parent.mkdir(parents=True, exist_ok=True)
        Path("release", name).write_text(text)


def _models() -> None:
    words = sorted(
        {
            word
            for passage in Collection("squad").passages()
            for word in re.findall(r"\w+", passage.text.lower())
        }
    )
    for name in ("encoder", "minilm-files"):  # wide enough for word vectors of 300 numbers
        tiny.tiny_encoder(
            Path(name), words, hidden_size=320, initializer_range=0.1, max_position_embeddings=600
        )
    for name, facts in SENTENCE_TRANSFORMER.items():
        Path("minilm-files", name).parent.mkdir(exist_ok=True)
        Path("minilm-files", name).write_text(json.dumps(facts))
    saved_t5(Path("t5"))
    squad = Collection("squad")
    pb.distil_vectors(["./squad"], encoder="./encoder", out="./squad.safetensors")
    for name in ("tk.ckpt", "my.ckpt", "model.ckpt"):
        tiny.saved_tk(Path(name), squad)
    Path("mycode.py").write_text(CODE)


def _runs() -> None:
    squad = Collection("squad")
    tiny.candidates(squad, Path())  # train.run, validation.run, test.run
    for name in ("bm25", "my", "mono", "dot", "colbert", "tk"):
        shutil.copy("test.run", f"{name}.run")
    pb.debias("./squad", out="./squad-rotated-1")
    pb.retrieve("./squad-rotated-1", out="./my-rotated.run")
    pb.retrieve("./msmarco", wanted=Retrieval(split="dl19"), out="./dl19.run")
    for name in ("clean-student", "seen-student"):
        shutil.copy("dl19.run", f"{name}.run")


def _tables() -> None:
    rows = [
        {
            "passage": f"The lamp of house {n} burns green oil. It hangs in hall {n}.",
            "question": f"what burns in house {n}",
        }
        for n in range(40)
    ]
    answers = {"text": ["green oil"], "answer_start": [0]}
    golden = [
        {"chunk": row["passage"], "question": row["question"], "quote": "green oil"} for row in rows
    ]
    Path("golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in golden))
    pq.write_table(
        pa.Table.from_pylist([{**row, "answers": answers} for row in rows]), "train.parquet"
    )
    lines = [
        "passage,question,answers",
        *(f"{row['passage']},{row['question']},green oil" for row in rows[:9]),
    ]
    with gzip.open("held-out.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    posir(Path("PosIR-Benchmark-v1/eng-Latn/accommodation_catering_hotel"))
    for number, name in enumerate(("train", "validation")):
        of_squad = [
            {"context": row["passage"], "question": row["question"], "answers": answers}
            for row in rows[number::2]
        ]
        pq.write_table(pa.Table.from_pylist(of_squad), f"{name}-00000-of-00001.parquet")
    for name in ("foil", "poison", "position_bias"):
        pair = {
            "query": "what burns",
            "document_1": f"Nothing {name}.",
            "document_2": "Green oil burns.",
            "tail_entity_names": ["oil"],
        }
        Path(f"{name}.jsonl").write_text(json.dumps(pair) + "\n")


def _topics(planted: Collection) -> None:
    """Write queries as files of lines and of TREC topics, and labelled pairs of them."""
    lines = [f"{query.query_id}\t{query.text}\n" for query in planted.queries("train")]
    Path("queries.train.tsv").write_text("".join(lines))
    topics = [
        f"<top>\n<num> Number: {n}\n<title> {query.text}\n</top>\n"
        for n, query in enumerate(planted.queries("test"), 301)
    ]
    Path("topics.robust04.txt").write_text("\n".join(topics))
    labels = [
        {"train_id": f"t{n}", "test_id": f"q{n}", "train_text": f"{n} a b c",
         "test_text": f"{n} a b d", "cosine": 1 - n / 400,
         "jaccard": 1 - n / 300, "label": "identical" if n < 80 else "no", "source": "s",
         "field": "title"}
        for n in range(120)
    ]  # fmt: skip
    Path("annotated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    found = FindSettings(threshold=0.9)
    pb.find_leakage(
        ["./squad:train", "./squad:test"],
        settings=found,
        encoder=Encoder("./minilm-files"),
        out=Path("leaks"),
    )
    pb.label_pairs(["./leaks"], per_test=5, out="./labelled.tsv")
    head, *pairs = Path("labelled.tsv").read_text().splitlines()
    filled = [head, *(f"{pair}identical" for pair in pairs)]
    Path("labelled.tsv").write_text("\n".join(filled) + "\n")
    rationales = [
        {"query_id": one.query_id, "passage_id": one.passage_id, "answer": one.text}
        for one in planted.answers("test")
    ]
    Path("rationales.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rationales))


def _pools() -> None:
    for of in ("", "doc", "pass"):
        name = f"-{of}" if of else ""
        write_pool(Path("runs", of), Path(f"systems{name}.tsv"), Path(f"qrels{name}.txt"))
    Path("qrels").mkdir()
    shutil.copy("qrels.txt", "qrels/test.tsv")


def _pages() -> None:
    """Make what a page has under a name that others use otherwise: ``pages/PAGE`` is laid over the
    rest.
    """
    for name in ("contamination", "pools", "tripclick", "usage"):
        Path("pages", f"{name}.md").mkdir(parents=True)
    pb.retrieve(
        "./msmarco", wanted=Retrieval(split="train"), out="./pages/contamination.md/train.run"
    )
    list(simulated_runs(replace(SIMULATION, seed=9)))[-1][1].save(Path("pages/pools.md/my.run"))
    for number, name in enumerate(("bm25", "model")):
        Path("pages/tripclick.md", f"{name}.run").write_text(
            f"38 Q0 {11 + number} 1 2.0 {name}\n38 Q0 {12 - number} 2 1.0 {name}\n"
        )
    pb.histogram(["./squad"], out="./pages/usage.md/squad-study")
