"""Addresses of object stores (``s3://BUCKET/KEY``, ``gs://BUCKET/KEY``), and the local copies of what is there.

What is in a store is worked on as a copy under $POSBIAS_HOME/.stores, in a folder named by a hash of its address: it is brought
there before it is read (``core.store_copies``), and made there before it is sent (``core.store_uploads``).

Credentials come from the store's own ways (environment, profile, instance), never from an address. ``file://`` is an ordinary path.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

from positionbias.core.errors import InputError, PositionBiasError, StorageError
from positionbias.core.seal import CACHE

__all__ = [
    "GO_ON",
    "Address",
    "address_at",
    "address_of",
    "copy_of",
    "copy_tokens",
    "is_gone",
    "missing_copies",
    "opened",
    "plain_place",
    "store_errors",
    "stored_at",
    "told_by_address",
]

GO_ON = "run the same command again to go on"
SECONDS_TO_CONNECT, SECONDS_TO_ANSWER, TRIES = 10, 60, 6
_SCHEME = re.compile(r"(s3|gs):/{1,3}(?!/)", re.IGNORECASE)  # one slash is left of two after Path()
_OTHERS = re.compile(r"(s3[an]|gcs|abfss?|wasbs?|az|hdfs):/", re.IGNORECASE)  # as other tools write addresses
_FILE = re.compile(r"file:/")
_OPTIONS = ("endpoint_override", "region", "scheme")
_FOLDER, _ADDRESS = ".stores", ".address"
_WANTED = "SCHEME://BUCKET/KEY"
_LOGIN = {
    "s3": "check the credentials ($AWS_PROFILE, or $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY) and their rights",
    "gs": "check the credentials ($GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login) and their rights",
}
_REFUSED = ("ACCESS_DENIED", "ACCESS_KEY", "SIGNATURE", "CREDENTIALS", "AUTHENTICATION", "TOKEN", "CLIENT_ID")
_BUSY = ("SLOW_DOWN", "THROTTLING", "SERVICE_UNAVAILABLE", "INTERNAL_FAILURE", "REQUEST_TIMEOUT")


@dataclass(frozen=True, slots=True)
class Address:
    """A place in an object store; ``key`` begins with the bucket and ends without a slash. Its text has no credentials.

    ``options`` are those of the connection: endpoint_override (HOST:PORT), scheme (http, https), region.
    """

    scheme: str
    key: str
    anonymous: bool = False
    options: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The last part of the key, which a copy is called."""
        return self.key.rpartition("/")[2]

    def under(self, rest: str) -> Address:
        """Return the address of something within."""
        return Address(self.scheme, f"{self.key}/{rest}", self.anonymous, self.options) if rest else self

    def __str__(self) -> str:
        query = f"?{urlencode(self.options, safe=':/')}" if self.options else ""
        return f"{self.scheme}://{'anonymous@' if self.anonymous else ''}{self.key}{query}"


def address_of(place: object) -> Address | None:
    """Return the address that a text or path means; None if it is none of a store.

    Raises:
        InputError: one that holds credentials or an unknown option, or has no key; or of another tool's store, as ``s3a://``.
    """
    text = str(place) if isinstance(place, str | Path) else ""
    if (begins := _SCHEME.match(text)) is None:
        if other := _OTHERS.match(text):
            raise InputError(
                f"{other[1]}://…: wanted s3:// or gs://; found {other[1]}://; give a path, or an address in such a store"
            )
        return None
    scheme, rest = begins[1].lower(), text[begins.end() :]
    key, _, query = rest.partition("?")
    user, at, after = key.partition("@")
    anonymous = bool(at) and "/" not in user
    options = tuple(parse_qsl(query, keep_blank_values=True))
    # a secret may hold a slash, and no bucket's name a colon; what may be a secret is not repeated here
    secret = ":" in key.partition("/")[0] or any("@" in value for _, value in options)
    if secret or (anonymous and user != "anonymous"):
        shown = f"…@{after.rpartition('@')[2]}" if at else "…"
        found, do = "credentials in an address", "give them by the environment or a profile"
        raise InputError(f"{scheme}://{shown}: wanted {_WANTED}; found {found}; {do}")
    if anonymous:
        key = after
    key = key.rstrip("/")
    shown = f"{scheme}://{key}"
    if unknown := [name for name, _ in options if name not in _OPTIONS]:
        raise InputError(f"{shown}: wanted only the options {', '.join(_OPTIONS)}; found {unknown[0]!r}; leave it out")
    parts = key.split("/")
    if len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
        raise InputError(f"{shown}: wanted {_WANTED}; found no such form; give a bucket and a key in it")
    control = any(sign < " " for sign in key)
    if control or parts[-1].startswith("."):  # hidden names beside a copy are ours
        found = "control characters" if control else "a name that begins with a dot"
        raise InputError(f"{scheme}://{key!r}: wanted a key that a file can be named by; found {found}; give it another name")
    return Address(scheme, key, anonymous, options)


def plain_place(place: str | Path) -> Path:
    """Return a path as it is, and that of a ``file://`` address.

    Raises:
        InputError: a ``file://`` address that names a host.
    """
    text = str(place)
    if not _FILE.match(text):
        return Path(place)
    from urllib.request import url2pathname

    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise InputError(f"{text}: wanted file:///PATH; found the host {parts.netloc!r}; give three slashes")
    return Path(url2pathname(parts.path))


# -- local copies ------------------------------------------------------------------------------------------------------

_USED: dict[Path, Address] = {}  # the folders of the copies that this process uses


def _root() -> Path:
    from positionbias.core.files import home

    return home().absolute() / _FOLDER


def copy_of(address: Address) -> Path:
    """Return the path of the local copy, whether it is there or not; its folder is made."""
    from positionbias.core.durable import make_folders
    from positionbias.core.files import storage_errors

    name = hashlib.blake2b(str(address).encode(), digest_size=8).hexdigest()
    folder = _root() / name
    if folder not in _USED or not folder.is_dir():
        with storage_errors(folder):
            make_folders(folder)
            if not (folder / _ADDRESS).is_file():
                partial = folder / f"{_ADDRESS}.{uuid4().hex[:8]}"
                partial.write_text(f"{address}\n{uuid4().hex}\n", encoding="utf-8", newline="\n")
                os.replace(partial, folder / _ADDRESS)
        _USED[folder] = address
    return folder / address.name


def _copy_at(path: Path | str) -> tuple[Address, str] | None:
    """Return the address of the copy in which a path lies, and the path within it."""
    parts = _within(Path(os.path.abspath(path)))
    address = _address_in(parts[0]) if len(parts) > 1 else None
    return (address, "/".join(parts[2:])) if address is not None and parts[1] == address.name else None


def _within(path: Path) -> tuple[str, ...]:
    root = _root()
    return path.relative_to(root).parts if path.is_relative_to(root) else ()


def _address_in(name: str) -> Address | None:
    folder = _root() / name
    if folder in _USED:
        return _USED[folder]
    try:
        return address_of((folder / _ADDRESS).read_text("utf-8").splitlines()[0])
    except (OSError, IndexError):
        return None


def address_at(path: Path | str) -> Address | None:
    """Return the address of which a path is the local copy, or lies in it; None if it is elsewhere."""
    found = _copy_at(path)
    return found[0].under(found[1]) if found is not None else None


def stored_at(final: Path) -> Address | None:
    """Return the address to which what is published at ``final`` is sent; None for an ordinary path, and for caches in a copy.

    Raises:
        StorageError: ``final`` is in a copy, and no cache: what is in a store does not change.
    """
    if (found := _copy_at(final)) is None:
        return None
    address, rest = found
    if not rest:
        return address
    if rest.split("/")[0] == CACHE:
        return None
    raise StorageError(
        f"{address}: wanted an artefact that is written at once; found one that is written in parts ({rest}); "
        "give a local --out, and copy it to the store"
    )


def told_by_address(error: PositionBiasError) -> PositionBiasError:
    """Return an error that names addresses instead of their local copies."""
    text = str(error)
    for folder, address in _USED.items():
        text = text.replace(str(folder / address.name), str(address))
    return error if text == str(error) else type(error)(text)


def copy_tokens() -> Mapping[str, str]:
    """Return what is in the folders of the copies that this process uses, by folder: another machine sees the same or not."""
    return {str(folder): (folder / _ADDRESS).read_text("utf-8") for folder in _USED if folder.is_dir()}


def missing_copies(tokens: Mapping[str, str]) -> Iterator[str]:
    """Yield the addresses of the ``copy_tokens`` of another process that this one does not see."""
    for folder, token in tokens.items():
        try:
            seen = Path(folder, _ADDRESS).read_text("utf-8") == token
        except OSError:
            seen = False
        if not seen:
            yield token.splitlines()[0]


# -- the store -----------------------------------------------------------------------------------------------------------


def opened(address: Address) -> Any:
    """Return the ``pyarrow.fs`` file system of an address. The store's own client retries what may pass, with growing waits."""
    options = dict(address.options)
    if address.scheme == "gs":
        options.pop("region", None)
        return _google(address.anonymous, tuple(options.items()))
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        options.setdefault("endpoint_override", endpoint)
    bucket = "" if {"endpoint_override", "region"} & options.keys() else address.key.partition("/")[0]
    tries = os.environ.get("AWS_MAX_ATTEMPTS", "")
    return _amazon(address.anonymous, tuple(options.items()), bucket, int(tries) if tries.isdecimal() else TRIES)


@lru_cache(maxsize=16)
def _google(anonymous: bool, options: tuple[tuple[str, str], ...]) -> Any:
    from datetime import timedelta

    from pyarrow.fs import GcsFileSystem

    given: dict[str, Any] = dict(options)
    return GcsFileSystem(anonymous=anonymous, retry_time_limit=timedelta(seconds=SECONDS_TO_ANSWER), **given)


@lru_cache(maxsize=16)
def _amazon(anonymous: bool, options: tuple[tuple[str, str], ...], bucket: str, tries: int) -> Any:
    """Open S3; where a ``bucket`` is given its region is asked for."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    given: dict[str, Any] = dict(options)
    if bucket:
        given["region"] = resolve_s3_region(bucket)
    return S3FileSystem(
        anonymous=anonymous,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=tries),
        connect_timeout=SECONDS_TO_CONNECT,
        request_timeout=SECONDS_TO_ANSWER,
        background_writes=False,  # which would hold a whole file in memory where the network is slower than the disk
        allow_delayed_open=True,  # a small file in one request
        **given,
    )


@contextmanager
def store_errors(address: Address) -> Iterator[None]:
    """Turn a store's errors into one clear line.

    Raises:
        StorageError: it refused, or gave no answer in time.
    """
    try:
        yield
    except PositionBiasError:
        raise
    except (OSError, ValueError) as error:
        from pyarrow import ArrowInvalid

        if isinstance(error, ValueError) and not isinstance(error, ArrowInvalid):
            raise
        found, do = _reason(address, error)
        raise StorageError(f"{address}: wanted an answer of the store; found: {found}; {do}") from error


def is_gone(error: OSError) -> bool:
    """Return whether a store's error says that there is no such key."""
    return isinstance(error, FileNotFoundError) or any(code in str(error) for code in ("NO_SUCH_KEY", "RESOURCE_NOT_FOUND"))


def _reason(address: Address, error: Exception) -> tuple[str, str]:
    text = str(error)
    code = named[1] if (named := re.search(r"AWS Error ([A-Z0-9_]+)", text)) else ""
    status = int(found[1]) if (found := re.search(r"HTTP status (\d{3})", text)) else 0
    if "NO_SUCH_BUCKET" in code or "bucket does not exist" in text:
        return "no such bucket", "check its name, the region and the endpoint"
    if any(word in code for word in _REFUSED) or status in (401, 403) or "PERMISSION_DENIED" in text:
        return f"no permission ({code or status})", _LOGIN[address.scheme]
    if "NETWORK" in code or "curlCode" in text:
        detail = why[1] if (why := re.search(r"curlCode: \d+, ([^;]+)", text)) else "no connection"
        return f"no answer ({detail.strip()})", f"check the network and the endpoint, then {GO_ON}"
    if any(word in code for word in _BUSY) or status >= 500:
        return f"a busy store ({status or code})", f"wait a while, then {GO_ON}"
    return code or text.splitlines()[0][:200], f"check the address, then {GO_ON}"
