"""Send requests to a model over HTTP: few at once, retried with growing waits, with a one-line error at the end."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

from positionbias.core.duration import duration_in_words
from positionbias.core.errors import DependencyError, InputError
from positionbias.core.json_text import JsonObject
from positionbias.core.progress import say
from positionbias.core.seeds import below
from positionbias.models.protocols import TOKEN_CHARACTERS

__all__ = ["AT_ONCE", "BadAnswer", "Client", "Endpoint", "Meter", "Refused", "endpoint_named"]

AT_ONCE = 8  # requests
TRIES, FIRST_TRIES = 7, 2  # tries of a request; before the first answer of all
PAID_TRIES = 3  # tries of a request with unusable answers, which cost money
WAIT, LONGEST_WAIT = 1.0, 300.0  # seconds: the first wait, which doubles, and the longest
TIMEOUT, CONNECT_TIMEOUT = 180.0, 10.0
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

T = TypeVar("T")


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
    def key_variable(self) -> str:
        """The environment variable of its key, named after its host so that no key goes to another host: OPENAI_API_KEY for
        api.openai.com, JINA_API_KEY for api.jina.ai, LOCALHOST_API_KEY for localhost; none for a numeric address."""
        host = urlsplit(self.url).hostname or ""
        label = host.split(".")[-2:][0]
        return "" if re.fullmatch(r"[\d.]+|.*:.*", host) else f"{re.sub(r'[^A-Z0-9]', '_', label.upper())}_API_KEY"


def endpoint_named(name: str) -> Endpoint | None:
    """Return the endpoint of a name like ``openai:NAME@URL``, ``rerank:NAME@URL`` or ``chat:NAME@URL``; None for other names.

    The form's path is added to the URL unless it is there: ``/v1/embeddings``, ``/rerank`` or ``/v1/chat/completions``, without
    ``/v1`` if the URL has a path of its own.

    Raises:
        InputError: it begins like one but has no URL, or its URL has a password, a query or a fragment.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        if _MEANT.fullmatch(name) and not re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", name):
            raise InputError(f"{name}: wanted FORM:NAME@URL; found no URL; add it, as in openai:NAME@http://localhost:8000/v1")
        return None
    form, model, url = found.groups()
    try:
        parts = urlsplit(url)
        _ = parts.port, (parts.hostname or "").encode("idna")
    except ValueError as error:  # also in percent-encoding
        raise InputError(f"{form}:{model}: wanted a URL of a host and a path; found an unreadable one; correct it") from error
    if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
        raise InputError(
            f"{form}:{model}: wanted a URL of a host and a path; found a password, a query or a fragment in it; give a key in the "
            "environment instead"
        )
    alone, last = _PATHS[form]
    path = parts.path.rstrip("/")
    path = alone if not path else path if path.endswith(f"/{last}") else f"{path}/{last}"
    return Endpoint(form, model, urlunsplit((parts.scheme, parts.netloc, path, "", "")))


class BadAnswer(Exception):
    """An unusable answer; the message says what was found."""


class Refused(InputError):
    """A permanently refused request, with its HTTP status."""

    def __init__(self, message: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.status = status


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
                f"{endpoint.name}: wanted httpx2, which sends its requests; found none; run: pip install 'positionbias[endpoint]'"
            )
        import httpx2

        self.endpoint, self.stop, self.reached = endpoint, threading.Event(), False
        self._key = os.environ.get(endpoint.key_variable, "").strip() if endpoint.key_variable else ""
        if not (self._key.isascii() and self._key.isprintable()):
            raise InputError(f"{endpoint.key_variable}: wanted a key of ASCII characters; found others; correct it")
        self._errors = (httpx2.TransportError, httpx2.DecodingError)
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
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
            wait = 0.0
            try:
                given = self._client.post(self.endpoint.url, content=text, headers={"Content-Type": "application/json"})
            except self._errors as error:
                found = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            else:
                self.reached = True
                if given.is_success:
                    paid += 1
                    try:
                        return read(json.loads(given.content))
                    except BadAnswer as error:
                        found = f"{error}{self._said(given.content, fault=True)}"
                    except (ValueError, RecursionError):
                        found = "an answer that is not whole JSON"
                else:
                    found = f"{given.status_code} {given.reason_phrase}{self._said(given.content)}"
                    if given.status_code not in _AGAIN:
                        raise Refused(self._line(wanted, found, self._advice(given.status_code)), given.status_code)
                    wait = _retry_after(given.headers.get("Retry-After", ""))
            tried += 1
            if wait > LONGEST_WAIT:
                raise InputError(self._line(wanted, f"{found}, to try again in {wait:,.0f} s", "run it again then"))
            if paid >= PAID_TRIES or tried >= (TRIES if self.reached else FIRST_TRIES):
                raise InputError(
                    self._line(wanted, f"{found}, {tried} times", "check the server and the URL, and run it again")
                )
            # the wait grows by up to half, drawn from the request
            spread = 0.5 + below(1_000, tried, "wait of a request", text) / 2_000
            if self.stop.wait(max(wait, WAIT * 2 ** (tried - 1) * spread)):
                raise InputError(self._line(wanted, f"{found}, and another failed meanwhile", "run it again"))

    def _advice(self, status: int) -> str:
        variable = self.endpoint.key_variable
        if status not in (401, 403):
            return "check the name and the URL"
        if not variable:
            return "give a host's name for its address, so that a key can be named by it"
        return f"check the key in {variable}" if self._key else f"set its key in {variable}"

    def _line(self, wanted: str, found: str, do: str) -> str:
        return f"{self.endpoint.name}: wanted {wanted}; found {self._without_key(found)}; {do}"

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _said(self, body: bytes, *, fault: bool = False) -> str:
        """Return the message in an error's body, without the key, then shortened; with ``fault`` only a field error."""
        text = body.decode("utf-8", "replace")
        try:
            record = json.loads(text)
            named = [
                record[name] for name in _MESSAGES[: 1 if fault else None] if isinstance(record, dict) and record.get(name)
            ]
            found = named[0] if named else "" if fault else text
            text = str(found.get("message", found)) if isinstance(found, dict) else str(found)
        except (ValueError, RecursionError):
            pass
        text = self._without_key(" ".join(text.split()))
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
    """A count of the ``characters`` sent. It prints the extent of a step before it, and its length and time after eight requests."""

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
            say(f"{self.name}: {texts:,} texts in about {requests:,} requests, less what is kept of earlier ones")

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
            characters, seconds = self._characters * share, (time.perf_counter() - self._began) * share
        say(
            f"{self.name}: by the first {PILOT} requests, to send are about {characters:,.0f} characters ({characters / TOKEN_CHARACTERS:,.0f} tokens at "
            f"{TOKEN_CHARACTERS} characters each), in {duration_in_words(seconds)}"
        )
