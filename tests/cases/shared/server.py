"""A server of vectors, rankings and chats on this machine: ``python server.py PORTFILE``. The
model's name picks what it does.
"""

import hashlib
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STOP = set("a the of in and how were used".split())


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP]


def vector(text: str) -> list[float]:
    values = [0.0] * 64
    for word in words(text):
        values[int(hashlib.md5(word.encode()).hexdigest(), 16) % 64] += 1
    return values


def refusal(model: str, texts: list[str], size: int) -> tuple[int, str] | None:
    if model == "atmost10" and len(texts) > 10:
        return 400, "batch size is invalid, it should not be larger than 10"
    if model == "atmost2000bytes" and size > 2000:
        return 413, "payload too large"
    if model == "atmost300chars" and max(map(len, texts)) > 300:
        return 400, "the input length exceeds the context length"
    return None


def order_of(model: str, asked: str) -> list[int]:
    """The numbers of the passages, best first; with "front" in its name the model reads the first
    12 words of each.
    """
    match = re.match(r"Query: (.*)", asked)
    assert match
    query = set(words(match[1]))

    def score(text: str) -> float:
        held = words(text)[:12] if "front" in model else words(text)
        return len(query & set(held)) - len(text) / 1e5

    passages = re.findall(r"\[(\d+)\] (.*?)(?=\n\n\[\d+\] |\n\nQuery:)", asked, re.DOTALL)
    return [int(number) for number, _ in sorted(passages, key=lambda passage: -score(passage[1]))]


def chat(model: str, asked: str) -> str:
    order = order_of(model, asked)
    good = " > ".join(f"[{number}]" for number in order)
    return {
        "json": json.dumps(order),
        "bare": " > ".join(map(str, order)),
        "refuses": "I am sorry, I cannot help with that.",
        "preamble": f"Here is the order of passages [1] to [{len(order)}]:\n{good}",
    }.get(model.split("-")[0], good)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass

    def answer(self, content: object, code: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        asked = json.loads(self.rfile.read(size))
        model = asked["model"]
        if self.path.endswith("embeddings"):
            if refused := refusal(model, asked["input"], size):
                return self.answer({"error": {"message": refused[1]}}, refused[0])
            vectors = [[0.0] * 64 if model == "zeros" else vector(text) for text in asked["input"]]
            return self.answer(
                {
                    "data": [
                        {"index": row, "embedding": values} for row, values in enumerate(vectors)
                    ]
                }
            )
        content = chat(model, asked["messages"][1]["content"])
        return self.answer({"choices": [{"message": {"content": content}}]})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
Path(sys.argv[1]).write_text(str(server.server_port))
server.serve_forever()
