"""Packages that a checkpoint's settings can name, each of which notes that it was called; and what
it takes to load folders beside them.

Run as a program: loads each folder of a JSON list of (folder, kind), and writes a JSON list of
(error or "", calls).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# a name that is asked for is a class, and a function is what transformers wraps its own classes in
_PACKAGE = """
import os

def note(what):
    with open(os.environ["CALLS"], "a") as file:
        file.write(what + "\\n")

note(__name__ + " imported")

def wrap(*names, **_):
    return lambda thing: thing

use_kernel_forward_from_hub = use_kernelized_func = replace_kernel_forward_from_hub = wrap

class Noted:
    def __init__(self, *args, **kwargs):
        note(f"{type(self).__module__} made with {args} {kwargs}")

    def __getattr__(self, name):
        return Noted

    def __call__(self, *args, **kwargs):
        note("called")

    @classmethod
    def load(cls, *args, **kwargs):
        note("loaded")

    from_pretrained = from_file = load

def get_kernel(*args, **kwargs):
    note(f"kernel {args}")
    raise RuntimeError("no such kernel")

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Noted
"""
_PACKAGES = {
    "kernels": "0.18.2",
    "peft": "0.18.0",
    "evil": "1.0",
    "pylate": "1.3",
    "gptqmodel": "5.0",
}


def load_beside_them(
    models: Sequence[tuple[Path, str | None]], folder: Path
) -> list[tuple[str, list[str]]]:
    """What loading each model said, and which calls the packages noted; in a process of its own, as
    packages are looked for once.
    """
    site = folder / "site"
    for name, version in _PACKAGES.items():
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(_PACKAGE)
        about = site / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
    path = os.pathsep.join(
        [str(site), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, str(Path(__file__))],
        input=json.dumps([(str(place), kind) for place, kind in models]),
        env={
            **os.environ,
            "PYTHONPATH": path,
            "CALLS": str(folder / "calls"),
            "HF_HUB_OFFLINE": "1",
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [tuple(item) for item in json.loads(done.stdout.splitlines()[-1])]


def _main() -> None:
    import sentence_transformers  # noqa: F401  # imports what it finds for itself
    import transformers.utils

    # who asks imports them from there
    for name in ("is_torch_cuda_available", "is_cuda_platform", "is_ninja_available"):
        setattr(transformers.utils, name, lambda: True)

    from positionbias.models.checkpoint import load_checkpoint

    calls, out = Path(os.environ["CALLS"]), []
    for place, kind in json.load(sys.stdin):
        calls.write_text("")
        try:
            load_checkpoint(place, kind)
            said = ""
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        out.append((said, calls.read_text().splitlines()))
    sys.stdout.write(f"{json.dumps(out)}\n")


if __name__ == "__main__":
    _main()
