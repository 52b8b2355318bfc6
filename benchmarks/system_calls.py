"""Every system call of a step failed in turn: ``python benchmarks/system_calls.py``.

A step is a command of posbias in a folder of its own. Its calls that open, write, sync, lock, rename, link, make or remove something there are
counted (``failing_calls.c`` stands before libc's); then, for each of them, it is run again with that call failing once, with it and all later ones
failing, and killed at it. After each the next open must find the artefact as it was before, or the new one whole; a step that ended well must have left
the new one, one that was not killed must have ended well or by refusing, not by an internal error; and the same command must then succeed and leave nothing hidden.
Not failed: reads, and what is written through memory maps.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import hashlib
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from measuring import hardware, result_place

MODES = {"failed once": (1, errno.EIO), "failed from then on": (2, errno.ENOSPC), "killed": (3, 0)}
WORDS = "the of river stone north wheel grain salt copper winter bridge engine".split()
# what stands before, the command, and where its artefact is
STEPS: dict[str, tuple[Iterable[str], str, str]] = {
    "import": ((), "import msmarco release --out ./col", "col"),
    "import, replaced": (("import msmarco older --out ./col",), "import msmarco release --out ./col --overwrite", "col"),
    "retrieve": ((), "retrieve ./base --split train --out ./a.run", "a.run"),
    "retrieve, replaced": (
        ("retrieve ./base --split train --depth 1 --out ./a.run",),
        "retrieve ./base --split train --out ./a.run --overwrite",
        "a.run",
    ),
    "debias of a file, replaced": (
        ("debias older/collection.tsv --format tsv --out ./b.tsv",),
        "debias release/collection.tsv --format tsv --out ./b.tsv --overwrite",
        "b.tsv",
    ),
    "evaluate": ((), "evaluate base.run --collection ./base --split train --out ./found", "found"),
    "evaluate, replaced": (
        ("evaluate base.run --collection ./base --split train --measure RR@10 --out ./found",),
        "evaluate base.run --collection ./base --split train --out ./found --overwrite",
        "found",
    ),
    "train": (
        (),
        "train tk ./base --candidates base.run --validation-split train --validation-candidates base.run --max-steps 2 --save-every 1 --validate-every 1 "
        "--batch-size 4 --threads 1 --dimension 8 --layers 1 --heads 2 --head-size 3 --feed-forward 6 --out ./tk",
        "tk",
    ),
}
FAULTS = ("lost", "internal error", "left behind")
TIMES = "log.jsonl"  # of a checkpoint: how long its steps took


def _release(folder: Path, passages: int) -> None:
    folder.mkdir()
    texts = (" ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 9)) for number in range(passages))
    (folder / "collection.tsv").write_text("".join(f"p{number}\t{text}.\n" for number, text in enumerate(texts)))
    (folder / "queries.train.tsv").write_text("".join(f"q{number}\t{WORDS[number]}\n" for number in range(4)))
    (folder / "qrels.train.tsv").write_text("".join(f"q{number}\t0\tp{number}\t1\n" for number in range(4)))


def run(command: str, folder: Path, before: Callable[[], Any] = lambda: None, after: Callable[[], Any] = lambda: None) -> int:
    """The exit code of a command in a forked child, negative for a signal; ``before`` and ``after`` are called there."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        os.chdir(folder)
        from positionbias.cli.main import main

        before()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                main([*command.split()])
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 70
        after()
    finally:
        os._exit(code)


def state(place: Path) -> str | None:
    """What an artefact is, as the next open finds it; times and machines left out."""
    from positionbias.core.publish import recover

    recover(place)
    if not place.exists():
        return None
    digest = hashlib.sha256()
    beside = place.with_name(f"{place.name}.manifest.json")
    found = (path for path in place.rglob("*") if path.is_file() and "cache" not in path.relative_to(place).parts)
    files = sorted(found) if place.is_dir() else [place, beside]  # a cache names the manifest's digest, and is no artefact
    for path in files:
        if path.name == TIMES:
            continue
        data = path.read_bytes() if path.exists() else b""
        if path.name.endswith("manifest.json") and data:
            record = json.loads(data)
            for changing in ("provenance", "digest"):  # which goes over the former
                record.pop(changing, None)
            for each in [*(record.get("files") or ())]:
                if each == TIMES or each.endswith("/manifest.json"):  # of results within, which has changing fields too
                    del record["files"][each]
            data = json.dumps(record, sort_keys=True).encode()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def hidden(folder: Path, name: str) -> list[str]:
    """What is left that nobody sees."""
    return [path.name for path in folder.iterdir() if path.name.startswith(f".{name}.")]


def _again(command: str, folder: Path, name: str) -> str:
    """The command that goes on with what was stopped, or makes it again."""
    if any(folder.glob(f".{name}.training/state-*")):
        return f"{command} --resume --overwrite"
    return command if "--overwrite" in command else f"{command} --overwrite"


class Step(NamedTuple):
    """A step that is failed: its command, its artefact, the folder that it begins with, what the artefact was and becomes, and its calls."""

    command: str
    name: str
    prepared: Path
    old: str | None
    new: str | None
    calls: int


def prepare(step: str, base: Path, scratch: Path, shim: ctypes.CDLL) -> Step:
    """Run a step undisturbed in ``scratch``, and count its calls."""
    first, command, name = STEPS[step]
    prepared, here, told = scratch / "prepared", scratch / "here", scratch / "calls"
    shutil.copytree(base, prepared)
    for earlier in first:
        assert run(earlier, prepared) == 0, earlier
    shutil.copytree(prepared, here, symlinks=True)
    old = state(here / name)
    count, log = lambda: shim.arm(os.fsencode(here), 0, 0, 0), lambda: told.write_text(str(shim.counted()))
    assert run(command, here, count, log) == 0, command
    return Step(command, name, prepared, old, state(here / name), int(told.read_text()))


def trial(step: Step, mode: str, number: int, here: Path, shim: ctypes.CDLL) -> dict[str, Any]:
    """Fail one call of a step in one way, in the folder ``here``, and say how that ended."""
    how, error = MODES[mode]
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(step.prepared, here, symlinks=True)
    code = run(step.command, here, lambda: shim.arm(os.fsencode(here), number, how, error))
    found = state(here / step.name)
    fault = ""
    if found not in (step.old, step.new) or (code == 0 and found != step.new):
        fault = "lost"
    elif code not in (0, 2) and code != -signal.SIGKILL:
        fault = "internal error"
    elif (
        run(_again(step.command, here, step.name), here) != 0 or state(here / step.name) != step.new or hidden(here, step.name)
    ):
        fault = "left behind"
    left = "new" if found == step.new else "old" if step.old else "nothing"
    return {
        "calls": step.calls,
        "call": number,
        "mode": mode,
        "code": code,
        "ended": fault or left,
        "hidden": hidden(here, step.name),
    }


def loop(
    step: str, base: Path, scratch: Path, shim: ctypes.CDLL, kept: Path, *, every: int = 1, workers: int = 1
) -> Counter[str]:
    """Fail each call of a step in each way; counts. ``kept`` has a line a trial, and those that it has are not run again."""
    made = prepare(step, base, scratch, shim)
    wanted = {(mode, number): None for mode in MODES for number in range(1, made.calls + 1, every)}
    done = {(record["mode"], record["call"]): record for record in _records(kept) if record["calls"] == made.calls}
    todo = [each for each in wanted if each not in done]
    children = []
    for worker in range(workers):
        if child := os.fork():
            children.append(child)
            continue
        try:  # each in a folder of the same name and depth
            for mode, number in todo[worker::workers]:
                record = trial(made, mode, number, scratch / f"worker-{worker}" / "here", shim)
                with open(kept, "a") as file:
                    file.write(json.dumps(record) + "\n")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert not any(statuses), f"{step}: a worker ended"
    counts: Counter[str] = Counter({"calls": made.calls})
    for record in _records(kept):
        if record["calls"] != made.calls or (record["mode"], record["call"]) not in wanted:
            continue
        counts.update(("killed" if record["mode"] == "killed" else "failed", record["ended"]))
        if record["ended"] in FAULTS:
            print(
                f"{step}: call {record['call']} {record['mode']}: {record['ended']} (exit code {record['code']}; {record['hidden']})",
                file=sys.stderr,
            )
    return counts


def _records(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def preloaded() -> ctypes.CDLL:
    """The shim, in this process; starts it anew with the shim before libc where that is not yet so."""
    if place := os.environ.get("POSBIAS_SHIM"):
        return ctypes.CDLL(place)
    folder = tempfile.mkdtemp()
    place = f"{folder}/failing_calls.so"
    source = Path(__file__).with_name("failing_calls.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", place, str(source), "-ldl"], check=True)
    # one thread: what is forked then is whole
    environment = {**os.environ, "LD_PRELOAD": place, "POSBIAS_SHIM": place, "POSBIAS_HOME": folder, "OMP_NUM_THREADS": "1"}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)  # which does not come back
    raise AssertionError


def warm(base: Path, scratch: Path) -> None:
    """Import in this process, once, what the forked children import."""
    told = scratch / "modules"
    for first, command, _ in STEPS.values():
        for one in (*first, command):
            run(one, base, after=lambda: told.write_text(" ".join(sys.modules)))
            for name in told.read_text().split():
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def spare_timing() -> None:
    """Let no training time its model for the estimate that it prints: half of a trial's time, in which it opens no file."""
    from positionbias.experiments import estimate

    estimate._timed = lambda *_: (1e-3, 1e-3, 1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", choices=STEPS, action="append")
    parser.add_argument("--every", type=int, default=1, help="Only every n-th call.")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="what is done, to go on with")
    parser.add_argument("--timing", action="store_true", help="Let each training time its model for its estimate.")
    options = parser.parse_args()
    shim = preloaded()
    columns = ("calls", "failed", "killed", "old", "nothing", "new", *FAULTS)
    lines = [f"| step | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    total: Counter[str] = Counter()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        scratch, base = Path(place), Path(place) / "base"
        kept = options.state.absolute() if options.state else scratch / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        base.mkdir()
        _release(base / "release", 40)
        _release(base / "older", 20)
        assert run("import msmarco release --out ./base", base) == 0
        assert run("retrieve ./base --split train --out ./base.run", base) == 0
        shutil.copytree(base, scratch / "warm")
        warm(scratch / "warm", scratch)
        if not options.timing:
            spare_timing()
        for number, step in enumerate(options.step or STEPS):
            own = scratch / str(number)
            own.mkdir()
            found = loop(step, base, own, shim, kept / f"{step}.jsonl", every=options.every, workers=options.workers)
            shutil.rmtree(own)
            total.update(found)
            lines.append(f"| {step} | {' | '.join(f'{found[column]:,}' for column in columns)} |")
            print(lines[-1], flush=True)
    lines.append(f"| all | {' | '.join(f'{total[column]:,}' for column in columns)} |")
    text = "\n".join(lines)
    if not options.step:
        given = [*(["--every", str(options.every)] if options.every > 1 else []), *(["--timing"] if options.timing else [])]
        command = " ".join(["python benchmarks/system_calls.py", *given, f"--workers {options.workers} --state FOLDER"])
        head = f"# Every system call failed in turn\n\n`{command}`, {hardware()}."
        told = (__doc__ or "").partition("\n")[2].strip()
        result_place("system_calls").write_text(f"{head}\n\n{told}\n\n{text}\n", encoding="utf-8")
    print(lines[-1])
    sys.exit(1 if any(total[fault] for fault in FAULTS) else 0)


if __name__ == "__main__":
    main()
