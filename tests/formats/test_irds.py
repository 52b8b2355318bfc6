"""Data sets through ir_datasets: real ones of its own classes, registered from small local files;
nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import DependencyError, InputError, SettingError
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.formats.irds import import_irds, split_of
from tests.cli.conftest import run_posbias  # noqa: F401 (a fixture)

FILES = {
    "docs.tsv": (
        "d1\tThe lamp burns oil.\tu1\t1\tx\nd2\tA gate of iron.\tu2\t2\tx\nd3\t東京\tu3\t3\tx\n"
    ),
    "train.tsv": (
        "q1\twhat burns\tDESCRIPTION\toil\tgreen oil\toil\nq2\twhat gate\tENTITY\n"
        "q3\twho\tPERSON\tNo Answer Present.\t \n"
    ),
    "dev.tsv": "q9\twhat city\tLOCATION\tTokyo\n",
    "train.qrels": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d2 1\nq1 0 gone 1\nqx 0 d1 1\nq2 0 d2 0\n",
    "dev.qrels": "q9 0 d3 1\n",
}
REGISTER = """
import ir_datasets
from ir_datasets.datasets.base import Dataset
from ir_datasets.datasets.msmarco_qna import MsMarcoQnADoc, MsMarcoQnAQuery
from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
from ir_datasets.util import LocalDownload

docs = TsvDocs(LocalDownload("docs.tsv"), doc_cls=MsMarcoQnADoc, namespace="invented", lang="en")

class Terms:
    def documentation(self):
        return {"desc": "<p>Invented. It has the licence CC0 1.0 of nobody. Other things.</p>", \
"data_access": "<b>Ask</b> first."}

ir_datasets.registry.register("invented-qna", Dataset(docs, Terms()))
for split in ("train", "dev"):
    parts = TsvQueries(LocalDownload(f"{split}.tsv"), query_cls=MsMarcoQnAQuery), \
TrecQrels(LocalDownload(f"{split}.qrels"), {})
    ir_datasets.registry.register(f"invented-qna/{split}", Dataset(docs, *parts))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """ir_datasets with a home of its own, which it looks for as it is imported."""
    before = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "ir_datasets"
    }
    for name in before:
        del sys.modules[name]
    kept, os.environ["IR_DATASETS_HOME"] = (
        os.environ.get("IR_DATASETS_HOME"),
        str(tmp_path_factory.mktemp("irds")),
    )
    import ir_datasets

    yield ir_datasets
    for name in [name for name in sys.modules if name.partition(".")[0] == "ir_datasets"]:
        del sys.modules[name]
    sys.modules.update(before)
    os.environ.pop("IR_DATASETS_HOME")
    if kept is not None:
        os.environ["IR_DATASETS_HOME"] = kept


@pytest.fixture
def invented(library: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A data set in the form of msmarco-qna, and what a test registers beside it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = dict(library.registry._registered)
    exec(REGISTER, {})
    yield library
    library.registry._registered.clear()
    library.registry._registered.update(before)


def test_a_data_set_with_answers(invented, tmp_path, capfd):
    collection = import_irds(
        [("train", "invented-qna/train"), ("validation", "invented-qna/dev")], tmp_path / "out"
    )
    assert list(collection.passages()) == [
        Passage("d1", "The lamp burns oil."),
        Passage("d2", "A gate of iron."),
        Passage("d3", "東京"),
    ]
    assert collection.queries("train") == [
        Query("q1", "what burns", {"type": "DESCRIPTION"}),
        Query("q2", "what gate", {"type": "ENTITY"}),
        Query("q3", "who", {"type": "PERSON"}),
    ]
    assert collection.qrels("train") == [
        Qrel("q1", "d1", 1),
        Qrel("q1", "d2", 0),
        Qrel("q2", "d2", 1),
        Qrel("q1", "gone", 1),
    ]
    # "oil" stands twice and is kept once; q1's judged passage "gone" is not there: two answers left
    # out
    assert collection.answers("train") == [
        Answer("q1", "d1", "oil"),
        Answer("q1", "d1", "green oil"),
    ]
    assert collection.answers("validation") == [Answer("q9", "d3", "Tokyo")]
    content = collection.manifest.content
    assert content["source"] == {
        "format": "irds",
        "ir_datasets": invented.__version__,
        "splits": {
            "train": {
                "answers_in_absent_passages": 2,
                "blank_answers": 2,
                "judged_again": 1,
                "judgements_of_other_queries": 1,
            },
            "validation": {},
        },
    }
    assert content["absent"] == {"train": {"judgements": 1, "passages": 1}}
    assert collection.manifest.licence == (
        "It has the licence CC0 1.0 of nobody. Ask first. terms as the publishers state them: "
        "https://ir-datasets.com/invented-qna"
    )
    assert capfd.readouterr().out == ""


def test_topics_and_documents_of_other_shapes(invented, tmp_path, capfd):
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import BaseDocs, BaseQueries, GenericDoc, TrecQrels, TrecQueries
    from ir_datasets.util import LocalDownload

    (tmp_path / "topics").write_text(
        "<top>\n<num> Number: 7\n<title> lamp\n<desc> Description:\nWhich?\n<narr> Narrative:\n"
        "Oil.\n</top>\n"
    )
    (tmp_path / "qrels").write_text("7 0 a 2\n")

    class TitledDoc(GenericDoc):
        def default_text(self):
            return f"Title {self.text}"

    class Docs(BaseDocs):
        def docs_iter(self):
            sys.stdout.write("a note of the library's")
            yield TitledDoc("a", "of lamps")

        def docs_count(self):
            return None

    parts = TrecQueries(LocalDownload("topics")), TrecQrels(LocalDownload("qrels"), {})
    invented.registry.register("invented-topics", Dataset(Docs(), *parts))
    collection = import_irds([("test", "invented-topics")], tmp_path / "out")
    assert list(collection.passages()) == [Passage("a", "Title of lamps")]
    assert collection.queries("test") == [
        Query("7", "lamp", {"description": "Which?", "narrative": "Oil."})
    ]
    assert collection.qrels("test") == [Qrel("7", "a", 2)]
    said = capfd.readouterr()
    assert (said.out, "a note of the library's" in said.err) == ("", True)

    class Broken(BaseQueries):
        def queries_iter(self):
            yield from ()
            raise ValueError("a line\nand another")

    invented.registry.register("invented-broken", Dataset(Docs(), Broken()))
    with pytest.raises(
        InputError,
        match=(
            r"invented-broken: wanted ir_datasets to download and read it; found ValueError: a "
            r"line and"
        ),
    ):
        import_irds([("test", "invented-broken")], tmp_path / "other")


def test_what_cannot_be_had_is_one_line(invented, tmp_path, monkeypatch):
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TsvDocs, TsvQueries
    from ir_datasets.util import Download, LocalDownload, RequestsDownload

    def fails(message: str, *names: str, error: type[Exception] = InputError) -> None:
        with pytest.raises(error, match=message) as raised:
            import_irds(
                [(f"s{number}", name) for number, name in enumerate(names)], tmp_path / "out"
            )
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "out").exists()

    fails(
        "invented-qna/tran: wanted the id of a data set in ir_datasets; found no such id; did you "
        "mean invented-qna/train\\?",
        "invented-qna/tran",
    )
    fails("no such id; similar ids: beir", "beir/no-such-thing-at-all")
    fails("see the list at", "qqqqqqqq")
    queries = TsvQueries(LocalDownload("dev.tsv"))
    invented.registry.register("invented-queries", Dataset(queries))
    fails("invented-queries: wanted a data set with documents; found none", "invented-queries")
    invented.registry.register(
        "invented-other", Dataset(TsvDocs(LocalDownload("docs.tsv")), queries)
    )
    fails(
        "invented-other: wanted the same documents as invented-qna/train; found others",
        "invented-qna/train",
        "invented-other",
    )
    invented.registry.register("invented-gone", Dataset(TsvDocs(LocalDownload("gone.tsv"))))
    fails("invented-gone: .*found FileNotFoundError: gone.tsv", "invented-gone")
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    download = Download(
        [RequestsDownload("http://127.0.0.1:9/docs.tsv")],
        cache_path="cached",
        expected_md5="0" * 32,
    )
    invented.registry.register("invented-remote", Dataset(TsvDocs(download)))
    fails("invented-remote: .*found ConnectionError: .*check the network", "invented-remote")

    class Needy(TsvDocs):
        def docs_iter(self):
            raise ImportError("This dataset requires nosuch.\nRun 'pip install nosuch'")

    invented.registry.register("invented-needy", Dataset(Needy(LocalDownload("docs.tsv"))))
    fails(
        "invented-needy: .*requires nosuch. Run 'pip install nosuch'",
        "invented-needy",
        error=DependencyError,
    )
    with pytest.raises(SettingError, match="found 'test' twice"):
        import_irds(
            [("test", "invented-qna/train"), ("test", "invented-qna/dev")], tmp_path / "out"
        )


def test_splits_by_name():
    names = {
        "msmarco-qna/train": "train",
        "msmarco-passage/dev/small": "validation",
        "beir/scifact/test": "test",
        "msmarco-passage/trec-dl-2019/judged": "test",
        "msmarco-qna/eval": "eval",
        "vaswani": "test",
    }
    assert {name: split_of(name) for name in names} == names


def test_published_splits_share_their_documents(library):
    for first, second in (
        ("beir/scifact/train", "beir/scifact/test"),
        ("msmarco-qna/train", "msmarco-qna/dev"),
    ):
        assert library.load(first).docs_handler() is library.load(second).docs_handler()


def test_the_command(tmp_path, run_posbias):  # noqa: F811
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    # a process of its own registers the data set as its interpreter starts
    (tmp_path / "site").mkdir()
    (tmp_path / "site/registers.py").write_text(textwrap.dedent(REGISTER))
    (tmp_path / "site/sitecustomize.py").write_text("import registers\n")
    place = {"IR_DATASETS_HOME": str(tmp_path / "irds"), "PYTHONPATH": str(tmp_path / "site")}
    done = run_posbias(
        "import",
        "irds",
        "invented-qna/train",
        "late=invented-qna/dev",
        "--out",
        "./c",
        "--json",
        **place,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"]
    assert Collection(tmp_path / "c").splits == ["train", "late"]
    assert "train: 2 answers in passages that are not there, left out" in done.stderr
    assert (tmp_path / "irds").is_dir()
    failed = run_posbias(
        "--quiet", "import", "irds", "invented-qna/trainn", "--out", "./d", **place
    )
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (2, "", 1)
    assert "did you mean invented-qna/train?" in failed.stderr


def test_a_further_judgement_set_comes_under_the_name_of_its_split(invented, tmp_path):
    names = [("train", "invented-qna/train"), ("train.again", "invented-qna/train")]
    collection = import_irds(names, tmp_path / "out")
    assert collection.splits == ["train"]
    assert collection.qrels_names("train") == ["again"]
    assert collection.qrels("train", "again") == collection.qrels("train")


def test_tripclick_reads_alike_through_ir_datasets_own_reader(invented, tmp_path):
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.datasets.tripclick import QTYPE_MAP
    from ir_datasets.formats import GenericQuery, TrecDocs, TrecQrels, TrecQueries
    from ir_datasets.util import LocalDownload

    from positionbias.formats.tripclick import import_tripclick
    from tests.formats.tripclick_files import files

    for name, content in files().items():
        (tmp_path / "tc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tc" / name).write_text(content, encoding="utf-8")
    ours = import_tripclick([tmp_path / "tc"], tmp_path / "ours")
    place = tmp_path / "tc" / "benchmark"
    docs = TrecDocs(LocalDownload(str(place)), parser="tut", path_globs=["**/docs_grp_*.txt"])
    topics = LocalDownload(str(place / "topics/topics.head.val.txt"))
    parts = [TrecQueries(topics, qtype=GenericQuery, qtype_map=QTYPE_MAP)]
    for kind in ("raw", "dctr"):
        qrels = TrecQrels(LocalDownload(str(place / f"qrels/qrels.{kind}.head.val.txt")), {})
        invented.registry.register(f"invented-clicks/val/{kind}", Dataset(docs, *parts, qrels))
    names = [
        ("head_validation", "invented-clicks/val/raw"),
        ("head_validation.dctr", "invented-clicks/val/dctr"),
    ]
    theirs = import_irds(names, tmp_path / "theirs")
    # the same texts but for white space
    assert [(p.passage_id, p.text.split()) for p in theirs.passages()] == [
        (p.passage_id, p.text.split()) for p in ours.passages()
    ]
    assert theirs.queries("head_validation") == ours.queries("head_validation")
    for name in (None, "dctr"):
        assert theirs.qrels("head_validation", name) == ours.qrels("head_validation", name)


def test_val_is_validation() -> None:
    assert split_of("tripclick/val/head") == "validation"
