"""A real HTTP server in a thread that speaks the forms of endpoints over plain functions, counts
what it answers, and misbehaves when told to.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from zlib import crc32

import numpy as np

from ..local_server import LocalServer, running

__all__ = ["Answer", "Served", "embed", "overlap", "serving"]


def embed(texts: Sequence[str]) -> np.ndarray:
    """Counts of words by hash, at length 1."""
    out = np.zeros((len(texts), 64), np.float32)
    for place, text in enumerate(texts):
        for word in re.findall(r"\w+", text.lower()):
            out[place, crc32(word.encode()) % 64] += 1
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def overlap(query: str, passages: Sequence[str]) -> list[float]:
    """A bag of words whose early words count more; no two passages tie but for equal ones."""
    wanted = set(re.findall(r"\w+", query.lower()))
    return [
        sum(
            1 / (1 + place)
            for place, word in enumerate(re.findall(r"\w+", passage.lower()))
            if word in wanted
        )
        + (crc32(passage.encode()) % 997) * 1e-6
        for passage in passages
    ]


Answer = tuple[int, dict[str, str], bytes]


class Served:
    """The server's state: ``faults`` are taken first, one a request; ``texts`` counts what was
    answered well, by text or (query, texts …).
    """

    def __init__(self) -> None:
        self.url = ""
        self.faults: list[str] = []
        self.always = ""
        self.requests = 0
        self.texts: Counter[Any] = Counter()
        self.keys: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.most_documents = self.most_texts = 1_000
        self.most_characters = 1_000_000
        self.texts_only = False  # as text-embeddings-inference
        self.no_temperature = False
        self.stops_after: int | None = None  # requests
        self.replies: list[str] = []  # of the chat, before it ranks
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count how many requests are under way until they are answered."""
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        yield
        with self.lock:
            self.at_once -= 1

    def answer(self, path: str, body: dict[str, Any], key: str) -> Answer:
        with self.lock:
            self.requests += 1
            self.keys.append(key)
            self.bodies.append(body)
            fault = self.faults.pop(0) if self.faults else self.always
            if self.stops_after is not None and self.requests > self.stops_after:
                fault = "403"
        if fault == "slow":
            time.sleep(1.0)
        if fault == "together":
            until = time.monotonic() + 60
            while self.most_at_once < 8 and time.monotonic() < until:
                time.sleep(0.01)
        if fault.isdecimal():
            echoed = f"the server says no to {key}"
            return int(fault), {}, json.dumps({"error": {"message": echoed}}).encode()
        if fault.startswith("wait"):
            return 429, {"Retry-After": fault.removeprefix("wait ")}, b"too many"
        forms: dict[str, Callable[[dict[str, Any], str], tuple[int, Any]]] = {
            "/v1/embeddings": self.embeddings,
            "/rerank": self.rerank,
            "/v1/chat/completions": self.chat,
        }
        if path not in forms:
            return 404, {}, b"<html>no such page</html>"
        status, made = forms[path](body, fault)
        text = json.dumps(made).encode()
        if fault == "cut":  # half of what Content-Length says
            return status, {"Content-Length": str(len(text))}, text[: len(text) // 2]
        if fault == "half":  # half of the JSON
            return status, {}, text[: len(text) // 2]
        if fault == "html":
            return 200, {}, b"<html>hello</html>"
        return status, {}, text

    def count(self, texts: Sequence[Any], fault: str) -> None:
        if not fault or fault in ("permuted", "slow", "together"):
            with self.lock:
                self.texts.update(texts)

    def embeddings(self, body: dict[str, Any], fault: str) -> tuple[int, Any]:
        texts = body["input"]
        if len(texts) > self.most_texts:
            return 400, {
                "error": {
                    "message": (
                        f"batch size is invalid, it should not be larger than {self.most_texts}"
                    )
                }
            }
        if max(map(len, texts)) > self.most_characters:
            return 400, {"error": {"message": "the input length exceeds the context length"}}
        vectors = embed(texts).tolist()
        if fault == "narrow":
            vectors = [vector[:7] for vector in vectors]
        if fault == "nan":
            vectors[-1][3] = float("nan")
        if fault == "zeros":
            vectors[1] = [0.0] * 64
        rows = [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(vectors)
        ]
        if fault == "fewer":
            rows = rows[1:]
        if fault == "permuted":
            rows = rows[::-1]
        self.count(texts, fault)
        return 200, {"object": "list", "data": rows, "model": body["model"]}

    def rerank(self, body: dict[str, Any], fault: str) -> tuple[int, Any]:
        if self.texts_only and "texts" not in body:
            return 422, {"error": "missing field `texts`"}
        if not self.texts_only and "documents" not in body:
            return 422, {"error": "documents: field required"}
        texts = body["texts"] if self.texts_only else body["documents"]
        if len(texts) > self.most_documents:
            return 413, {"error": f"batch size {len(texts)} > {self.most_documents}"}
        scores = overlap(body["query"], texts)
        if fault == "nan":
            scores[0] = float("nan")
        rows = [
            {"index": place, "score" if self.texts_only else "relevance_score": score}
            for place, score in enumerate(scores)
        ]
        # best first, as they all answer
        rows.sort(key=lambda row: -row.get("score", row.get("relevance_score", 0)))
        if fault == "fewer":
            rows = rows[:-1]
        self.count([(body["query"], *texts)], fault)
        return 200, rows if self.texts_only else {"results": rows}

    def chat(self, body: dict[str, Any], fault: str) -> tuple[int, Any]:
        if self.no_temperature and "temperature" in body:
            return 400, {"error": {"message": "Unsupported value: temperature"}}
        asked = next(
            message["content"] for message in body["messages"] if message["role"] == "user"
        )
        query = asked.partition("\n")[0].removeprefix("Query: ")
        texts = [text for _, text in re.findall(r"^\[(\d+)\] (.*)$", asked, re.MULTILINE)]
        order = sorted(range(len(texts)), key=lambda place: -overlap(query, [texts[place]])[0])
        said = " > ".join(f"[{place + 1}]" for place in order)
        with self.lock:
            if self.replies:
                said = self.replies.pop(0)
        self.count([(query, *texts)], fault)
        return 200, {"choices": [{"message": {"role": "assistant", "content": said}}]}


@contextmanager
def serving() -> Iterator[Served]:
    """Run a server on a free port of this machine; ``url`` leads to it."""
    state = Served()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with state.counted():
                    status, headers, text = state.answer(
                        self.path, body, self.headers.get("Authorization", "")
                    )
                self.send_response(status)
                for name, value in {
                    "Content-Length": str(len(text)),
                    "Content-Type": "application/json",
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
                if int(headers.get("Content-Length", len(text))) != len(text):
                    self.close_connection = True
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client has gone

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with running(LocalServer(Handler)) as server:
        state.url = f"http://localhost:{server.server_port}"
        yield state
