"""Models over HTTP: ``/v1/embeddings`` as an encoder, ``/rerank`` and ``/v1/chat/completions`` as scorers of a query's passages.

Each answer is checked, then stored on disk by the hash of its request, and not asked for again.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch

from positionbias.core.ahead import at_once
from positionbias.core.json_text import JsonObject
from positionbias.models.answer_store import AnswerStore, answer_key
from positionbias.models.endpoint_answers import by_index, content, finite, listed
from positionbias.models.endpoint_client import AT_ONCE, BadAnswer, Client, Endpoint, Meter, Refused
from positionbias.models.text_encoder import TextEncoder

__all__ = ["ChatScorer", "EmbeddingEncoder", "RerankScorer", "open_endpoint"]

BATCH = 32  # texts a request: the default limit of text-embeddings-inference [decision]
WINDOW, STRIDE = 20, 10  # passages of a prompt, and the step to the next window in front of it, as in RankGPT
ANSWERS = 3  # tries of one prompt, until an answer names all passages
_UNFIT = (400, 413, 422)  # statuses of requests in the wrong form, or too large
_INSTRUCTION = (
    "You order search results. You get a query and numbered passages. Put the passages in order, from the one that answers the query best "
    "to the one that answers it least. Answer with the numbers of all passages in square brackets, joined by >, and with nothing else."
)
_PLACE = re.compile(r"\[\s*(\d{1,4})\s*\]")


class EmbeddingEncoder(TextEncoder):
    """OpenAI's ``/v1/embeddings``, compared by cosine. An empty text is not sent; its vector is zeros [decision].

    Raises:
        InputError: the server does not return vectors.
    """

    kind: ClassVar[str] = "embeddings"

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self._client, self._store, self.meter = client, store, Meter(client.endpoint.short_name)
        self._width: int | None = None
        super().__init__(client.endpoint.name, self._embed, self._embed, similarity="cosine", at_once=1 << 30)

    @property
    def characters(self) -> int:
        """The characters sent since it was loaded."""
        return self.meter.characters

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many texts."""
        self.meter.begin(sum(lists), sum(math.ceil(length / BATCH) for length in lists))

    def _embed(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of texts, ``(n, dim)``; each distinct text is asked for once."""
        keys = [answer_key(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if text.strip()}
        found = self._store.get(wanted)
        self.meter.kept(len(found))
        self._width = self._width or next((len(vector) for vector in found.values()), None)
        missing = [key for key in wanted if key not in found]

        def send(part: Sequence[bytes]) -> dict[bytes, np.ndarray]:
            own = [wanted[key] for key in part]
            body: JsonObject = {"model": self._client.endpoint.model, "input": own}
            vectors = self._client.ask(body, lambda answer: self._read(answer, len(own)), f"vectors of {len(own):,} texts")
            answers = dict(zip(part, vectors, strict=True))
            self._store.put(answers)
            self.meter.sent(own)
            return answers

        parts = [missing[at : at + BATCH] for at in range(0, len(missing), BATCH)]
        for answers in at_once(send, parts, AT_ONCE, self._client.stop):
            found |= answers
        width = self._dimension or max(map(len, found.values()), default=0)
        return np.stack([found.get(key, np.zeros(width, np.float32)) for key in keys])

    def _read(self, answer: Any, count: int) -> list[np.ndarray]:
        rows = by_index(listed(answer, "data"), count)
        try:
            vectors = [finite(row["embedding"], "vectors") for row in rows]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadAnswer("an answer without rows of numbers") from error
        widths = {vector.shape for vector in vectors}
        if len(widths) > 1 or vectors[0].ndim != 1 or not len(vectors[0]):
            raise BadAnswer(f"vectors of shapes {', '.join(map(str, sorted(widths)))}")
        if self._width not in (None, len(vectors[0])):
            kept = f" (if another model is served now, delete {self._store.path})" if self._store.path else ""
            raise BadAnswer(f"vectors of {len(vectors[0]):,} numbers after some of {self._width:,}{kept}")
        self._width = len(vectors[0])
        return vectors


class _Scorer:
    """The common part of both scorers: a list of passages is one request, and its answer is stored for this list."""

    at_once: ClassVar[int] = AT_ONCE
    _prompt: ClassVar[str] = ""  # what an answer depends on

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self._client, self._store, self.meter = client, store, Meter(client.endpoint.short_name)
        self._asking: dict[bytes, threading.Lock] = {}
        self._form = 0

    @property
    def characters(self) -> int:
        """The characters sent since it was loaded."""
        return self.meter.characters

    @property
    def stop(self) -> threading.Event:
        """The event that ends waits between tries."""
        return self._client.stop

    @property
    def device(self) -> torch.device:
        """The CPU, where the scores arrive."""
        return torch.device("cpu")

    def to(self, device: torch.device) -> Self:
        """Do nothing."""
        return self

    def remarks(self) -> Iterator[str]:
        """Yield nothing."""
        yield from ()

    def _once(self, query: str, passages: Sequence[str], ask: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the answer to a list from the store, or ask; two threads with the same list send one request."""
        key = answer_key(self._prompt, query, list(passages))
        with self._asking.setdefault(key, threading.Lock()):
            kept = self._store.get([key])
            if key in kept:
                self.meter.kept(len(passages))
                return kept[key]
            answer = ask()
            self._store.put({key: answer})
        self._asking.pop(key, None)  # waiting threads find the answer in the store
        self.meter.sent([query, *passages])
        return answer

    def _ask(self, bodies: Sequence[JsonObject], read: Callable[[Any], Any], wanted: str) -> Any:
        """Ask in the first form that the server accepts, without those it refused before.

        Raises:
            InputError: as ``Client.ask``; the first of several refusals.
        """
        first: Refused | None = None
        for form in range(self._form, len(bodies)):
            try:
                answer = self._client.ask(bodies[form], read, wanted)
            except Refused as error:
                first = first or error
                if error.status not in _UNFIT:
                    raise
            else:
                self._form = form
                return answer
        assert first is not None
        raise first


class RerankScorer(_Scorer):
    """``/rerank`` in the form of Cohere, Jina and vLLM (``documents``), or of text-embeddings-inference (``texts``, raw scores).

    A list is one request; a server that refuses a long list gets it in parts of 32.
    """

    kind: ClassVar[str] = "rerank"

    def __init__(self, client: Client, store: AnswerStore) -> None:
        super().__init__(client, store)
        self._most: int | None = None

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many passages."""
        self.meter.begin(sum(lists), sum(math.ceil(length / (self._most or max(1, length))) for length in lists))

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return the scores ``(n,)`` in the passages' order.

        Raises:
            InputError: no usable answer.
        """
        if self._most is None:
            try:
                return self._once(query, passages, lambda: self._scores(query, passages))
            except Refused as error:
                if error.status not in _UNFIT or len(passages) <= BATCH:
                    raise
        parts = [passages[at : at + BATCH] for at in range(0, len(passages), BATCH)]
        scores = [self._once(query, part, lambda part=part: self._scores(query, part)) for part in parts]  # type: ignore[misc]
        self._most = BATCH
        return np.concatenate(scores)

    def _scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        texts, model = list(passages), self._client.endpoint.model
        bodies: list[JsonObject] = [
            {"model": model, "query": query, "documents": texts},
            {"query": query, "texts": texts, "raw_scores": True, "truncate": True},
        ]

        def read(answer: Any) -> np.ndarray:
            found = answer if isinstance(answer, list) else listed(answer, "results", "data")
            rows = by_index(found, len(texts), needed=True)  # results come best first
            try:
                scores = [float(row["relevance_score"] if "relevance_score" in row else row["score"]) for row in rows]
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise BadAnswer("results without a relevance_score or score that is a number") from error
            return finite(scores, "scores")

        return self._ask(bodies, read, f"scores of {len(texts):,} passages")


class ChatScorer(_Scorer):
    """A chat model that orders numbered passages, in windows of 20 from the end of the list, each ten in front of the last.

    A score is the number of passages ranked below. If an answer leaves passages out, the model is told which and asked again. After
    three answers the fullest is used, and the passages it leaves out follow in the given order.
    """

    kind: ClassVar[str] = "chat"
    _prompt: ClassVar[str] = _INSTRUCTION

    def __init__(self, client: Client, store: AnswerStore) -> None:
        super().__init__(client, store)
        self._lock = threading.Lock()
        self._prompts = self._unnamed = self._unfinished = 0

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many passages."""
        windows = [len(_starts(length)) for length in lists]
        self.meter.begin(sum(min(length, WINDOW) * count for length, count in zip(lists, windows, strict=True)), sum(windows))
        self._prompts = self._unnamed = self._unfinished = 0

    def remarks(self) -> Iterator[str]:
        """Yield a remark on the answers that left passages out."""
        if self._unfinished:
            yield (
                f"{self._client.endpoint.short_name}: {self._unfinished:,} of {self._prompts:,} answers left out {self._unnamed:,} passages, which "
                "follow in the given order"
            )

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return the number of passages ranked below each, ``(n,)``.

        Raises:
            InputError: no usable answer.
        """
        order = np.arange(len(passages))
        for start in _starts(len(passages)):
            window = order[start : start + WINDOW]
            texts = [passages[place] for place in window]
            found = self._once(query, texts, lambda texts=texts: self._permutation(query, texts))  # type: ignore[misc]
            order[start : start + WINDOW] = window[found[:-1].astype(np.int64)]
            with self._lock:
                self._prompts += 1
                self._unfinished += bool(found[-1])
                self._unnamed += int(found[-1])
        scores = np.empty(len(passages), np.float32)
        scores[order] = np.arange(len(passages))[::-1]
        return scores

    def _permutation(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' indices, best first, followed by the number of texts that the model did not name."""
        numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))
        asked = f"Query: {query}\n\n{numbered}\n\nQuery: {query}\nThe order of all {len(texts)} passages:"
        messages: list[JsonObject] = [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": asked}]
        fullest: list[int] = []
        for _ in range(ANSWERS):
            body: JsonObject = {"model": self._client.endpoint.model, "messages": list(messages)}
            answer = self._ask([{**body, "temperature": 0}, body], content, f"an order of {len(texts):,} passages")
            places = list(dict.fromkeys(int(found) - 1 for found in _PLACE.findall(answer.rpartition("</think>")[2])))
            named = [place for place in places if 0 <= place < len(texts)]
            fullest = max(fullest, named, key=len)
            if len(fullest) == len(texts):
                break
            left = ", ".join(f"[{place + 1}]" for place in range(len(texts)) if place not in named)
            again = f"This leaves out {left}. Give the order of all {len(texts)} passages, in the form [2] > [1] > [3]."
            messages = [*messages[:2], {"role": "assistant", "content": answer}, {"role": "user", "content": again}]
        missing = [place for place in range(len(texts)) if place not in fullest]
        return np.array([*fullest, *missing, len(missing)], np.float32)


def _starts(length: int) -> list[int]:
    """Return the starts of the windows over a list, last one first; a list of one passage has none."""
    last = max(0, length - WINDOW)
    return [max(0, start) for start in range(last, -STRIDE, -STRIDE) if start > -STRIDE] if length > 1 else []


def open_endpoint(
    endpoint: Endpoint, *, store: bool = True
) -> tuple[EmbeddingEncoder | RerankScorer | ChatScorer, AnswerStore]:
    """Return the model behind an endpoint, and the store of its answers, which keeps none without ``store``.

    Raises:
        DependencyError: httpx2 is not installed.
        InputError: an encoder's server returns no vectors.
        StorageError: the file system refused.
    """
    client, answers = Client(endpoint), AnswerStore(endpoint, kept=store)
    forms: dict[str, type[EmbeddingEncoder | RerankScorer | ChatScorer]] = {
        "openai": EmbeddingEncoder,
        "rerank": RerankScorer,
        "chat": ChatScorer,
    }
    return forms[endpoint.form](client, answers), answers
