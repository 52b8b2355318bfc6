"""A command as a user runs it, in this process."""

from __future__ import annotations

import pytest

from positionbias.cli.main import main


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; its exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return int(stop.value.code or 0), output.out, output.err
