"""Shell completion: a script for each shell, and what it asks posbias for."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from positionbias.cli.groups import sources
from positionbias.cli.main import COMMANDS

from .conftest import POSBIAS, RunPosbias


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(run_posbias: RunPosbias, shell: str) -> None:
    done = run_posbias("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_POSBIAS_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("posbias collection sh", {"show"}),
        ("posbias ", set(COMMANDS)),
        ("posbias import ", set(sources())),
        ("posbias import squad --val", {"--validation-queries"}),
        ("posbias train bert", {"bert_cat", "bert_dot"}),
        ("posbias completion z", {"zsh"}),
        ("posbias collection show ./pl", {"./pl"}),  # which the shell completes as a path
        ("posbias debias planted --words b", {"blingfire"}),
        ("posbias audit planted --set need", {"needles="}),
        ("posbias retrieve planted --out x", {"x"}),
    ],
)
def test_what_bash_asks_is_answered(
    run_posbias: RunPosbias, words: str, expected: set[str]
) -> None:
    position = str(len(words.split(" ")) - 1)
    done = run_posbias(_POSBIAS_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=position)
    assert done.returncode == 0
    assert {line.split(",")[1] for line in done.stdout.split()} == expected


def test_completion_works_in_a_real_bash(run_posbias: RunPosbias, tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("there is no bash on the path")
    command = tmp_path / "posbias"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(POSBIAS)} "$@"\n')
    command.chmod(0o755)
    script = run_posbias("completion", "bash").stdout
    code = (
        f"{script}\nCOMP_WORDS=(posbias hist)\nCOMP_CWORD=1\n_posbias_completion {command}\necho "
        f'"${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "histogram\n"
