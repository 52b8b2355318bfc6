"""Endpoints against a real server that misbehaves: what is asked, tried again, kept and said."""

from __future__ import annotations

import gzip
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import (
    DependencyError,
    InputError,
    StorageError,
)
from positionbias.core.files import home
from positionbias.core.manifest import read_manifest
from positionbias.core.run import Run
from positionbias.dense.vectors import Vectors
from positionbias.models import endpoint_client
from positionbias.models.answer_store import FOLDER, AnswerStore
from positionbias.models.checkpoint import load_checkpoint, user_checkpoint
from positionbias.models.endpoint_answers import by_index, content, finite
from positionbias.models.endpoint_client import BadAnswer, endpoint_named
from positionbias.models.endpoints import EmbeddingEncoder
from positionbias.planted.settings import PlantedSettings
from positionbias.ranking.config import Computing, Reranking
from positionbias.settings import ByVectors, Retrieval
from tests.models.served import Answer, Served, embed, overlap, serving
from tests.tiny import collection_of, planted

TEXTS = [f"the lamp number {number} of the hall" for number in range(100)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr(endpoint_client, "WAIT", 0.001)
    with serving() as state:
        yield state


def encode(model: Any, texts: list[str]) -> np.ndarray:
    return model.encode_passages(model.read_passages(texts))[0][:, 0].numpy()


def embeddings(server: Served, *, store: bool = True) -> EmbeddingEncoder:
    model = load_checkpoint(f"openai:hash@{server.url}", store=store).model
    assert isinstance(model, EmbeddingEncoder)
    return model


@pytest.mark.parametrize(
    ("name", "url", "variable"),
    [
        (
            "openai:a/b:c@d@https://api.openai.com/v1/",
            "https://api.openai.com/v1/embeddings",
            "OPENAI_API_KEY",
        ),
        (
            "openai:m@http://localhost:80/x/embeddings",
            "http://localhost:80/x/embeddings",
            "LOCALHOST_API_KEY",
        ),
        (
            "rerank:m@https://api.cohere.com/v2",
            "https://api.cohere.com/v2/rerank",
            "COHERE_API_KEY",
        ),
        ("rerank:m@http://gpu-3:8080", "http://gpu-3:8080/rerank", "GPU__3_API_KEY"),
        (
            "openai:m@http://embed.shop.co.uk",
            "http://embed.shop.co.uk/v1/embeddings",
            "EMBED_SHOP_CO_UK_API_KEY",
        ),
        (
            "openai:m@https://embed-shop.co.uk",
            "https://embed-shop.co.uk/v1/embeddings",
            "EMBED__SHOP_CO_UK_API_KEY",
        ),
        (
            "chat:m@https://API.OpenAI.com./v1",
            "https://API.OpenAI.com./v1/chat/completions",
            "OPENAI_API_KEY",
        ),
        (
            "chat:m@https://api.openai.com.evil.org",
            "https://api.openai.com.evil.org/v1/chat/completions",
            "API_OPENAI_COM_EVIL_ORG_API_KEY",
        ),
        (
            "chat:m@https://bücher.de/v1",
            "https://bücher.de/v1/chat/completions",
            "XN____BCHER__KVA_DE_API_KEY",
        ),
        ("chat:m@http://10.0.0.3:8000", "http://10.0.0.3:8000/v1/chat/completions", ""),
    ],
)
def test_names(name: str, url: str, variable: str) -> None:
    found = endpoint_named(name)
    assert found is not None
    assert (found.url, found.key_variable) == (url, variable)


def test_names_that_cannot_be() -> None:
    with pytest.raises(
        InputError,
        match="openai:text-embedding-3: wanted FORM:NAME@URL; found no URL; add it, as in openai:",
    ):
        load_checkpoint("openai:text-embedding-3")
    with pytest.raises(
        InputError, match="chat:m: wanted a URL of a host and a path; found an unreadable one"
    ) as caught:
        load_checkpoint("chat:m@http://me:secret@host:port/v1")
    assert "secret" not in str(caught.value)
    for url in ("https://me:secret@host/v1", "https://host/v1?key=secret"):
        with pytest.raises(
            InputError, match="chat:m: wanted a URL of a host and a path; found a password, a query"
        ) as caught:
            load_checkpoint(f"chat:m@{url}")
        assert "secret" not in str(caught.value)


def test_vectors_are_the_functions(server: Served) -> None:
    model = embeddings(server)
    np.testing.assert_allclose(
        encode(model, [*TEXTS, TEXTS[3]]), embed([*TEXTS, TEXTS[3]]), rtol=1e-6
    )
    assert max(server.texts.values()) == 1  # also the text that stands there twice
    assert all(len(body["input"]) <= 32 and body["model"] == "hash" for body in server.bodies)
    assert not encode(model, ["", "  "]).any()  # not sent
    assert "" not in server.texts
    assert server.keys == [""] * len(server.keys)


FAULTS = [
    "500",
    "503",
    "429",
    "wait 0",
    "cut",
    "half",
    "html",
    "nan",
    "narrow",
    "fewer",
    "permuted",
    "408",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_changes_nothing(server: Served, fault: str) -> None:
    model = embeddings(server)
    server.faults = [fault] * 2  # of three tries of one batch at most two
    np.testing.assert_allclose(encode(model, TEXTS), embed(TEXTS), rtol=1e-6)
    assert max(server.texts.values()) == 1


LASTING = {
    "500": (
        r"wanted vectors of 32 texts; found 500 Internal Server Error \(the server says no to.*\), "
        r"7 times; check the server and the URL"
    ),
    "cut": r"found RemoteProtocolError: .*, 7 times",
    "half": "found an answer that is not whole JSON, 3 times",
    "html": "found an answer that is not whole JSON, 3 times",
    "nan": "found vectors with NaN or infinity, 3 times",
    "narrow": (
        r"found vectors of 7 numbers after some of 64 \(if another model is served now, delete "
        r".*\.sqlite\), 3 times"
    ),
    "fewer": "found 31 rows, of 31 of 32 texts, 3 times",
    "404": r"found 404 Not Found \(.*\); check the name and the URL",
    "wait 3600": (
        r"found 429 Too Many Requests \(too many\), to try again in 3,600 s; run it again then"
    ),
}


@pytest.mark.parametrize("fault", LASTING)
def test_a_lasting_fault_is_one_line(server: Served, fault: str) -> None:
    model = embeddings(server)
    server.always = fault
    with pytest.raises(InputError, match=LASTING[fault]) as caught:
        encode(model, TEXTS[:32])
    assert "\n" not in str(caught.value)
    assert f"openai:hash@{server.url}/v1/embeddings: wanted" in str(caught.value)
    tries = (
        1
        if fault in ("404", "wait 3600")
        else 3
        if fault in ("half", "html", "nan", "narrow", "fewer")
        else 7
    )
    assert server.requests == 1 + tries  # answers that came were paid for
    server.always = ""
    # and it can go on
    np.testing.assert_allclose(encode(model, TEXTS[:32]), embed(TEXTS[:32]), rtol=1e-6)


def test_another_servers_answers_are_read_or_refused() -> None:
    rows: list[Any] = [{"index": place, "score": float(place)} for place in range(3)]
    assert by_index(rows[::-1], 3) == rows
    bare: list[Any] = [{"score": float(place)} for place in range(3)]
    assert by_index(bare, 3) == bare  # embeddings stand in order
    refused = {
        "rows without an index": (bare, True),  # a reranker's rows come best first
        "not a whole number$": ([{**row, "index": str(row["index"])} for row in rows[::-1]], False),
        "an index that is not a whole": (
            [{**row, "index": float(row["index"])} for row in rows],
            False,
        ),
        "3 rows, of 2 of 3 texts": ([{**row, "index": row["index"] + 1} for row in rows], False),
        "3 rows, of 1 of 3 texts": ([rows[0]] * 3, False),
    }
    for found, (given, needed) in refused.items():
        with pytest.raises(BadAnswer, match=found):
            by_index(given, 3, needed=needed)
    with pytest.raises(BadAnswer, match="scores with NaN or infinity"):
        finite([1e300], "scores")  # beyond float32
    for value in (None, "0.5", True, [0.5], {}):
        with pytest.raises(BadAnswer, match="scores that are not numbers"):
            finite([0.5, value], "scores")
    parts: list[Any] = [
        {"type": "thinking", "text": "[1] > [2]"},
        {"type": "text", "text": "[2] > "},
        {"text": "[1]"},
        {"type": "image"},
    ]
    assert content({"choices": [{"message": {"content": parts}}]}) == "[2] > [1]"
    message = {"content": None, "reasoning_content": "[2] > [1]"}
    assert content({"choices": [{"message": message, "finish_reason": "stop"}]}) == ""
    for reason in ("length", "content_filter", "MAX_TOKENS"):
        assert (
            content({"choices": [{"message": {"content": "[2] > [1]"}, "finish_reason": reason}]})
            is None
        )


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            (200, {"Content-Encoding": "gzip"}, b"no gzip"),
            "found DecodingError: .*, 2 times; check the server",
        ),
        (
            (200, {}, b'{"error": {"message": "out of\\nmemory"}}'),
            r"without a list results or data \(out of memory\), 3 times",
        ),
        (
            (200, {}, b'{"results": [{"index": 0, "score": 1' + b"0" * 400 + b"}]}"),
            "scores with NaN or infinity, 3 times",
        ),
        (
            (200, {}, b'{"results": [{"index": 0, "relevance_score": "0.5"}]}'),
            "scores that are not numbers, 3 times",
        ),
        (
            (200, {"Content-Encoding": "gzip, gzip"}, b""),
            "packed in another way than gzip, 3 times",
        ),
        (
            (200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * (17 << 20))),
            "an answer of more than 17 MB, 3 times",
        ),
        (
            (400, {"Content-Encoding": "gzip"}, gzip.compress(b" " * (17 << 20))),
            "an answer of more than 17 MB, 3 times",
        ),
    ],
)
def test_damaged_answers_of_a_reranker(
    server: Served, answer: Answer, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_checkpoint(f"rerank:m@{server.url}").model
    monkeypatch.setattr(server, "answer", lambda *asked: answer)
    with pytest.raises(InputError, match=found):
        model.score("lamp", ["the lamp"])  # type: ignore[union-attr]


def test_retry_after_is_waited_for(server: Served) -> None:
    model = embeddings(server)
    server.faults = ["wait 1"]
    began = time.monotonic()
    encode(model, TEXTS[:3])
    assert time.monotonic() - began >= 0.99  # however busy the machine is


def test_a_slow_server_is_asked_again(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_client, "TIMEOUT", 0.2)
    model = embeddings(server)
    server.faults = ["slow"]
    np.testing.assert_allclose(encode(model, TEXTS[:3]), embed(TEXTS[:3]), rtol=1e-6)
    server.always = "slow"
    with pytest.raises(InputError, match="found ReadTimeout.*, 7 times"):
        encode(model, TEXTS[3:5])


def test_no_server(server: Served) -> None:
    with pytest.raises(
        InputError,
        match=(
            "wanted vectors of 2 texts; found ConnectError.*, 2 times; check the server and the URL"
        ),
    ):
        load_checkpoint("openai:hash@http://localhost:9")


def test_the_key_goes_in_a_header_and_into_no_message(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALHOST_API_KEY", "sk-123456")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-host")
    model = embeddings(server)
    assert set(server.keys) == {"Bearer sk-123456"}
    server.always = "401"
    with pytest.raises(
        InputError,
        match=r"found 401 Unauthorized \(.*Bearer \[key\]\); check the key in LOCALHOST_API_KEY",
    ):
        encode(model, TEXTS)
    monkeypatch.delenv("LOCALHOST_API_KEY")
    with pytest.raises(InputError, match="set its key in LOCALHOST_API_KEY"):
        load_checkpoint(f"chat:m@{server.url}").model.score("lamp", TEXTS[:2])  # type: ignore


def test_no_key_goes_over_http_to_another_machine(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBED_SHOP_CO_UK_API_KEY", "sk-123456")
    for scheme, sent in (("http", False), ("https", True)):
        endpoint = endpoint_named(f"openai:m@{scheme}://embed.shop.co.uk")
        assert endpoint is not None
        assert ("Authorization" in endpoint_client.Client(endpoint)._client.headers) is sent
    endpoint = endpoint_named("openai:m@http://embed.shop.co.uk")
    assert endpoint is not None
    advice = endpoint_client.Client(endpoint)._advice(401)
    assert advice == (
        "give an https URL: no key is sent over http to another machine (EMBED_SHOP_CO_UK_API_KEY)"
    )
    # a proxy would see a key that goes to this machine
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:9")
    monkeypatch.setenv("LOCALHOST_API_KEY", "sk-123456")
    assert set(embeddings(server)._client._client.headers) >= {"authorization"}


# -- what is kept --------------------------------------------------------------------------------


def test_nothing_is_paid_for_twice_after_an_interruption(server: Served) -> None:
    texts = [f"{text} {turn}" for turn in range(5) for text in TEXTS]
    model = embeddings(server)
    server.stops_after = server.requests + 6
    with pytest.raises(InputError, match="found 403 Forbidden"):
        encode(model, texts)
    paid = sum(server.texts[text] for text in texts)
    assert 0 < paid < 500
    server.stops_after = None
    np.testing.assert_allclose(encode(embeddings(server), texts), embed(texts), rtol=1e-6)
    assert set(server.texts.values()) == {1}
    before = server.requests
    encode(embeddings(server), texts)
    assert server.requests == before


def test_a_damaged_answer_is_asked_for_again(server: Served) -> None:
    encode(embeddings(server), TEXTS[:3])
    (file,) = (home() / FOLDER).iterdir()
    with sqlite3.connect(file) as opened:
        opened.execute("UPDATE answers SET numbers = zeroblob(264)")
    np.testing.assert_allclose(encode(embeddings(server), TEXTS[:3]), embed(TEXTS[:3]), rtol=1e-6)
    assert {server.texts[text] for text in TEXTS[:3]} == {2}


# -- scorers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts_only", [False, True])
def test_rerank_in_both_forms(server: Served, texts_only: bool) -> None:
    server.texts_only = texts_only
    model: Any = load_checkpoint(f"rerank:bag@{server.url}").model
    np.testing.assert_allclose(
        model.score("lamp 7 of", TEXTS), overlap("lamp 7 of", TEXTS), rtol=1e-6
    )
    model.score("lamp 8 of", TEXTS[:2])
    assert [("documents" in body, "texts" in body) for body in server.bodies] == (
        [(True, False), (False, True), (False, True)] if texts_only else [(True, False)] * 2
    )
    server.always = "nan"
    with pytest.raises(
        InputError, match="wanted scores of 2 passages; found scores with NaN or infinity, 3 times"
    ):
        model.score("lamp 9 of", TEXTS[:2])


@pytest.mark.parametrize("texts_only", [False, True])
def test_a_server_of_short_lists_gets_parts(server: Served, texts_only: bool) -> None:
    server.texts_only, server.most_documents = texts_only, 32
    model: Any = load_checkpoint(f"rerank:bag@{server.url}").model
    for query in ("lamp 7 of", "lamp 8 of"):
        np.testing.assert_allclose(model.score(query, TEXTS), overlap(query, TEXTS), rtol=1e-6)
    assert set(server.texts.values()) == {1}
    # 100 and 50 are refused in both forms, of 50 again in one or both; then the form is known, and
    # 25 for the rest
    assert [len(body.get("documents", body.get("texts"))) for body in server.bodies[-4:]] == [
        25
    ] * 4
    server.most_documents = 0
    with pytest.raises(InputError, match="passage|too long for the model"):
        model.score("lamp 9 of", TEXTS)


def test_a_text_that_is_too_long_is_named(server: Served, tmp_path: Path) -> None:
    server.most_characters = 200
    collection_of(tmp_path / "long", ["a lamp", "word " * 60, "a gate"])
    with pytest.raises(
        InputError,
        match=(
            r"^passage 'p1': too long for the model \(300 characters\); the server says 400 Bad "
            r"Request"
        ),
    ):
        positionbias.encode(
            tmp_path / "long", model=f"openai:hash@{server.url}", out=tmp_path / "vectors"
        )
    prompted = Computing(passage_prompt="passage: ")
    with pytest.raises(InputError, match="^passage 'p1': too long"):
        positionbias.encode(
            tmp_path / "long",
            model=f"openai:hash@{server.url}",
            computing=prompted,
            out=tmp_path / "vectors",
        )


def test_passages_without_a_vector_are_named_and_never_found(
    server: Served, collection: Collection, tmp_path: Path
) -> None:
    name, out = f"openai:hash@{server.url}", tmp_path / "vectors"
    lengths = {passage.passage_id: len(passage.text) for passage in collection.passages()}
    server.most_characters = sorted(lengths.values())[-4]
    long = {passage_id for passage_id, length in lengths.items() if length > server.most_characters}
    assert 0 < len(long) < 4
    made = positionbias.encode(collection.path, model=name, allow_missing=True, out=out)
    assert made.missing == long
    by = ByVectors(out, name)
    positionbias.retrieve(
        collection.path, wanted=Retrieval("test", depth=200), dense=by, out=tmp_path / "all.run"
    )
    positionbias.retrieve(
        collection.path, wanted=Retrieval("test", depth=20), dense=by, out=tmp_path / "top.run"
    )
    for ranking in Run.from_file(tmp_path / "all.run").rankings():
        assert set(ranking.passage_ids) == lengths.keys() - long
        assert (
            Run.from_file(tmp_path / "top.run")[ranking.query_id].passage_ids
            == ranking.passage_ids[:20]
        )


def test_chat_orders_by_windows(server: Served) -> None:
    model: Any = load_checkpoint(f"chat:judge@{server.url}").model
    query, texts = "lamp 7 of", TEXTS[:15]
    best = np.argsort(-np.array(overlap(query, texts)))
    scores = model.score(query, texts)
    assert np.argsort(-scores).tolist() == best.tolist()
    assert sorted(scores) == list(range(15))
    many = TEXTS[:45]
    scores = model.score(query, many)
    top = np.argsort(-np.array(overlap(query, many)))[:10]
    # the best ten reach the front through every window
    assert np.argsort(-scores)[:10].tolist() == top.tolist()
    assert server.requests == 1 + 4
    assert model.score(query, ["alone"]).tolist() == [0]
    assert server.requests == 5


def test_chat_answers_that_leave_passages_out(server: Served) -> None:
    model: Any = load_checkpoint(f"chat:judge@{server.url}").model
    server.replies = ["I would say passage 3.", "[4] > [2] > [1]", "[2] > [1]"]
    model.begin([4])
    nan = float("nan")
    # the last answer, not the fullest: no earlier draft completes it
    np.testing.assert_equal(model.score("lamp", TEXTS[:4]), [2, 3, nan, nan])
    assert "No order could be read" in server.bodies[1]["messages"][-1]["content"]
    assert "This leaves out [3]." in server.bodies[2]["messages"][-1]["content"]
    assert list(model.remarks()) == [
        (
            "chat:judge: 1 of 1 answers could not be read or left passages out; 2 passages have no "
            "score"
        )
    ]
    server.replies = ["no order", "<think>is it [1]?</think> [4] > [3] > [2] > [1]"]
    assert model.score("gate", TEXTS[:4]).tolist() == [0, 1, 2, 3]
    assert server.requests == 5
    model.score("lamp", TEXTS[:4])  # what was missing is asked again, the rest is kept
    model.score("gate", TEXTS[:4])
    assert server.requests == 6


def test_rerank_of_answers_that_leave_passages_out(
    server: Served, collection: Collection, tmp_path: Path
) -> None:
    query = collection.queries("test")[0]
    ids = [passage.passage_id for passage, _ in zip(collection.passages(), range(4), strict=False)]
    Run("first", [(query.query_id, ids, [4, 3, 2, 1])]).save(tmp_path / "first.run")
    name, given = (
        f"chat:judge@{server.url}",
        {"candidates": tmp_path / "first.run", "out": tmp_path / "chat.run"},
    )
    server.replies = ["[4] > [2]"] * 3
    with pytest.raises(
        InputError,
        match=(
            rf"^chat:judge: no score for 2 passages of 1 queries, the first passage '{ids[0]}' of "
            r"query"
        ),
    ):
        positionbias.rerank(collection.path, model=name, **given)
    assert not (tmp_path / "chat.run").exists()
    server.replies = ["[4] > [2]"] * 3
    made = positionbias.rerank(
        collection.path, model=name, reranking=Reranking(allow_missing=True), **given
    )
    assert Run.from_file(tmp_path / "chat.run")[query.query_id].passage_ids == [
        ids[3],
        ids[1],
        ids[0],
        ids[2],
    ]
    assert made.rows.set_index("measure")["value"]["passages without a score"] == 2
    assert read_manifest(tmp_path / "chat.run").content["missing"] == {
        query.query_id: [ids[0], ids[2]]
    }


# -- whole commands --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = PlantedSettings(
        queries=100, passages=200, test_share=0.6, validation_share=0.1, front_loading=0.9
    )
    return planted(tmp_path_factory.mktemp("endpoints") / "planted", settings)


def embed_by_cosine(texts: list[str]) -> np.ndarray:
    return embed(texts)


def test_encode_retrieve_and_rerank(server: Served, collection: Collection, tmp_path: Path) -> None:
    name = f"openai:hash@{server.url}"
    made = positionbias.encode(collection.path, model=name, out=tmp_path / "vectors")
    shape = {"kind": "embeddings", "name": f"{name}/v1/embeddings", "similarity": "cosine"}
    assert made.manifest.settings["shape"] == shape | {"query_prompt": "", "passage_prompt": ""}
    assert made.manifest.input("model").path == f"{name}/v1/embeddings"  # type: ignore[union-attr]
    assert max(server.texts.values()) == 1
    by = ByVectors(tmp_path / "vectors", name)
    positionbias.retrieve(
        collection.path, wanted=Retrieval("test", depth=20), dense=by, out=tmp_path / "dense.run"
    )
    ids = [passage.passage_id for passage in collection.passages()]
    vectors = embed([passage.text for passage in collection.passages()])
    query = collection.queries("test")[0]
    best = Run.from_file(tmp_path / "dense.run")[query.query_id].passage_ids
    assert ids.index(best[0]) == int(np.argmax(vectors @ embed([query.text])[0]))
    positionbias.rerank(
        collection.path,
        model=f"rerank:bag@{server.url}",
        candidates=tmp_path / "dense.run",
        reranking=Reranking("test"),
        computing=Computing(store=False),
        out=tmp_path / "reranked.run",
    )
    texts = collection.texts(best)
    order = sorted(best, key=lambda one: -overlap(query.text, [texts[best.index(one)]])[0])
    assert Run.from_file(tmp_path / "reranked.run")[query.query_id].passage_ids == order
    with pytest.raises(InputError, match="wanted vectors by the model"):
        Vectors(tmp_path / "vectors").check(user_checkpoint(embed_by_cosine, "mine"), collection)


def test_a_killed_command_goes_on_without_paying_again(server: Served, tmp_path: Path) -> None:
    planted(
        tmp_path / "planted",
        PlantedSettings(queries=100, passages=600, test_share=0.6, validation_share=0.1),
    )
    server.always = "slow"
    arguments = [
        "model",
        "encode",
        str(tmp_path / "planted"),
        "--model",
        f"openai:hash@{server.url}",
        "--out",
        str(tmp_path / "vectors"),
    ]
    command = subprocess.Popen(
        [sys.executable, "-m", "positionbias", *arguments], stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 300
    while server.requests < 10 and time.monotonic() < until:
        time.sleep(0.02)
    command.kill()
    assert command.wait() == -signal.SIGKILL
    server.always = ""
    paid = len(server.texts)
    assert 0 < paid < 600
    positionbias.encode(
        tmp_path / "planted", model=f"openai:hash@{server.url}", out=tmp_path / "vectors"
    )
    assert len(server.texts) >= 600
    # what was under way when it was killed
    assert server.texts.total() - len(server.texts) <= 8 * 32


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_client, "find_spec", lambda name: None)
    with pytest.raises(
        DependencyError,
        match=r"wanted httpx2, .*; found none; run: pip install 'positionbias\[endpoint\]'",
    ):
        load_checkpoint("chat:m@http://localhost")


def test_a_store_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    store = AnswerStore(["here"])
    assert store.path is not None
    store._file.close()
    store.path.write_bytes(b"this is no database, whatever it is called" * 100)
    with pytest.raises(
        InputError,
        match="sqlite: wanted the answers of an endpoint; found: file is not a database; delete it",
    ):
        AnswerStore(["here"])
    (home() / FOLDER).rename(tmp_path / "elsewhere")
    (home() / FOLDER).write_text("a file in the way")
    with pytest.raises(StorageError):
        AnswerStore(["there"])
