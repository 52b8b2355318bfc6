"""A checkpoint is pushed whole, with its card, to a server that stands in for the Hub; a damaged one is not."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.collection import Collection
from positionbias.core.verify import manifests_in, verify
from positionbias.models.checkpoint import load_checkpoint
from positionbias.probe.settings import ProbeSettings

from ..tiny import candidates, planted, saved_tk


class Hub(ThreadingHTTPServer):
    """Takes repositories and commits as the Hub does, all files as regular ones."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.made: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.commits: list[dict[str, bytes]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Answers(BaseHTTPRequestHandler):
    server: Hub

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
            found = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None} for file in files]
            return self._answer({"files": found})
        if self.path.endswith("/commit/main"):
            lines = [json.loads(line) for line in content.splitlines()]
            files = {line["value"]["path"]: base64.b64decode(line["value"]["content"]) for line in lines[1:]}
            self.server.commits.append(files)
            return self._answer({"commitUrl": f"{self.server.address}/me/ranker/commit/1", "commitOid": "1" * 40})
        return self._answer({"errors": [], "warnings": []}, 200 if self.path == "/api/validate-yaml" else 404)

    def _chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, record: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(record).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return saved_tk(tmp_path / "tk.ckpt", planted(tmp_path / "planted"))


def push(hub: Hub, *arguments: object, token: str = "hf_right") -> subprocess.CompletedProcess[str]:
    home = {"HF_HOME": str(Path(str(arguments[0])).parent / "hf"), "HF_TOKEN": token}
    settings = {**os.environ, **home, "HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}
    command: Sequence[str] = [sys.executable, "-m", "positionbias", "push", *map(str, arguments)]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


def written(files: dict[str, bytes], place: Path) -> Path:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return place


def test_a_checkpoint_is_pushed_as_it_is(hub: Hub, checkpoint: Path) -> None:
    found = push(hub, checkpoint, "me/ranker", "--private")
    assert (found.returncode, found.stderr) == (0, "")
    here = {path.relative_to(checkpoint).as_posix(): path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    size = sum(map(len, here.values()))
    assert found.stdout == f"{len(here)} files, {size / 1e6:,.1f} MB: {hub.address}/me/ranker\n"
    assert [(record["name"], record["organization"], record["visibility"]) for record in hub.made] == [
        ("ranker", "me", "private")
    ]
    assert hub.commits == [here]
    assert hub.tokens == {"Bearer hf_right"}


def test_results_join_the_card_and_the_manifest_fits(hub: Hub, checkpoint: Path, tmp_path: Path) -> None:
    collection = tmp_path / "planted"
    candidates(Collection(collection), tmp_path)
    pb.rerank(collection, model=checkpoint, candidates=tmp_path / "test.run", out=tmp_path / "tk.run")
    pb.evaluate([tmp_path / "tk.run"], collection=collection).save(tmp_path / "measured")
    assert push(hub, checkpoint, "me/ranker", "--results", tmp_path / "measured").returncode == 0
    again = written(hub.commits[0], tmp_path / "fetched")
    card = (again / "README.md").read_text()
    assert card.startswith((checkpoint / "README.md").read_text().rstrip())
    assert re.search(r"## Evaluate: measured\n\n    run +nDCG@10.*\n    tk +0\.\d+ \[0\.\d+, 0\.\d+\]", card)
    assert [one.fault for one in map(verify, manifests_in(again))] == [""]
    assert load_checkpoint(again).manifest.checksum == load_checkpoint(checkpoint).manifest.checksum


def test_results_of_another_model_are_refused(hub: Hub, checkpoint: Path, tmp_path: Path) -> None:
    collection = Collection(tmp_path / "planted")
    other = saved_tk(tmp_path / "other" / "tk.ckpt", collection, seed=2)
    pb.mats(collection, models=[other], settings=ProbeSettings(passages=5)).save(tmp_path / "measured")
    found = push(hub, checkpoint, "me/ranker", "--results", tmp_path / "measured")
    assert found.returncode == 2
    assert "wanted results of the model tk; found those of tk of other weights; measure this checkpoint" in found.stderr
    assert not hub.made


def test_a_damaged_checkpoint_is_not_pushed(hub: Hub, checkpoint: Path) -> None:
    path = next(checkpoint.glob("*.safetensors"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    found = push(hub, checkpoint, "me/ranker")
    assert found.returncode == 2
    assert found.stderr.startswith(f"posbias: {checkpoint}: wanted a checkpoint as it was written; found ")
    assert not hub.made


def test_one_without_a_card_is_not_pushed(hub: Hub, checkpoint: Path) -> None:
    from positionbias.core.manifest import read_manifest, write_manifest

    manifest = read_manifest(checkpoint)
    (checkpoint / "README.md").unlink()
    write_manifest(checkpoint / "manifest.json", manifest)
    found = push(hub, checkpoint, "me/ranker")
    assert found.returncode == 2
    assert "wanted a checkpoint with its model card (README.md); found an older one, without" in found.stderr


def test_a_hub_that_refuses_is_one_line(hub: Hub, checkpoint: Path) -> None:
    found = push(hub, checkpoint, "me/ranker", token="hf_wrong")
    assert found.returncode == 2
    assert found.stderr.startswith("posbias: me/ranker: wanted a model repository on the Hub to write to; found: ")
    assert found.stderr.count("\n") == 1
    assert "HF_TOKEN" in found.stderr
    assert "hf_wrong" not in found.stderr
