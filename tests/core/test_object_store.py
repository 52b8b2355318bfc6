"""Artefacts and files in a store that speaks S3: read, written, replaced, and what happens when it fails."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

import positionbias as pb
from positionbias.core import store_copies, store_uploads, stores
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, PositionBiasError, SettingError, StorageError
from positionbias.core.places import input_place, output_place
from positionbias.core.retrieval import Retrieval
from positionbias.core.run import Run
from positionbias.core.seal import signed
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.planted.generator import PlantedSettings
from positionbias.positions.rotate import Rotation
from tests.s3_server import AS_S3, BUCKET, Busy, Cut, Denied, Door, Fault, Gone, Late, Other, Request, door, s3_server

PLANTED = PlantedSettings(queries=60, passages=150, test_share=0.3, validation_share=0.2)
SQUAD = f"s3://{BUCKET}/data/squad"
ROTATED = f"s3://{BUCKET}/data/rotated"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if find_spec("moto") is None:
        pytest.skip("needs the package moto")
    with s3_server(tmp_path_factory.mktemp("server") / "log") as url:
        yield url


@pytest.fixture
def shelf(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """The door to an empty bucket; three tries, a second's patience."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "hidden-id",
        "AWS_SECRET_ACCESS_KEY": "hidden-key",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "3",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(stores, "SECONDS_TO_ANSWER", 1)
    stores._amazon.cache_clear()
    with door(server) as opened:
        monkeypatch.setenv("AWS_ENDPOINT_URL", opened.url)
        yield opened
        opened.fault = lambda request: None
        store().delete_dir_contents(BUCKET)
    stores._amazon.cache_clear()


def store() -> Any:
    address = stores.address_of(SQUAD)
    assert address is not None
    return stores.opened(address)


def keys(under: str = "") -> dict[str, int]:
    """The keys in the bucket, with their sizes."""
    from pyarrow.fs import FileSelector, FileType

    found = store().get_file_info(FileSelector(f"{BUCKET}/{under}".rstrip("/"), recursive=True, allow_not_found=True))
    return {info.path.removeprefix(f"{BUCKET}/"): info.size for info in found if info.type == FileType.File}


def put(key: str, content: bytes) -> None:
    with store().open_output_stream(f"{BUCKET}/{key}", compression=None) as file:
        file.write(content)


def get(key: str) -> bytes:
    with store().open_input_stream(f"{BUCKET}/{key}", compression=None) as file:
        return file.read()


def files_of(folder: Path) -> dict[str, bytes]:
    """An artefact's files, without its manifest and caches."""
    named = json.loads((folder / "manifest.json").read_bytes())["files"]
    return {name: (folder / name).read_bytes() for name in named}


def at_a_new_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str = "other-home") -> Path:
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / name))
    return tmp_path / name


def test_what_is_made_in_a_store_has_the_bytes_of_what_is_made_here(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    here = pb.debias(tmp_path / "squad", out=tmp_path / "rotated")
    pb.import_planted(planted=PLANTED, out=SQUAD)
    home = at_a_new_home(monkeypatch, tmp_path)
    there = pb.debias(SQUAD, out=ROTATED)
    assert files_of(there.path) == files_of(here.path)
    at_a_new_home(monkeypatch, tmp_path, "third-home")
    assert files_of(Collection(ROTATED).path) == files_of(here.path)
    manifest = get("data/rotated/manifest.json").decode()
    assert SQUAD in manifest
    assert str(home) not in manifest
    assert "hidden" not in manifest


def test_a_store_holds_the_files_under_their_digests_and_last_the_manifest(shelf: Door) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    manifest = json.loads(get("data/squad/manifest.json"))
    (content,) = {key.split("/")[2] for key in keys("data/squad") if key.count("/") > 2}
    sizes = {name: seal["bytes"] for name, seal in manifest["files"].items()}
    within = {key.removeprefix(f"data/squad/{content}/"): size for key, size in keys(f"data/squad/{content}").items()}
    assert within.pop("manifest.json") == len(get("data/squad/manifest.json"))
    assert within == sizes
    puts = [request.path.partition("?")[0] for request in shelf.seen if request.method == "PUT"]
    assert puts[-1].endswith("/data/squad/manifest.json")


def test_a_copy_is_brought_once_and_again_when_the_artefact_was_replaced(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    Collection(SQUAD)
    assert shelf.count("GET", ".arrow") == 0  # what was made here is the copy
    at_a_new_home(monkeypatch, tmp_path)
    first = Collection(SQUAD).checksum
    assert (brought := shelf.count("GET", ".arrow")) > 0
    Collection(SQUAD)
    assert shelf.count("GET", ".arrow") == brought
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "third-home"))
    old = set(keys())
    second = pb.import_planted(planted=PlantedSettings(queries=60, passages=180), out=SQUAD, overwrite=True).checksum
    assert old & set(keys()) == {"data/squad/manifest.json"}  # the former files are gone
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path / "other-home"))
    assert Collection(SQUAD).checksum == second != first


def test_an_artefact_that_another_tool_has_copied_is_read(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    retrieve_run(made, Retrieval("test", 6), Bm25Settings(), tmp_path / "top.run")
    for path in [*(tmp_path / "squad").rglob("*"), tmp_path / "top.run", tmp_path / "top.run.manifest.json"]:
        if path.is_file() and "cache" not in path.parts:
            put(f"copied/{path.relative_to(tmp_path)}", path.read_bytes())
    assert Collection(f"s3://{BUCKET}/copied/squad").checksum == made.checksum
    assert Run.from_file(f"s3://{BUCKET}/copied/top.run").to_dict() == Run.from_file(tmp_path / "top.run").to_dict()
    # and replaced by one of ours
    pb.debias(made, out=f"s3://{BUCKET}/copied/squad", overwrite=True)
    assert not [key for key in keys("copied/squad") if key.startswith("copied/squad/passages")]


def test_runs_and_files_without_a_manifest_go_both_ways(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    pb.retrieve(made, wanted=Retrieval("test", 6), out=f"s3://{BUCKET}/top.run")
    assert {key.split("/")[0] for key in keys()} == {"top.run", "top.run.manifest.json"}
    run = Run.from_file(f"s3://{BUCKET}/top.run")
    run.save(f"s3://{BUCKET}/saved.run.gz")
    assert Run.from_file(f"s3://{BUCKET}/saved.run.gz").to_dict() == run.to_dict()
    with pytest.raises(OutputExistsError, match=rf"^s3://{BUCKET}/saved.run.gz: wanted a new address"):
        run.save(f"s3://{BUCKET}/saved.run.gz")
    found = pb.evaluate([f"s3://{BUCKET}/top.run"], collection=made, out=f"s3://{BUCKET}/measured")
    assert pb.load(f"s3://{BUCKET}/measured").to_frame().equals(found.to_frame())


def test_a_release_is_imported_from_a_store(shelf: Door, tmp_path: Path) -> None:
    text = "The lamp burns green oil."
    answers = [{"text": "green oil", "answer_start": 15}]
    paragraphs = [{"context": text, "qas": [{"id": "q1", "question": "What burns?", "answers": answers}]}]
    release = {"version": "1.1", "data": [{"title": "Lamps", "paragraphs": paragraphs}]}
    put("releases/dev.json", json.dumps(release).encode())
    (tmp_path / "dev.json").write_text(json.dumps(release))
    made = pb.import_squad(test=f"s3://{BUCKET}/releases/dev.json", out=SQUAD)
    assert files_of(made.path) == files_of(pb.import_squad(test=tmp_path / "dev.json", out=tmp_path / "squad").path)
    assert f"s3://{BUCKET}/releases/dev.json" in get("data/squad/manifest.json").decode()


def test_a_raw_file_is_rotated_from_one_address_to_another(shelf: Door, tmp_path: Path) -> None:
    put("raw.tsv", content := b"p1\tThe lamp of Orvell burns green oil.\np2\tA stone bridge joins both banks.\n")
    (tmp_path / "raw.tsv").write_bytes(content)
    pb.debias(f"s3://{BUCKET}/raw.tsv", out=f"s3://{BUCKET}/rotated.tsv.gz")
    pb.debias(tmp_path / "raw.tsv", out=tmp_path / "rotated.tsv.gz")
    assert input_place(f"s3://{BUCKET}/rotated.tsv.gz").read_bytes() == (tmp_path / "rotated.tsv.gz").read_bytes()


# -- faults --------------------------------------------------------------------------------------------------------------


def first(count: int, fault: Fault, method: str, part: str) -> Callable[[Request], Fault]:
    """The fault at the first so many requests of this method that have ``part`` in their path."""
    met: list[Request] = []

    def choose(request: Request) -> Fault:
        if request.method == method and part in request.path and len(met) < count:
            met.append(request)
            return fault
        return None

    return choose


@pytest.mark.parametrize("fault", [Busy(), Cut(), Cut(0.99), Late(2)], ids=repr)
def test_a_read_that_fails_twice_is_tried_again(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    made = files_of(pb.import_planted(planted=PLANTED, out=SQUAD).path)
    at_a_new_home(monkeypatch, tmp_path)
    shelf.fault = first(2, fault, "GET", ".arrow")
    assert files_of(Collection(SQUAD).path) == made


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (Busy(), "a busy store"),
        (Cut(), "no answer (Transferred a partial file)"),
        (Late(2), "no answer (Timeout was reached)"),
        (Denied(), "no permission (ACCESS_DENIED)"),
    ],
    ids=repr,
)
def test_a_read_that_keeps_failing_is_told_and_goes_on_later(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault, found: str
) -> None:
    made = files_of(pb.import_planted(planted=PLANTED, out=SQUAD).path)
    home = at_a_new_home(monkeypatch, tmp_path)
    shelf.fault = lambda request: fault if request.method == "GET" and "qrels" in request.path else None
    with pytest.raises(StorageError) as failed:
        pb.debias(SQUAD, out=tmp_path / "rotated")
    assert str(failed.value).startswith(f"{SQUAD}: wanted an answer of the store; found: {found}")
    assert "hidden" not in str(failed.value)
    assert not list(home.glob(".stores/*/squad"))
    assert not (tmp_path / "rotated").exists()
    shelf.fault = lambda request: None
    before = shelf.count("GET", ".arrow")
    assert files_of(Collection(SQUAD).path) == made
    assert shelf.count("GET", ".arrow") == before  # kept from the first try
    assert shelf.count("GET", "qrels") > 0


def test_other_bytes_are_found(shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    home = at_a_new_home(monkeypatch, tmp_path)
    shelf.fault = lambda request: Other() if request.method == "GET" and ".arrow" in request.path else None
    with pytest.raises(InputError, match=rf"^{SQUAD}, passages/00000.arrow: .* found other bytes in the MiB from byte 0 on"):
        Collection(SQUAD)
    assert not list(home.glob(".stores/*/squad"))


@pytest.mark.parametrize(("told", "gone"), [("NO_SUCH_KEY", True), ("RESOURCE_NOT_FOUND", True), ("NO_SUCH_BUCKET", False)])
def test_which_errors_say_that_a_file_is_gone(told: str, gone: bool) -> None:
    """A store may answer 404 with its own code or without a body, as where another run removes what it has replaced."""
    assert stores.is_gone(OSError(f"AWS Error {told} during GetObject operation: ")) == gone
    assert stores.is_gone(FileNotFoundError("x"))


def test_a_file_that_is_gone_is_found(shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    (shard,) = [key for key in keys() if key.endswith(".arrow")]
    store().delete_file(f"{BUCKET}/{shard}")
    at_a_new_home(monkeypatch, tmp_path)
    with pytest.raises(
        InputError, match=rf"^{SQUAD}, passages/00000.arrow: wanted [\d,]+ bytes, as its manifest says; found none"
    ):
        Collection(SQUAD)


def test_an_artefact_that_is_replaced_while_it_is_read_is_told(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    pb.debias(made, out=SQUAD, rotation=Rotation(seed=2))
    at_a_new_home(monkeypatch, tmp_path)
    monkeypatch.setattr(stores, "SECONDS_TO_ANSWER", 60)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "8")  # moto may answer 500 while keys come and go
    stores._amazon.cache_clear()
    other = f"import positionbias as pb; pb.debias({str(made.path)!r}, out={SQUAD!r}, overwrite=True)"

    def replace(request: Request) -> Fault:
        if request.method == "GET" and ".arrow" in request.path:
            shelf.fault = lambda request: None
            environment = {**os.environ, "POSBIAS_HOME": str(tmp_path / "third-home")}
            subprocess.run([sys.executable, "-c", other], check=True, env=environment)
        return None

    shelf.fault = replace
    with pytest.raises(
        InputError, match=rf"^{SQUAD}: wanted content that stays as it is; found one that changed while it was read"
    ):
        Collection(SQUAD)
    assert Collection(SQUAD).manifest.seed == 1


def test_an_upload_that_fails_leaves_no_artefact_and_goes_on(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    shelf.fault = lambda request: Busy() if request.method in ("PUT", "POST") and "qrels" in request.path else None
    with pytest.raises(StorageError, match=rf"^{ROTATED}: wanted an answer of the store; found: a busy store"):
        pb.debias(made, out=ROTATED)
    assert "data/rotated/manifest.json" not in keys()
    with pytest.raises(InputError, match="found none"):
        Collection(ROTATED)
    shelf.fault = lambda request: None
    before = shelf.count("PUT", ".arrow")
    there = pb.debias(made, out=ROTATED)
    assert shelf.count("PUT", ".arrow") == before == 1  # kept from the first try
    assert files_of(there.path) == files_of(pb.debias(made, out=tmp_path / "rotated").path)


def test_a_store_that_is_killed_meanwhile_holds_no_artefact_and_the_same_again_goes_on(shelf: Door, tmp_path: Path) -> None:
    """From the first judgements on no request is answered."""
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    shelf.fault = lambda request: Gone() if shelf.count("PUT", "qrels") else None
    with pytest.raises(StorageError, match=rf"^{ROTATED}: wanted an answer of the store; found: no answer"):
        pb.debias(made, out=ROTATED)
    shelf.fault = lambda request: None
    assert "data/rotated/manifest.json" not in keys()
    there = pb.debias(made, out=ROTATED)
    assert files_of(there.path) == files_of(pb.debias(made, out=tmp_path / "rotated").path)
    assert len({key.split("/")[2] for key in keys("data/rotated")}) == 2  # the manifest and one folder


def test_what_an_upload_left_is_removed_by_one_of_other_content(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    shelf.fault = lambda request: Busy() if request.method in ("PUT", "POST") and "qrels" in request.path else None
    with pytest.raises(StorageError):
        pb.debias(made, out=ROTATED)
    left = set(keys())
    assert left
    shelf.fault = lambda request: None
    pb.debias(made, out=ROTATED, rotation=Rotation(seed=2))
    assert not left & set(keys())


def test_two_commands_that_send_to_one_address_leave_one_whole_artefact(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad").path
    other = pb.debias(made, out=tmp_path / "rotated").path
    address = stores.address_of(SQUAD)
    assert address is not None
    sending, others = store_uploads._send_files, []

    def send(folder: Path) -> None:
        store_uploads.send(address, folder, folder / "manifest.json", overwrite=True)

    def and_another_begins(*given: Any) -> None:
        sending(*given)
        if not others:  # the other one has no time to end where it must wait
            others.append(Thread(target=send, args=(other,)))
            others[0].start()
            others[0].join(2)

    monkeypatch.setattr(store_uploads, "_send_files", and_another_begins)
    send(made)
    others[0].join()
    at_a_new_home(monkeypatch, tmp_path)
    assert files_of(Collection(SQUAD).path) == files_of(other)


def put_as_it_is(url: str, key: str, content: bytes) -> None:
    """Put a key that clients would not."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("PUT", f"/{BUCKET}/{key}", content, headers={"Authorization": AS_S3})
    assert connection.getresponse().status == 200
    connection.close()


def test_a_key_that_leads_out_of_the_copy_touches_nothing(shelf: Door, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = at_a_new_home(monkeypatch, tmp_path)
    home.mkdir()
    (home / "mine.txt").write_bytes(b"precious")
    put("notes/ok.txt", b"ok")
    put_as_it_is(shelf.url, "notes/../../../../mine.txt", b"evil")
    with pytest.raises(InputError, match="wanted files within the artefact; found '../../../../mine.txt'"):
        input_place(f"s3://{BUCKET}/notes")
    assert (home / "mine.txt").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("name", "seal", "found"),
    [
        ("cache/index", {"bytes": 0, "digest": ""}, "'cache/index'"),
        ("../mine.txt", {"bytes": 0, "digest": ""}, "'../mine.txt'"),
        ("a\0b", {"bytes": 0, "digest": ""}, r"'a\\x00b'"),
        ("a", {"bytes": 1.0, "digest": "0" * 16}, "16 digits of digests for 1.0 bytes"),
    ],
)
def test_a_manifest_of_an_enemy_is_refused(shelf: Door, name: str, seal: dict, found: str) -> None:
    record = signed({"kind": "collection", "format_version": 1, "files": {name: seal}})
    put("notes/manifest.json", json.dumps(record).encode())
    with pytest.raises(InputError, match=f"^s3://{BUCKET}/notes: wanted .*{found}"):
        input_place(f"s3://{BUCKET}/notes")


def test_nothing_is_replaced_unasked_and_nothing_of_others(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    pb.debias(made, out=ROTATED)
    before = {key: get(key) for key in keys()}
    with pytest.raises(OutputExistsError, match=rf"^{ROTATED}: wanted a new address to write to; found something there"):
        pb.debias(made, out=ROTATED, rotation=Rotation(seed=2))
    with pytest.raises(OutputExistsError, match=rf"^{ROTATED}: wanted a file to replace; found a folder"):
        Run.from_dict({"q": {"p": 1.0}}).save(ROTATED, overwrite=True)
    put("notes/mine.txt", b"mine")
    with pytest.raises(OutputExistsError, match=r"wanted an artefact of posbias to replace; found other files"):
        pb.debias(made, out=f"s3://{BUCKET}/notes", overwrite=True)
    put("strange/manifest.json", b'{"name": "somebody else\'s"}')
    with pytest.raises(OutputExistsError, match=r"wanted an artefact of posbias to replace; found other files"):
        pb.debias(made, out=f"s3://{BUCKET}/strange", overwrite=True)
    assert {key: get(key) for key in keys("data")} == before
    assert get("notes/mine.txt") == b"mine"


def test_a_reader_sees_the_former_artefact_until_the_new_manifest_is_there(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    pb.debias(made, out=ROTATED)
    former = get("data/rotated/manifest.json")
    files = {key: size for key, size in keys("data/rotated").items() if key.count("/") > 2}
    shelf.fault = lambda request: (
        Busy() if request.method == "PUT" and request.path.endswith("/data/rotated/manifest.json") else None
    )
    with pytest.raises(StorageError, match="a busy store"):
        pb.debias(made, out=ROTATED, rotation=Rotation(seed=2), overwrite=True)
    assert get("data/rotated/manifest.json") == former
    assert files.items() <= keys("data/rotated").items()


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("s3://no-such-bucket/squad", "found: no such bucket; check its name, the region and the endpoint"),
        (f"s3://{BUCKET}/nothing", "wanted a collection (a folder, or a name under"),
        (f"s3://{BUCKET}/data", "found none; make one with: posbias import planted"),
    ],
)
def test_what_is_not_there_is_told(shelf: Door, place: str, found: str) -> None:
    put("data/some/file.txt", b"1")
    with pytest.raises(PositionBiasError) as told:
        pb.debias(place, out="rotated")
    assert str(told.value).startswith(f"{place}: wanted")
    assert found in str(told.value)
    assert shelf.count("GET", "file.txt") == 0


def test_a_folder_of_artefacts_is_not_brought(shelf: Door) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    with pytest.raises(InputError, match=rf"artefacts under it, as squad; give one of them, as {SQUAD}"):
        input_place(f"s3://{BUCKET}/data")
    with pytest.raises(InputError, match="wanted a folder of this machine; found an address in a store"):
        pb.list_artefacts(f"s3://{BUCKET}/data")


def test_too_small_a_disk_is_told_before_anything_is_brought(
    shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pb.import_planted(planted=PLANTED, out=SQUAD)
    at_a_new_home(monkeypatch, tmp_path)
    monkeypatch.setattr(store_copies.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(StorageError, match=rf"^{SQUAD}: wanted 0.00 GB for a local copy; found 0.00 GB free; free some space"):
        Collection(SQUAD)
    assert shelf.count("GET", ".arrow") == 0


def test_a_study_stays_on_this_machine() -> None:
    from positionbias.ops.studies import _folder

    with pytest.raises(SettingError, match="--out: wanted a folder of this machine for the study"):
        _folder(output_place(f"s3://{BUCKET}/study"))


# -- killed ----------------------------------------------------------------------------------------------------------------


def killed_at(shelf: Door, code: str, method: str, part: str) -> None:
    """Run ``code`` in another process, and kill it at its second request of this kind."""
    shelf.fault = lambda request: Late(30) if request.method == method and part in request.path else None
    before = shelf.count(method, part)
    process = subprocess.Popen([sys.executable, "-c", f"import positionbias as pb\n{code}"])
    until = time.monotonic() + 60
    while shelf.count(method, part) == before and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)  # the other requests are answered meanwhile
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    shelf.fault = lambda request: None


def test_a_killed_upload_goes_on(shelf: Door, tmp_path: Path) -> None:
    made = pb.import_planted(planted=PLANTED, out=tmp_path / "squad")
    killed_at(shelf, f"pb.debias({str(made.path)!r}, out={ROTATED!r})", "PUT", "qrels")
    assert "data/rotated/manifest.json" not in keys()
    before = shelf.count("PUT", ".arrow")
    there = pb.debias(made, out=ROTATED)
    assert shelf.count("PUT", ".arrow") == before
    assert files_of(there.path) == files_of(pb.debias(made, out=tmp_path / "rotated").path)
    assert len({key.split("/")[2] for key in keys("data/rotated")}) == 2  # the manifest and one folder


def test_a_killed_download_goes_on(shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = files_of(pb.import_planted(planted=PLANTED, out=SQUAD).path)
    home = at_a_new_home(monkeypatch, tmp_path)
    killed_at(shelf, f"pb.Collection({SQUAD!r})", "GET", "qrels")
    assert not list(home.glob(".stores/*/squad"))
    before = shelf.count("GET", ".arrow")
    assert files_of(Collection(SQUAD).path) == made
    assert shelf.count("GET", ".arrow") == before > 0


def test_a_key_does_not_lead_out_of_the_copy(shelf: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = at_a_new_home(monkeypatch, tmp_path)
    with pytest.raises(InputError, match=r"wanted files within the artefact; found 'a/\.\./\.\./\.\./outside'"):
        store_copies.check_names("x", ["a/../../../outside"])
    monkeypatch.setattr(
        store_copies,
        "look",
        lambda address: store_copies.Stored(
            b"", False, "0" * 32, (store_copies._Remote("../../../outside", f"{address.key}/../../../outside", 3),)
        ),
    )
    with pytest.raises(InputError, match="wanted files within the artefact"):
        input_place(f"s3://{BUCKET}/plain")
    assert not list(tmp_path.rglob("outside"))
    assert home.exists()
