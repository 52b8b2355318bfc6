"""Addresses of object stores, and paths that are their local copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from positionbias.core.errors import InputError, SettingError, StorageError
from positionbias.core.manifest import input_ref
from positionbias.core.places import input_place, output_place, pasted, refuse_inputs, replaced_file
from positionbias.core.stores import (
    Address,
    address_at,
    address_of,
    copy_of,
    copy_tokens,
    missing_copies,
    stored_at,
    told_by_address,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("s3://shelf/data/squad", Address("s3", "shelf/data/squad")),
        ("s3://shelf/data/squad/", Address("s3", "shelf/data/squad")),
        ("gs://shelf/squad", Address("gs", "shelf/squad")),
        ("S3://shelf/squad", Address("s3", "shelf/squad")),
        ("s3://anonymous@shelf/squad", Address("s3", "shelf/squad", anonymous=True)),
        ("s3://shelf/a@b", Address("s3", "shelf/a@b")),
        (
            "s3://shelf/squad?endpoint_override=localhost:9000&scheme=http",
            Address("s3", "shelf/squad", options=(("endpoint_override", "localhost:9000"), ("scheme", "http"))),
        ),
        ("squad", None),
        ("s3", None),
        ("data/s3/squad", None),
        ("https://example.org/v1", None),
        ("file:///data/squad", None),
        (5, None),
    ],
)
def test_an_address_is_read_from_its_text(text: object, address: Address | None) -> None:
    assert address_of(text) == address


def test_an_address_is_read_from_its_own_text_and_from_a_path() -> None:
    for text in ("s3://shelf/data/squad", "s3://anonymous@shelf/squad?endpoint_override=localhost:9000&scheme=http"):
        assert str(address_of(text)) == text
        assert address_of(Path(text)) == address_of(text)  # which has one slash less


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3://AKIA:hidden@shelf/squad", "credentials in an address"),
        ("s3://shelf/squad?secret_key=hidden", "'secret_key'"),
        ("s3://AKIA:hid/den@shelf/squad", "credentials in an address"),
        ("s3://AKIA:hidden/shelf/squad", "credentials in an address"),
        ("s3://shelf/squad?endpoint_override=AKIA:hidden@localhost:9000", "credentials in an address"),
        ("s3://shelf/data/.state", "a name that begins with a dot"),
        ("s3://shelf/da\nta", "control characters"),
        ("s3://shelf", "no such form"),
        ("s3://shelf/a/../b", "no such form"),
        ("s3://shelf//b", "no such form"),
    ],
)
def test_a_wrong_address_is_refused_and_no_secret_repeated(text: str, found: str) -> None:
    with pytest.raises(InputError, match=r"^s3://.*; .*; .*") as refused:
        address_of(text)
    assert found in str(refused.value)
    assert "hidden" not in str(refused.value)
    assert "AKIA" not in str(refused.value)
    assert "hid/den" not in str(refused.value)


@pytest.mark.parametrize("text", ["s3a://shelf/squad", "abfss://shelf@account/squad", "hdfs://host/squad"])
def test_another_tool_s_address_is_no_path(text: str) -> None:
    with pytest.raises(InputError, match="wanted s3:// or gs://"):
        output_place(text)


def test_a_file_address_is_an_ordinary_path(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    assert input_place(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert output_place(f"file://{tmp_path}/new") == tmp_path / "new"
    with pytest.raises(InputError, match="found the host 'far'"):
        input_place("file://far/data")


def test_a_copy_knows_its_address(posbias_home: Path, tmp_path: Path) -> None:
    address = Address("s3", "shelf/data/squad")
    copy = copy_of(address)
    assert copy.name == "squad"
    assert copy.parent.parent == posbias_home / ".stores"
    assert copy == copy_of(address)
    assert copy != copy_of(Address("s3", "shelf/other/squad"))
    assert address_at(copy) == address
    assert address_at(copy / "passages" / "00000.arrow") == Address("s3", "shelf/data/squad/passages/00000.arrow")
    assert address_at(copy.with_name(".squad.work")) is None
    assert address_at(tmp_path) is None
    assert pasted(copy) == "s3://shelf/data/squad"


def test_only_a_whole_copy_is_published_to_the_store() -> None:
    copy = copy_of(address := Address("s3", "shelf/data/squad"))
    assert stored_at(copy) == address
    assert stored_at(copy / "cache" / "index") is None
    assert stored_at(copy.with_name(".squad.work") / "content" / "manifest.json") is None
    with pytest.raises(StorageError, match=r"^s3://shelf/data/squad: .* written in parts \(runs/top.run\); give a local --out"):
        stored_at(copy / "runs" / "top.run")


def test_messages_and_manifests_name_addresses(tmp_path: Path) -> None:
    copy = copy_of(Address("s3", "shelf/data/squad"))
    other = copy_of(Address("s3", "shelf/data/rotated"))
    told = told_by_address(InputError(f"{copy / 'manifest.json'}: wanted a file; found none; make it"))
    assert str(told) == "s3://shelf/data/squad/manifest.json: wanted a file; found none; make it"
    assert isinstance(told, InputError)
    assert input_ref("collection", copy, "1", artefact=other).path == "s3://shelf/data/squad"
    assert input_ref("collection", copy, "1", artefact=tmp_path / "rotated").path == "s3://shelf/data/squad"
    assert input_ref("runs", tmp_path / "top.run", "1", artefact=other).path == "top.run"  # no path of this machine


@pytest.mark.parametrize(
    ("out", "read"),
    [
        ("s3://shelf/squad", "s3://shelf/squad"),
        ("s3://shelf/squad/rotated", "s3://shelf/squad"),
        ("s3://shelf/squad", "s3://shelf/squad/dev.json"),
        ("s3://shelf/squad", "s3://shelf/squad:test"),
        ("s3://shelf/squad", "old=s3://shelf/squad"),
    ],
)
def test_an_output_is_no_input(out: str, read: str) -> None:
    with pytest.raises(SettingError, match="--out: wanted an address apart from what is read; found s3://"):
        refuse_inputs({"--out": out}, [read])


def test_other_outputs_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3").mkdir()  # what stands before the last colon of an address is no path
    refuse_inputs({"--out": "s3/new"}, ["s3://shelf/squad"])
    refuse_inputs({"--out": "s3://shelf/squad-rotated"}, ["s3://shelf/squad"])
    refuse_inputs({"--out": "new"}, ["s3://shelf/squad"])


def test_a_file_that_is_replaced_is_on_this_machine() -> None:
    with pytest.raises(SettingError, match="--log: wanted a file on this machine; found an address in a store"):
        replaced_file("--log", "s3://shelf/log.txt")


def test_another_machine_tells_which_copies_it_does_not_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copy_of(address := Address("s3", "shelf/data/squad"))
    tokens = copy_tokens()
    assert str(address) not in missing_copies(tokens)  # the same file system
    os.rename(copy.parent / ".address", tmp_path / "elsewhere")
    assert str(address) in missing_copies(tokens)
    (copy.parent / ".address").write_text(f"{address}\nmade by another machine\n")
    assert str(address) in missing_copies(tokens)
