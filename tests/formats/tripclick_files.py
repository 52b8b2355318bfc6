"""Invented files in TripClick's layout, written as the release's own scripts write them, for the
tests.
"""

from __future__ import annotations

from collections.abc import Mapping

DOCUMENTS = {
    "11": (
        "Oil lamps and burns.",
        "http://x.test/11",
        "BACKGROUND : p < 0.05 & r > 2.\nRESULTS : lamps burn.",
    ),
    "12": ("Iron gates.", "http://x.test/12", "Gates rust."),
    "13": ("Stone bridges <in> rain", "http://x.test/13", "Bridges   hold."),
    "14": ("", "http://x.test/14", ""),
}


def document(number: str, title: str, url: str, text: str) -> str:
    return (
        f"<DOC>\n<DOCNO> {number} </DOCNO>\n\n<TITLE> {title} </TITLE>\n<URL> {url} </URL>\n\n"
        f"<TEXT>\n{text}\n</TEXT>\n\n</DOC>\n\n"
    )


def topics(queries: Mapping[str, str]) -> str:
    return "".join(
        (
            f"<top>\n\n<num> Number: {number}\n<title> {text}\n\n<desc> Descrption:\n\n<narr> "
            "Narrative:\n\n</top>\n\n"
        )
        for number, text in queries.items()
    )


def files() -> dict[str, str]:
    """Head, torso and tail, with judgements of training and validation; passage 99 is judged and
    not there.
    """
    first, rest = dict(list(DOCUMENTS.items())[:2]), dict(list(DOCUMENTS.items())[2:])
    made = {
        "benchmark/documents/docs_grp_00.txt": "".join(document(k, *v) for k, v in first.items()),
        "benchmark/documents/docs_grp_01.txt": "".join(document(k, *v) for k, v in rest.items()),
        "benchmark/topics/topics.head.train.txt": topics({"8": "oil lamp", "9": "iron gate"}),
        "benchmark/topics/topics.torso.train.txt": topics({"20": "stone bridge"}),
        "benchmark/topics/topics.tail.train.txt": topics(
            {"30": "rust of gates", "31": "never clicked"}
        ),
        "benchmark/qrels/qrels.raw.head.train.txt": "8 0 11 1\n8 0 12 0\n9 0 12 1\n",
        "benchmark/qrels/qrels.dctr.head.train.txt": "8 0 11 3\n8 0 13 1\n8 0 12 0\n9 0 12 2\n",
        "benchmark/qrels/qrels.raw.torso.train.txt": "20 0 13 1\n20 0 99 1\n",
        "benchmark/qrels/qrels.raw.tail.train.txt": "30 0 12 1\n",
        "benchmark/qrels/qrels.raw.head.val.txt": "38 0 11 1\n",
        "benchmark/qrels/qrels.dctr.head.val.txt": "38 0 11 2\n38 0 12 1\n",
        "benchmark/qrels/qrels.raw.torso.val.txt": "39 0 13 1\n",
        "benchmark/qrels/qrels.raw.tail.val.txt": "40 0 12 1\n",
        ("dlfiles/run.trip.BM25.head.val.txt"): (
            "38 Q0 11 1 10.5 Anserini\n38 Q0 12 2 9.25 Anserini\n"
        ),
        "dlfiles/triples.train.tsv": (
            "oil lamp\tOil lamps and burns. <eot> BACKGROUND : p < 0.05 & r > 2. RESULTS : lamps "
            "burn.\tIron gates. <eot> Gates rust.\n"
            "oil lamp\tno such text\tIron gates. <eot> Gates rust.\n"
        ),
        "dlfiles/improved_tripclick_train_triple-ids.tsv": "9\t12\t11\n777\t12\t11\n",
    }
    for number, (group, part) in enumerate(
        (g, p) for p in ("val", "test") for g in ("head", "torso", "tail")
    ):
        made[f"benchmark/topics/topics.{group}.{part}.txt"] = topics(
            {str(38 + number): f"query of {group} {part}"}
        )
    return made
