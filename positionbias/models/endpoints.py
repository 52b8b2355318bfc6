"""Models over HTTP: ``/v1/embeddings`` as an encoder, ``/rerank`` and ``/v1/chat/completions`` as
scorers of a query's passages.

Each answer is checked, then stored on disk by the hash of its request, and not asked for again.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch

from positionbias.core.errors import InputError, TextError
from positionbias.core.json_text import JsonObject
from positionbias.engine.ahead import at_once
from positionbias.models.answer_store import AnswerStore, answer_key
from positionbias.models.chat_order import order_in
from positionbias.models.endpoint_answers import by_index, content, finite, listed
from positionbias.models.endpoint_client import (
    AT_ONCE,
    BadAnswer,
    Batches,
    Client,
    Endpoint,
    Meter,
    Refused,
)
from positionbias.models.prompts import Prompts
from positionbias.models.text_encoder import TextEncoder

BATCH = 32  # texts a request at first: the default limit of text-embeddings-inference [decision]
# passages of a prompt, and the step to the next window in front of it, as in RankGPT
WINDOW, STRIDE = 20, 10
ANSWERS = 3  # answers to one prompt, until one names all passages
_UNFIT = (400, 413, 422)  # statuses of requests in the wrong form, or too large
_INSTRUCTION = (
    "You order search results. You get a query and numbered passages. Put the passages in order, "
    "from the one that answers the query best to the one that answers it least. Answer with the "
    "numbers of all passages in square brackets, joined by >, and with nothing else."
)
_AGAIN = "Give the order of all {count} passages, in the form [2] > [1] > [3], and nothing else."


class EmbeddingEncoder(TextEncoder):
    """OpenAI's ``/v1/embeddings``, compared by cosine. An empty text is not sent; its vector is
    zeros [decision].

    Requests halve where the server refuses their size; the size that it takes is kept.

    Raises:
        InputError: the server does not return vectors, or zeros for a text that is not empty.
        TextError: it refuses a single text.
    """

    kind: ClassVar[str] = "embeddings"

    def __init__(self, client: Client, store: AnswerStore) -> None:
        self._client, self._store, self.meter = client, store, Meter(client.endpoint.short_name)
        self._batches = Batches(BATCH)
        self._width: int | None = None
        super().__init__(
            client.endpoint.name, self._embed, self._embed, similarity="cosine", at_once=1 << 30
        )

    @property
    def characters(self) -> int:
        """The characters sent since it was loaded."""
        return self.meter.characters

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many texts."""
        self.meter.begin(
            sum(lists), sum(math.ceil(length / self._batches.most) for length in lists)
        )

    def _embed(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of texts, ``(n, dim)``; each distinct text is asked for once."""
        keys = [answer_key(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if text.strip()}
        found = self._store.get(wanted)
        self.meter.kept(len(found))
        self._width = self._width or next((len(vector) for vector in found.values()), None)
        missing = [key for key in wanted if key not in found]

        def ask(part: Sequence[bytes]) -> dict[bytes, np.ndarray]:
            try:
                return vectors_of(part)
            except TextError as error:
                if not self.may_lack:
                    raise
                rest = [key for key in part if wanted[key] != error.text]
                lacking = dict.fromkeys(
                    set(part) - set(rest), np.full(self._width or 1, np.nan, np.float32)
                )
                return {**lacking, **(ask(rest) if rest else {})}

        def vectors_of(part: Sequence[bytes]) -> dict[bytes, np.ndarray]:
            own = [wanted[key] for key in part]
            body: JsonObject = {"model": self._client.endpoint.model, "input": own}
            try:
                vectors = self._client.ask(
                    body, lambda answer: self._read(answer, own), f"vectors of {len(own):,} texts"
                )
            except Refused as error:
                raise _of_text(error, own) from error
            answers = dict(zip(part, vectors, strict=True))
            self._store.put(answers)
            self.meter.sent(own)
            return answers

        def send(part: Sequence[bytes]) -> list[dict[bytes, np.ndarray]]:
            return self._batches.send(part, ask)

        parts = [missing[at : at + BATCH] for at in range(0, len(missing), BATCH)]
        for answers in at_once(send, parts, AT_ONCE, self._client.stop):
            for answer in answers:
                found |= answer
        width = self._dimension or max(map(len, found.values()), default=0)
        return np.stack([found.get(key, np.zeros(width, np.float32)) for key in keys])

    def _read(self, answer: Any, texts: Sequence[str]) -> list[np.ndarray]:
        rows = by_index(listed(answer, "data"), len(texts))
        vectors = [finite(row.get("embedding"), "vectors") for row in rows]
        widths = {vector.shape for vector in vectors}
        if len(widths) > 1 or not len(vectors[0]):
            raise BadAnswer(f"vectors of shapes {', '.join(map(str, sorted(widths)))}")
        if self._width not in (None, len(vectors[0])):
            kept = (
                f" (if another model is served now, delete {self._store.path})"
                if self._store.path
                else ""
            )
            raise BadAnswer(
                f"vectors of {len(vectors[0]):,} numbers after some of {self._width:,}{kept}"
            )
        for text, vector in zip(texts, vectors, strict=True):
            if not vector.any():
                raise BadAnswer("a vector of zeros", text)
        self._width = len(vectors[0])
        return vectors


def _of_text(error: Refused, texts: Sequence[str]) -> InputError:
    """Return the refusal of a single text as one of its own, to be named by its id."""
    if len(texts) > 1 or not error.of_size:
        return error
    size = f"{len(texts[0]):,} characters"
    return TextError(
        f"too long for the model ({size}); the server says {error.found}; shorten it, or leave it "
        "out",
        texts[0],
    )


class _Scorer:
    """The common part of both scorers: a list of passages is one request, and its answer is stored
    for this list.
    """

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

    def _once(
        self, query: str, passages: Sequence[str], ask: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Return the answer to a list from the store, or ask; two threads with the same list send
        one request.
        """
        key = answer_key(self._prompt, query, list(passages))
        with self._asking.setdefault(key, threading.Lock()):
            kept = self._store.get([key])
            if key in kept:
                self.meter.kept(len(passages))
                return kept[key]
            answer = ask()
            # one that leaves passages out is asked again by the next command
            if len(answer) == len(passages):
                self._store.put({key: answer})
        self._asking.pop(key, None)  # waiting threads find the answer in the store
        self.meter.sent([query, *passages])
        return answer

    def _ask(self, bodies: Sequence[JsonObject], read: Callable[[Any], Any], wanted: str) -> Any:
        """Ask in the first form that the server accepts, without those it refused before.

        Raises:
            InputError: as ``Client.ask``; of several refusals the first that is for size, else the
                first.
        """
        refusals = []
        for form in range(self._form, len(bodies)):
            try:
                answer = self._client.ask(bodies[form], read, wanted)
            except Refused as error:
                refusals.append(error)
                if error.status not in _UNFIT:
                    raise
            else:
                self._form = form
                return answer
        raise next((error for error in refusals if error.of_size), refusals[0])


class RerankScorer(_Scorer):
    """``/rerank`` in the form of Cohere, Jina and vLLM (``documents``), or of
    text-embeddings-inference (``texts``, raw scores).

    A list is one request; a server that refuses a long list gets halves, until it takes them.
    """

    kind: ClassVar[str] = "rerank"

    def __init__(self, client: Client, store: AnswerStore) -> None:
        super().__init__(client, store)
        self._batches, self.prompts = Batches(1 << 30), Prompts("", "")

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many passages."""
        self.meter.begin(
            sum(lists), sum(math.ceil(length / self._batches.most) for length in lists)
        )

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return the scores ``(n,)`` in the passages' order.

        Raises:
            InputError: no usable answer.
            TextError: the server refuses a single passage.
        """
        asked = f"{self.prompts.query}{query}"

        def ask(part: Sequence[str]) -> np.ndarray:
            return self._once(asked, part, lambda: self._scores(asked, part))

        return np.concatenate(
            self._batches.send([f"{self.prompts.passage}{passage}" for passage in passages], ask)
        )

    def _scores(self, query: str, passages: Sequence[str]) -> np.ndarray:
        texts, model = list(passages), self._client.endpoint.model
        bodies: list[JsonObject] = [
            {"model": model, "query": query, "documents": texts},
            {"query": query, "texts": texts, "raw_scores": True, "truncate": True},
        ]

        def read(answer: Any) -> np.ndarray:
            found = answer if isinstance(answer, list) else listed(answer, "results", "data")
            rows = by_index(found, len(texts), needed=True)  # results come best first
            return finite([row.get("relevance_score", row.get("score")) for row in rows], "scores")

        try:
            return self._ask(bodies, read, f"scores of {len(texts):,} passages")
        except Refused as error:
            raise _of_text(error, texts) from error


class ChatScorer(_Scorer):
    """A chat model that orders numbered passages, in windows of 20 from the end of the list, each
    ten in front of the last.

    A score is the number of passages ranked below. If an answer leaves passages out or cannot be
    read, the model is told and asked again. What the third answer leaves out has no score (NaN); in
    later windows it stands behind the others.
    """

    kind: ClassVar[str] = "chat"
    _prompt: ClassVar[str] = _INSTRUCTION + _AGAIN

    def __init__(self, client: Client, store: AnswerStore) -> None:
        super().__init__(client, store)
        self._lock = threading.Lock()
        self._prompts = self._unnamed = self._unfinished = 0

    def begin(self, lists: Sequence[int]) -> None:
        """Announce lists of so many passages."""
        windows = [len(_starts(length)) for length in lists]
        self.meter.begin(
            sum(min(length, WINDOW) * count for length, count in zip(lists, windows, strict=True)),
            sum(windows),
        )
        self._prompts = self._unnamed = self._unfinished = 0

    def remarks(self) -> Iterator[str]:
        """Yield a remark on the answers that could not be read whole."""
        if self._unfinished:
            yield (
                f"{self._client.endpoint.short_name}: {self._unfinished:,} of {self._prompts:,} "
                f"answers could not be read or left passages out; {self._unnamed:,} passages have "
                "no score"
            )

    def score(self, query: str, passages: Sequence[str]) -> np.ndarray:
        """Return the number of passages ranked below each, ``(n,)``; NaN for those that an answer
        left out.

        Raises:
            InputError: no answer from the server.
        """
        order, missing = np.arange(len(passages)), np.zeros(len(passages), bool)
        for start in _starts(len(passages)):
            window = order[start : start + WINDOW]
            texts = [passages[place] for place in window]
            named = self._once(query, texts, partial(self._permutation, query, texts))
            first = window[named.astype(np.int64)]
            left_out = window[~np.isin(window, first)]
            order[start : start + WINDOW] = np.concatenate([first, left_out])
            with self._lock:
                self._prompts += 1
                self._unfinished += bool(len(left_out))
                self._unnamed += int((~missing[left_out]).sum())
            missing[left_out] = True
        scores = np.empty(len(passages), np.float32)
        scores[order] = np.arange(len(passages))[::-1]
        scores[missing] = np.nan
        return scores

    def _permutation(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Return the indices of the texts that the last answer names, best first."""
        numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))
        asked = (
            f"Query: {query}\n\n{numbered}\n\nQuery: {query}\nThe order of all {len(texts)} "
            "passages:"
        )
        messages: list[JsonObject] = [
            {"role": "system", "content": _INSTRUCTION},
            {"role": "user", "content": asked},
        ]
        named: list[int] = []
        for _ in range(ANSWERS):
            body: JsonObject = {"model": self._client.endpoint.model, "messages": list(messages)}
            answer = self._ask(
                [{**body, "temperature": 0}, body], content, f"an order of {len(texts):,} passages"
            )
            named = [] if answer is None else order_in(answer, len(texts))
            if len(named) == len(texts):
                break
            left = ", ".join(f"[{place + 1}]" for place in range(len(texts)) if place not in named)
            fault = (
                f"This leaves out {left}."
                if named
                else "No order could be read in this."
                if answer
                else "There was no answer."
            )
            again = f"{fault} {_AGAIN.format(count=len(texts))}"
            said: list[JsonObject] = [{"role": "assistant", "content": answer}] if answer else []
            messages = [*messages[:2], *said, {"role": "user", "content": again}]
        return np.array(named, np.float32)


def _starts(length: int) -> list[int]:
    """Return the starts of the windows over a list, last one first; a list of one passage has
    none.
    """
    last = max(0, length - WINDOW)
    return (
        [max(0, start) for start in range(last, -STRIDE, -STRIDE) if start > -STRIDE]
        if length > 1
        else []
    )


def open_endpoint(
    endpoint: Endpoint, *, store: bool = True
) -> tuple[EmbeddingEncoder | RerankScorer | ChatScorer, AnswerStore]:
    """Return the model behind an endpoint, and the store of its answers, which keeps none without
    ``store``.

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
