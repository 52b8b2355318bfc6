"""Send requests to a model over HTTP: few at once, retried with growing waits, with a one-line
error at the end.
"""

from __future__ import annotations

import json
import os
import queue
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from positionbias.core.errors import DependencyError, InputError, TextError
from positionbias.core.json_text import JsonObject
from positionbias.core.progress import say, shown_time
from positionbias.core.seeds import below
from positionbias.models.masked_key import without_key
from positionbias.models.protocols import TOKEN_CHARACTERS

AT_ONCE = 8  # requests
TRIES, FIRST_TRIES = 7, 2  # tries of a request; before the first answer of all
PAID_TRIES = 3  # tries of a request with unusable answers, which cost money
WAIT, LONGEST_WAIT = 1.0, 300.0  # seconds: the first wait, which doubles, and the longest
TIMEOUT, CONNECT_TIMEOUT = 180.0, 10.0  # seconds of an answer as a whole, and of a connection
# of an answer, unpacked, beside twice the request: some rerankers send the passages back [decision]
ANSWER_BYTES = 16 << 20
PILOT = 8  # requests from which time and length are estimated
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_NAME = re.compile(r"(openai|rerank|chat):(.+)@(https?://\S+)")
_MEANT = re.compile(r"(openai|rerank|chat):[^\s:]*\S")
# the path added to a URL of a host alone, and to one with a path
_PATHS = {
    "openai": ("/v1/embeddings", "embeddings"),
    "rerank": ("/rerank", "rerank"),
    "chat": ("/v1/chat/completions", "chat/completions"),
}

_MESSAGES = ("error", "message", "detail")  # fields of an error's body
_OF_SIZE = re.compile(
    r"\b(?:too (?:long|large|many|big)|larger|longer|length|size|exceed\w*|maximum|max|at "
    r"most|limit\w*|tokens?|truncat\w*)\b",
    re.I,
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# variables of known hosts, as their makers name them; every other host has its whole name
_KEYS = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.cohere.ai": "COHERE_API_KEY",
    "api.cohere.com": "COHERE_API_KEY",
    "api.deepinfra.com": "DEEPINFRA_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.fireworks.ai": "FIREWORKS_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.jina.ai": "JINA_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.mixedbread.com": "MXBAI_API_KEY",
    "api.siliconflow.cn": "SILICONFLOW_API_KEY",
    "api.together.ai": "TOGETHER_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "api.voyageai.com": "VOYAGE_API_KEY",
    "api.x.ai": "XAI_API_KEY",
    "dashscope.aliyuncs.com": "DASHSCOPE_API_KEY",
    "dashscope-intl.aliyuncs.com": "DASHSCOPE_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "integrate.api.nvidia.com": "NVIDIA_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}

T = TypeVar("T")
R = TypeVar("R")


class Endpoint(NamedTuple):
    """A served model: the form of its requests, its name on the server, and the URL."""

    form: str
    model: str
    url: str

    @property
    def name(self) -> str:
        """Its name in errors and manifests."""
        return f"{self.short_name}@{self.url}"

    @property
    def short_name(self) -> str:
        """Its name in runs and results."""
        return f"{self.form}:{self.model}"

    @property
    def host(self) -> str:
        """The host in ASCII, lower case, without a dot at its end."""
        return (urlsplit(self.url).hostname or "").encode("idna").decode().lower().rstrip(".")

    @property
    def key_variable(self) -> str:
        """The environment variable of its key: that of a known host, or one that holds the whole
        host, so that no key goes to another host.

        OPENAI_API_KEY for api.openai.com, EMBED_SHOP_CO_UK_API_KEY for embed.shop.co.uk,
        GPU__3_API_KEY for gpu-3; none for a numeric address.
        """
        host = self.host
        if host in _KEYS or re.fullmatch(r"[\d.]+|.*:.*", host):
            return _KEYS.get(host, "")
        whole = re.sub(r"[^a-z0-9.]", "__", host).replace(".", "_").upper() + "_API_KEY"
        return f"HOST_{whole}" if whole in _KEYS.values() else whole

    @property
    def loopback(self) -> bool:
        """True if it is on this machine."""
        return self.host in _LOOPBACK

    @property
    def takes_key(self) -> bool:
        """True if a key may be sent: by https, or to this machine."""
        return bool(self.key_variable) and (self.loopback or urlsplit(self.url).scheme == "https")


def endpoint_named(name: str) -> Endpoint | None:
    """Return the endpoint of a name like ``openai:NAME@URL``, ``rerank:NAME@URL`` or
    ``chat:NAME@URL``; None for other names.

    The form's path is added to the URL unless it is there: ``/v1/embeddings``, ``/rerank`` or
    ``/v1/chat/completions``, without ``/v1`` if the URL has a path of its own.

    Raises:
        InputError: it begins like one but has no URL, or its URL has a password, a query or a
            fragment.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        if _MEANT.fullmatch(name) and not re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", name):
            raise InputError(
                f"{name}: wanted FORM:NAME@URL; found no URL; add it, as in "
                "openai:NAME@http://localhost:8000/v1"
            )
        return None
    form, model, url = found.groups()
    try:
        parts = urlsplit(url)
        _ = parts.port, (parts.hostname or "").encode("idna")
    except ValueError as error:  # also in percent-encoding
        raise InputError(
            f"{form}:{model}: wanted a URL of a host and a path; found an unreadable one; correct "
            "it"
        ) from error
    if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
        raise InputError(
            f"{form}:{model}: wanted a URL of a host and a path; found a password, a query or a "
            "fragment in it; give a key in the environment instead"
        )
    alone, last = _PATHS[form]
    path = parts.path.rstrip("/")
    path = alone if not path else path if path.endswith(f"/{last}") else f"{path}/{last}"
    return Endpoint(form, model, urlunsplit((parts.scheme, parts.netloc, path, "", "")))


class BadAnswer(Exception):
    """An unusable answer; the message says what was found, ``text`` for which text if it is one."""

    def __init__(self, message: str, text: str | None = None) -> None:
        super().__init__(message)
        self.text = text


class Refused(InputError):
    """A permanently refused request, with its HTTP status and what was said; ``of_size``: the
    server says that it is too large.
    """

    def __init__(
        self, message: str = "", status: int = 0, found: str = "", *, of_size: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.found, self.of_size = status, found, of_size

    @property
    def may_be_size(self) -> bool:
        """True if fewer texts may be taken: servers answer too many with 400 and 413, some with
        422.
        """
        return self.status in (400, 413) or (self.status == 422 and self.of_size)


class Batches:
    """Sends texts in requests of at most ``most``, which halves where the server refuses them; the
    size that it took is kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def send(self, texts: Sequence[T], ask: Callable[[Sequence[T]], R]) -> list[R]:
        """Return the answers to these texts, a request each, in order.

        Raises:
            Refused: by ``ask``, of a single text, or of any number for another reason than their
                size.
        """
        answers = []
        for at in range(0, len(texts), most := self.most):
            part, taken = self._halved(texts[at : at + most], ask)
            answers += part
            if taken < most and len(part) > 1:
                self.most = min(self.most, taken)
        return answers

    def _halved(self, texts: Sequence[T], ask: Callable[[Sequence[T]], R]) -> tuple[list[R], int]:
        """Return the answers, and the largest size that was taken."""
        try:
            return [ask(texts)], len(texts)
        except Refused as error:
            if len(texts) == 1 or not error.may_be_size:
                raise
        half = -(-len(texts) // 2)
        (first, taken), (last, also) = (
            self._halved(texts[:half], ask),
            self._halved(texts[half:], ask),
        )
        return first + last, max(taken, also)


class _Answer(NamedTuple):
    """A server's answer: its status and reason, its Retry-After, and its body, unpacked."""

    status: int
    reason: str
    retry_after: str
    body: bytes


class Client:
    """A sender of requests to one endpoint; ``stop`` ends waits between tries.

    The key is read from the endpoint's environment variable, and appears in no message.

    Raises:
        DependencyError: httpx2 is not installed.
        InputError: the key cannot be sent in a header.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        if find_spec("httpx2") is None:
            raise DependencyError(
                f"{endpoint.name}: wanted httpx2, which sends its requests; found none; run: pip "
                "install 'positionbias[endpoint]'"
            )
        import httpx2

        self.endpoint, self.stop, self.reached = endpoint, threading.Event(), False
        self._key = os.environ.get(endpoint.key_variable, "").strip() if endpoint.takes_key else ""
        if not (self._key.isascii() and self._key.isprintable()):
            raise InputError(
                f"{endpoint.key_variable}: wanted a key of ASCII characters; found others; correct "
                "it"
            )
        self._errors = (httpx2.TransportError, httpx2.DecodingError)
        self._client = httpx2.Client(
            headers={
                "Accept-Encoding": "gzip",
                **({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            },
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
            # no proxy sees what goes to this machine
            mounts={"all://localhost": None, "all://127.0.0.1": None, "all://[::1]": None},
        )
        weakref.finalize(self, self._client.close)

    def ask(self, body: JsonObject, read: Callable[[Any], T], wanted: str) -> T:
        """Send a request and ``read`` its answer, which may raise ``BadAnswer``; both are retried.

        Raises:
            InputError: no usable answer after the last try.
            Refused: the request itself is wrong.
        """
        text, tried, paid = json.dumps(body), 0, 0
        while True:
            wait, unusable = 0.0, None
            try:
                answer = self._post(text)
            except self._errors as error:
                found = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            except BadAnswer as error:
                found, paid, self.reached = str(error), paid + 1, True
            else:
                self.reached = True
                if 200 <= answer.status < 300:
                    paid += 1
                    try:
                        return read(json.loads(answer.body))
                    except BadAnswer as error:
                        unusable = error.text
                        found = f"{error}{self._said(answer.body, fault=True)}"
                    except (ValueError, RecursionError):
                        found = "an answer that is not whole JSON"
                else:
                    said = self._said(answer.body)
                    found = f"{answer.status} {answer.reason}{said}"
                    if answer.status not in _AGAIN:
                        of_size = answer.status == 413 or bool(_OF_SIZE.search(said))
                        line = self._line(wanted, found, self._advice(answer.status))
                        raise Refused(
                            line, answer.status, without_key(found, self._key), of_size=of_size
                        )
                    wait = _retry_after(answer.retry_after)
            tried += 1
            if wait > LONGEST_WAIT:
                raise InputError(
                    self._line(
                        wanted, f"{found}, to try again in {wait:,.0f} s", "run it again then"
                    )
                )
            if paid >= PAID_TRIES or tried >= (TRIES if self.reached else FIRST_TRIES):
                line = self._line(
                    wanted,
                    f"{found}, {tried} times",
                    "check the server and the URL, and run it again",
                )
                raise InputError(line) if unusable is None else TextError(line, unusable)
            # the wait grows by up to half, drawn from the request
            spread = 0.5 + below(1_000, tried, "wait of a request", text) / 2_000
            if self.stop.wait(max(wait, WAIT * 2 ** (tried - 1) * spread)):
                raise InputError(
                    self._line(wanted, f"{found}, and another failed meanwhile", "run it again")
                )

    def _post(self, text: str) -> _Answer:
        """Send a request; a thread reads its answer, which is given up when its seconds are over,
        however slowly it arrives.

        Raises:
            BadAnswer: an answer that takes too long, is too large, or is packed in another way than
                gzip.
        """
        answers: queue.SimpleQueue[_Answer | Exception] = queue.SimpleQueue()
        ends = time.monotonic() + TIMEOUT

        def read() -> None:
            try:
                answers.put(self._read(text, ends))
            except Exception as error:  # whatever it is, it is raised where it was asked for
                answers.put(error)

        threading.Thread(target=read, name="answer", daemon=True).start()
        try:
            answer = answers.get(timeout=TIMEOUT + 1)  # the reader's own error comes first
        except queue.Empty:
            raise BadAnswer(f"an answer that was not whole after {TIMEOUT:,.0f} s") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _read(self, text: str, ends: float) -> _Answer:
        most, body = ANSWER_BYTES + 2 * len(text), bytearray()
        headers = {"Content-Type": "application/json"}
        with self._client.stream(
            "POST", self.endpoint.url, content=text, headers=headers
        ) as answer:
            packed = answer.headers.get("Content-Encoding", "identity").strip().lower()
            if packed not in ("", "identity", "gzip", "deflate"):
                raise BadAnswer("an answer that is packed in another way than gzip")
            for part in answer.iter_bytes():
                body += part
                if len(body) > most:
                    raise BadAnswer(f"an answer of more than {most / 1e6:,.0f} MB")
                if time.monotonic() > ends:
                    raise BadAnswer(f"an answer that was not whole after {TIMEOUT:,.0f} s")
            return _Answer(
                answer.status_code,
                answer.reason_phrase,
                answer.headers.get("Retry-After", ""),
                bytes(body),
            )

    def _advice(self, status: int) -> str:
        variable = self.endpoint.key_variable
        if status not in (401, 403):
            return "check the name and the URL"
        if not variable:
            return "give a host's name for its address, so that a key can be named by it"
        if not self.endpoint.takes_key:
            return f"give an https URL: no key is sent over http to another machine ({variable})"
        return f"check the key in {variable}" if self._key else f"set its key in {variable}"

    def _line(self, wanted: str, found: str, do: str) -> str:
        return f"{self.endpoint.name}: wanted {wanted}; found {without_key(found, self._key)}; {do}"

    def _said(self, body: bytes, *, fault: bool = False) -> str:
        """Return the message in an error's body, without the key, then shortened; with ``fault``
        only a field error.
        """
        text = body.decode("utf-8", "replace")
        try:
            record = json.loads(text)
            named = [
                record[name]
                for name in _MESSAGES[: 1 if fault else None]
                if isinstance(record, dict) and record.get(name)
            ]
            found = named[0] if named else "" if fault else text
            text = str(found.get("message", found)) if isinstance(found, dict) else str(found)
        except (ValueError, RecursionError):
            pass
        text = without_key(" ".join(text.split()), self._key)
        return f" ({text[:200]}{'…' * (len(text) > 200)})" if text else ""


def _retry_after(header: str) -> float:
    """Return the seconds of a Retry-After header, a number or a date; 0 without one."""
    if re.fullmatch(r"\d+(\.\d*)?", header.strip()):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


class Meter:
    """A count of the ``characters`` sent. It prints the extent of a step before it, and its length
    and time after eight requests.
    """

    def __init__(self, name: str) -> None:
        self.name, self.characters = name, 0
        self._lock = threading.Lock()
        self.begin(0, 0)

    def begin(self, texts: int, requests: int) -> None:
        """Begin a step of so many texts and requests."""
        with self._lock:
            self._texts, self._requests = texts, requests
            self._sent = self._sent_texts = self._kept = self._characters = 0
            self._began = time.perf_counter()
        if requests > 1:
            say(
                f"{self.name}: {texts:,} texts in about {requests:,} requests, less what is kept "
                "of earlier ones"
            )

    def kept(self, texts: int) -> None:
        """Count texts that need not be sent."""
        with self._lock:
            self._kept += texts

    def sent(self, texts: Sequence[str]) -> None:
        """Count an answered request with these texts."""
        with self._lock:
            self._sent += 1
            self._sent_texts += len(texts)
            length = sum(map(len, texts))
            self._characters += length
            self.characters += length
            if self._sent != PILOT or self._requests <= PILOT:
                return
            share = max(1.0, (self._texts - self._kept) / max(1, self._sent_texts))
            characters, seconds = (
                self._characters * share,
                (time.perf_counter() - self._began) * share,
            )
        say(
            f"{self.name}: by the first {PILOT} requests, to send are about {characters:,.0f} "
            f"characters ({characters / TOKEN_CHARACTERS:,.0f} tokens at {TOKEN_CHARACTERS} "
            f"characters each), in about {shown_time(seconds)}"
        )
