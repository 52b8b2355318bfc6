"""A checkpoint is pushed whole, with its card, to a server that stands in for the Hub; a damaged
one is not.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.collection import Collection

from ..forked import POSBIAS, forked
from ..local_server import LocalServer, running
from ..tiny import candidates, planted, saved_tk


class Hub(LocalServer):
    """Takes repositories and commits as the Hub does, all files as regular ones, and serves the
    files of the last commit.
    """

    def __init__(self) -> None:
        super().__init__(_Answers)
        self.made: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.commits: list[dict[str, bytes]] = []
        self.asked: list[str] = []


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        files = self.server.commits[-1] if self.server.commits else {}
        place = re.fullmatch(r"/me/ranker/resolve/(?:main|1{40})/(.+)", self.path)
        if place and place[1] in files:
            return self._answer_with(
                files[place[1]],
                {"ETag": f'"{sha1(files[place[1]]).hexdigest()}"', "X-Repo-Commit": "1" * 40},
            )
        if re.match(r"/api/models/me/ranker/tree/", self.path):
            return self._answer(
                [
                    {"type": "file", "path": name, "size": len(one), "oid": "2" * 40}
                    for name, one in files.items()
                ]
            )
        if re.match(r"/api/models/me/ranker(/revision/\w+)?(\?|$)", self.path) and files:
            siblings = [{"rfilename": name} for name in files]
            return self._answer(
                {"id": "me/ranker", "modelId": "me/ranker", "sha": "1" * 40, "siblings": siblings}
            )
        missing = {
            "X-Error-Code": "EntryNotFound" if place and files else "RepoNotFound",
            "X-Repo-Commit": "1" * 40,
        }
        return self._answer_with(b"{}", missing, 404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = self._chunks()
        self.server.tokens.add(self.headers.get("Authorization"))
        if self.headers.get("Authorization") != "Bearer hf_right":
            return self._answer({"error": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            self.server.made.append(json.loads(content))
            return self._answer({"url": f"{self.server.address}/me/ranker", "name": "me/ranker"})
        if self.path.endswith("/preupload/main"):
            files = json.loads(content)["files"]
            found = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for file in files
            ]
            return self._answer({"files": found})
        if self.path.endswith("/commit/main"):
            lines = [json.loads(line) for line in content.splitlines()]
            files = {
                line["value"]["path"]: base64.b64decode(line["value"]["content"])
                for line in lines[1:]
            }
            self.server.commits.append(files)
            return self._answer(
                {"commitUrl": f"{self.server.address}/me/ranker/commit/1", "commitOid": "1" * 40}
            )
        return self._answer(
            {"errors": [], "warnings": []}, 200 if self.path == "/api/validate-yaml" else 404
        )

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, record: Any, status: int = 200) -> None:
        self._answer_with(json.dumps(record).encode(), {"Content-Type": "application/json"}, status)

    def _answer_with(self, body: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running(Hub()) as server:
        yield server


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return saved_tk(tmp_path / "tk.ckpt", planted(tmp_path / "planted"))


# what the Hub's library reads of its environment when it is imported
AT_IMPORT = """
from huggingface_hub import constants
constants.ENDPOINT, constants.HF_HUB_CACHE = {endpoint!r}, {cache!r}
constants.HUGGINGFACE_CO_URL_TEMPLATE = (
    {endpoint!r} + constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("https://huggingface.co")[2]
)
constants.HF_HUB_OFFLINE = {offline!r}
"""


def push(hub: Hub, *arguments: object, token: str = "hf_right") -> subprocess.CompletedProcess[str]:
    home = Path(str(arguments[0])).parent / "hf"
    return with_hub(hub, home, "model", "push", *arguments, token=token)


def with_hub(
    hub: Hub,
    home: Path,
    *arguments: object,
    token: str = "hf_right",
    offline: bool = False,
    code: str = POSBIAS,
) -> subprocess.CompletedProcess[str]:
    place = {"HF_HOME": str(home), "HF_TOKEN": token, "HF_HUB_OFFLINE": str(int(offline))}
    before = AT_IMPORT.format(endpoint=hub.address, cache=str(home / "hub"), offline=offline)
    return forked(arguments, Path.cwd(), {**os.environ, **place}, before + code)


def written(files: dict[str, bytes], place: Path) -> Path:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def test_a_checkpoint_is_pushed_as_it_is(hub: Hub, checkpoint: Path) -> None:
    place = {"HF_TOKEN": "hf_right", "HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}
    command = [
        sys.executable,
        "-m",
        "positionbias",
        "model",
        "push",
        checkpoint,
        "me/ranker",
        "--private",
    ]
    found = subprocess.run(
        command, env={**os.environ, **place}, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    here = {
        path.relative_to(checkpoint).as_posix(): path.read_bytes()
        for path in checkpoint.rglob("*")
        if path.is_file()
    }
    size = sum(map(len, here.values()))
    assert found.stdout == f"{len(here)} files, {size / 1e6:,.1f} MB: {hub.address}/me/ranker\n"
    assert [
        (record["name"], record["organization"], record["visibility"]) for record in hub.made
    ] == [("ranker", "me", "private")]
    assert hub.commits == [here]
    assert hub.tokens == {"Bearer hf_right"}


def test_a_damaged_checkpoint_is_not_pushed(hub: Hub, checkpoint: Path) -> None:
    path = next(checkpoint.glob("*.safetensors"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    found = push(hub, checkpoint, "me/ranker")
    assert found.returncode == 2
    assert found.stderr.startswith(f"posbias: {path}: wanted the content that its manifest names")
    assert not hub.made


def test_a_hub_that_refuses_is_one_line(hub: Hub, checkpoint: Path) -> None:
    found = push(hub, checkpoint, "me/ranker", token="hf_wrong")
    assert found.returncode == 2
    assert found.stderr.startswith("posbias: me/ranker: nothing was pushed to the Hub: ")
    assert found.stderr.count("\n") == 1
    assert "HF_TOKEN" in found.stderr
    assert "hf_wrong" not in found.stderr


def test_what_was_pushed_is_loaded_by_its_id(hub: Hub, checkpoint: Path, tmp_path: Path) -> None:
    collection = Collection(tmp_path / "planted")
    candidates(collection, tmp_path)
    assert push(hub, checkpoint, "me/ranker").returncode == 0
    pb.rerank(
        collection, model=checkpoint, candidates=tmp_path / "test.run", out=tmp_path / "here.run"
    )
    rerank = (
        "rerank",
        collection.path,
        "--model",
        "me/ranker",
        "--candidates",
        tmp_path / "test.run",
        "--out",
    )
    found = with_hub(hub, tmp_path / "other", *rerank, tmp_path / "fetched.run")
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "fetched.run").read_bytes() == (tmp_path / "here.run").read_bytes()
    hub.asked.clear()
    again = with_hub(hub, tmp_path / "other", *rerank, tmp_path / "again.run", offline=True)
    assert again.returncode == 0, again.stderr  # from the local cache
    assert not hub.asked


def test_an_id_that_is_no_checkpoint_is_one_line(hub: Hub, tmp_path: Path) -> None:
    code = (
        "from positionbias.models.checkpoint import load_checkpoint; load_checkpoint('me/ranker')"
    )
    found = with_hub(hub, tmp_path / "hf", code=code)
    assert (
        "me/ranker: wanted a folder, or the id of a model on the Hugging Face hub; found neither"
        in found.stderr
    )
