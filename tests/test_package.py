"""What is published: the source distribution is whole, a wheel comes of it, and the page on an
index has no relative address.
"""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from runpy import run_path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".*_cache", ".hypothesis", ".venv", "__pycache__", "build", "dist", "*.egg-info"
)
BUILD = (
    "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
)
RELATIVE = re.compile(r"\]\((?!https?://|mailto:)|(?:src|href)=[\"'](?!https?://|#)")


class Built(NamedTuple):
    """The files of the source distribution and of the wheel that was made of it, and the wheel's
    metadata.
    """

    source: set[str]
    wheel: set[str]
    metadata: Message


def build(folder: Path, what: str, out: Path) -> Path:
    subprocess.run(
        [sys.executable, "-c", BUILD, what, str(out)], cwd=folder, check=True, capture_output=True
    )
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Both distributions of this checkout, made without a network."""
    try:
        if int(version("setuptools").partition(".")[0]) < 77:
            pytest.skip("needs setuptools 77 or newer to build")
    except PackageNotFoundError:
        pytest.skip("needs setuptools to build")
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT, folder / "checkout", ignore=LEFT_OUT, symlinks=True)
    with tarfile.open(build(folder / "checkout", "build_sdist", folder / "source")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    with zipfile.ZipFile(build(unpacked, "build_wheel", folder / "wheel")) as archive:
        files = set(archive.namelist())
        (metadata,) = (name for name in files if name.endswith(".dist-info/METADATA"))
        return Built(names, files, email.message_from_bytes(archive.read(metadata)))


def tracked(*folders: str) -> set[str]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.is_file() and not {"__pycache__", "generated"} & set(path.parts)
    }


def test_both_distributions_are_whole(built: Built) -> None:
    package = {
        name
        for name in tracked("positionbias")
        if name.endswith((".py", ".typed", ".csv", ".html", ".css", ".js", ".txt", ".mplstyle"))
    }
    assert package <= built.source
    assert {name for name in built.wheel if ".dist-info/" not in name} == package
    assert tracked("tests", "docs", "figures") - {"tests/.hypothesis"} <= built.source
    assert {
        "README.md",
        "CHANGELOG.md",
        "CITATION.cff",
        "constraints.txt",
        "conftest.py",
        "LICENSE",
        "setup.py",
    } <= built.source
    assert not [name for name in built.source if "__pycache__" in name or name.endswith(".pyc")]


def test_the_metadata_says_where_what_is_needed(built: Built) -> None:
    required = [
        line for line in built.metadata.get_all("Requires-Dist") or [] if "extra ==" not in line
    ]
    assert [line for line in required if line.startswith("blingfire")] == [
        'blingfire>=0.1.8; platform_machine == "x86_64" or platform_machine == "AMD64"'
    ]
    assert built.metadata["Requires-Python"] == ">=3.11"
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(
        built.metadata.get_all("Classifier") or []
    )


def test_the_page_on_an_index_has_no_relative_address(built: Built) -> None:
    page = built.metadata.get_payload()
    assert isinstance(page, str)
    assert page.startswith("# positionbias")
    assert "posbias audit squad --model minilm" in page
    assert [
        page[max(0, found.start() - 40) : found.end() + 40] for found in RELATIVE.finditer(page)
    ] == []


def test_a_known_address_makes_links_and_images_absolute() -> None:
    index_page = run_path(str(ROOT / "setup.py"))["index_page"]
    readme = (
        "# x\n\n![A figure](figures/a.svg)\n\nSee [a page](docs/a.md#b), "
        "[all](https://a.org/b).\n\n<!-- hidden -->\n\nEnd.\n"
    )
    assert index_page(readme) == "# x\n\nSee a page, [all](https://a.org/b).\n\nEnd.\n"
    assert index_page(readme, "https://a.org/x") == (
        "# x\n\n![A figure](https://a.org/x/raw/HEAD/figures/a.svg)\n\n"
        "See [a page](https://a.org/x/blob/HEAD/docs/a.md#b), [all](https://a.org/b).\n\nEnd.\n"
    )
