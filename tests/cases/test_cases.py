"""Inputs on which results were silently wrong, each after a public report.

A case is a folder: its inputs, ``cmd`` (a shell script that finds the command in ``$POSBIAS`` and
Python in ``$PY``) and ``expected.txt``, which says what it should do and why. ``CASES`` has what
its output must hold and must not hold.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from tests import forked

HERE = Path(__file__).parent
CLIENT = HERE / "posbias_client.py"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the cases are shell scripts")


class Case(NamedTuple):
    """What the output holds, ``lines`` in this order, and nothing of ``never``; ``shared`` names a
    folder of inputs.
    """

    lines: tuple[str, ...]
    never: tuple[str, ...] = ()
    shared: str = ""


CASES: dict[str, Case] = {
    "beir_query_is_a_passage": Case((r"3 of 3 queries", r"bm25 +0\.6309", r"bm25 +1\.0000")),
    "chat_numbers_before_the_order": Case(
        (r"chat:brackets +1\.0000", r"chat:preamble +1\.0000"), shared="kinds"
    ),
    "chat_unreadable_passes_check": Case(
        (
            r"== json-front\nexit 1",
            r"== refuses\nexit [23]",
            r"cannot tell",
            r"chat:json +1\.0000",
        ),
        never=(r"prefers the first places", r"no preference:"),
        shared="kinds",
    ),
    "chinese_near_copies": Case((r"^50 of 50 passages of test",)),
    "class_label_zero_is_relevant": Case((r"entailment",), never=(r"bm25 +0\.0000",)),
    "compat_measure": Case((r"^sys +0\.6599 +0\.8685",)),
    "decoder_with_a_score_head": Case((r"^exit 0",), shared="otters"),
    "endpoint_at_most_ten_texts": Case((r"^exit 0",), shared="otters"),
    "endpoint_request_bytes_and_text_length": Case(
        (r"^exit 0", r"'long'.*too long", r"^exit 2"), shared="otters"
    ),
    "endpoint_zero_vectors": Case(
        (r"^exit [23]", r"^exit 2"), never=(r"\bpass\b", r"Q0"), shared="otters"
    ),
    "lower_case_text_has_no_sentences": Case((r"scorer:front prefers the front", r"^exit 0")),
    "msmarco_docs_windows": Case(
        (r"\['http://a Cats Cats sit here all day\.', ",), never=(r"\\r",)
    ),
    "msmarco_windows_line_ends": Case(
        (
            r"qidpidtriples\.train\.full, 3",
            r"^c 'The cat sat by the lake\.'",
            r"^0\^Isat by the lake\. The cat ?\^M\$",
        ),
        never=(r"\\r",),
    ),
    "passage_prompt_depends_on_pooling": Case(
        (r"^mean without 0\.0$", r"^last without 0\.0$"), shared="otters"
    ),
    "quoted_tsv": Case((r"""\['He said "hello there" and left\.'""", r"Unmatched +0")),
    "squad_start_null_or_missing": Case((r"^exit 0", r"^exit 0")),
    "squad_starts_unknown": Case((r"^exit 0", r"t, test: answers start nearer the end")),
    "stray_manifest": Case(
        (
            r"^verify: exit [12]",
            r"in the folder: exit [12]",
            r"^export: exit 2, damaged lines written: 0",
        )
    ),
    "thai_positions": Case(
        (r"0\.8\d", r"0 of the 100 test queries|^posbias: "),
        never=(r"start where unbiased", r"inside: 100"),
    ),
    "tokenizer_cuts_on_the_left": Case(
        (r"^right .* 0\.0$", r"^left .* 0\.0$", r"loses what stands before"), shared="kinds"
    ),
    "trec_topics_051": Case((r"^exit 0",)),
    "two_studies": Case((r"^second: exit 2", r"^first: exit 0")),
}


SCRIPT = """import runpy, sys, warnings
warnings.simplefilter("default")
del sys.argv[0]
sys.path.insert(0, "")
runpy.run_path(sys.argv[0], run_name="__main__")"""
PYTHON = """#!/bin/sh
case "$1" in
    server.py|-*) exec "{python}" "$@" ;;
    *) exec "{client}" --script "$@" ;;
esac
"""


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        request = json.loads(self.rfile.readline())
        arguments, environment = (
            request["arguments"],
            {**request["environment"], "PYTHONWARNINGS": "error"},
        )
        code = forked.POSBIAS
        if arguments[0] == "--script":
            code, arguments = SCRIPT, arguments[1:]
        done = forked.forked(arguments, Path(request["cwd"]), environment, code)
        self.wfile.write(json.dumps([done.stdout, done.stderr, done.returncode]).encode() + b"\n")


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Variables with which a script finds ``$POSBIAS`` and ``$PY``; commands run one at a time, in
    forks.
    """
    with TemporaryDirectory() as folder:
        posbias, python = Path(folder, "posbias"), Path(folder, "python")
        posbias.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{CLIENT}" "$@"\n')
        python.write_text(PYTHON.format(python=sys.executable, client=posbias))
        for place in (posbias, python):
            place.chmod(0o755)
        with socketserver.UnixStreamServer(f"{folder}/socket", _Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield {"POSBIAS": str(posbias), "PY": str(python), "POSBIAS_SOCKET": f"{folder}/socket"}
            server.shutdown()


def test_every_case_is_expected() -> None:
    assert sorted(CASES) == sorted(place.parent.name for place in HERE.glob("*/cmd"))


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    case = CASES[name]
    for folder in (HERE / name, *([HERE / "shared" / case.shared] if case.shared else [])):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for helper in (HERE / "shared").glob("*.py"):
        shutil.copy(helper, tmp_path)
    home = {
        "POSBIAS_HOME": str(tmp_path / "home"),
        "COLUMNS": "150",
        "NO_COLOR": "1",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        ["bash", "./cmd"],
        cwd=tmp_path,
        env={**os.environ, **environment, **home},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    rest = done.stdout
    for line in case.lines:
        match = re.search(line, rest, re.MULTILINE)
        assert match, f"no {line!r} in:\n{done.stdout}"
        rest = rest[match.end() :]
    for pattern in case.never:
        assert not re.search(pattern, done.stdout, re.MULTILINE), f"{pattern!r} in:\n{done.stdout}"
