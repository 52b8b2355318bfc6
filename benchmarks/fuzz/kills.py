"""Commands killed at any moment, and run again: ``python benchmarks/fuzz/kills.py --kills 300``.

Each command runs in a fork in a folder of its own; after a time drawn by (seed, number) it is
ended, three times of four by SIGKILL, else by SIGTERM. The same command is then run to its end (a
training with ``--resume``). What it makes must equal, byte for byte, what it makes undisturbed
(times and machines left out), and nothing hidden may be left. Half of them are killed twice in a
row. A quarter stand over an artefact of the same name that ``--overwrite`` replaces, and which
until then must be whole. A command that had ended before its moment came counts as "too late", and
not as a kill.

Then pairs of processes run a command with the same output, the second a drawn time after the first,
half of them over an artefact that both replace. One may be refused; what stands there then must be
whole, and nothing hidden left.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["OMP_NUM_THREADS"] = "1"  # one thread: what is forked then is whole

from artefacts import records
from fuzz_mutations import random_of
from fuzz_readers import memory_folder
from measuring import hardware, result_place
from own_base import TINY, debias_raw, forked, imports, make_base, near, posbias, state

from positionbias.core.errors import PositionBiasError

__all__ = ["COMMANDS", "Command", "kill"]


class Command(NamedTuple):
    """A command, what it makes, and how many of the kills are its; ``again``: what is added to go
    on with it.
    """

    name: str
    line: str
    made: str
    share: float
    again: str = ""


_CANDIDATES = "--candidates ./train.run --validation-candidates ./validation.run"
_STUDY = (
    "--set max_steps=2 --set batch_size=4 --set threads=1 --set tk.dimension=8 --set tk.layers=1"
)
# of a study, whose receipts and logs tell times
_SAME = (".arrow", ".parquet", ".run", ".safetensors", "results.json")
COMMANDS = (
    Command("import", "import planted --queries 40 --passages 160 --out ./out", "out", 45),
    Command("debias", "debias ./col --out ./out", "out", 45),
    Command("debias of a file", "", "out.tsv", 80),
    Command("place", "collection place ./col --density uniform --out ./out", "out", 30),
    Command("retrieve", "retrieve ./col --out ./out.run", "out.run", 30),
    Command("encode", "model encode ./col --model ./dot --out ./out", "out", 8),
    Command(
        "train",
        f"train tk ./col {_CANDIDATES} {TINY} --set save_every=1 --set validate_every=1 "
        "--out ./out",
        "out",
        10,
        "--resume",
    ),
    Command(
        "teach",
        "model teach ./col --model ./tk --candidates ./train.run --set block_pairs=40 --out ./out",
        "out",
        20,
    ),
    Command(
        "rerank", "rerank ./col --model ./tk --candidates ./test.run --out ./out.run", "out.run", 20
    ),
    Command("evaluate", "evaluate ./test.run ./tk.run --collection ./col --out ./out", "out", 12),
    Command(
        "trainset",
        "model trainset contaminated ./col --candidates ./train.run --out ./out",
        "out",
        20,
    ),
    Command(
        "leakage find",
        "leakage find --source train=./col:train ./col:test --encoder ./dot --threshold 0.9 --out "
        "./out",
        "out",
        20,
    ),
    Command(
        "audit",
        "audit ./col --model ./tk --candidates ./test.run --set needles=10 --out ./out",
        "out",
        8,
    ),
    Command(
        "study", f"study position-bias ./col --models tk --quick {_STUDY} --out ./out", "out", 2
    ),
)


# two trainings at a time take minutes, and a study's folder is shared by its steps
PAIRED = tuple(each for each in COMMANDS if each.name not in ("train", "study"))


def ended(command: Command, folder: Path, *more: str) -> int:
    """Run a command to its end in a fork, and return its exit code."""

    def work() -> int:
        return _run(command, folder, more)

    return forked(work)


def _run(command: Command, folder: Path, more: Sequence[str]) -> int:
    if not command.line:
        try:
            return debias_raw(folder, command.made, overwrite="--overwrite" in more)
        except PositionBiasError as error:
            return error.exit_code
    said = posbias(" ".join((command.line, *more)), folder)
    if said.code:
        sys.stderr.write(said.errors)
    return said.code


def begun(command: Command, folder: Path, more: Sequence[str]) -> int:
    """Begin a command in a fork of a session of its own; its process."""
    child = os.fork()
    if not child:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(_run(command, folder, more))
    return child


def killed(command: Command, folder: Path, after: float, how: signal.Signals, *more: str) -> int:
    """Run a command in a fork and end it after so many seconds; its exit code, negative for a
    signal.
    """
    child = begun(command, folder, more)
    time.sleep(after)
    os.kill(child, how)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if how == signal.SIGKILL:  # its processes end by themselves, and hold locks until then
        while _alive(child):
            time.sleep(0.01)
    return code


def _alive(session: int) -> bool:
    try:
        os.killpg(session, 0)
    except OSError:
        return False
    return True


def found_at(command: Command, folder: Path) -> str | None:
    """What the command has made; what tells of times, and of a study its log of steps, left out."""
    place = folder / command.made
    if command.name != "study" or not place.exists():
        return state(place)
    copy = folder / "copy"
    shutil.copytree(place, copy, ignore=_told_by_times)
    digest = state(copy)
    shutil.rmtree(copy)
    return digest


def _told_by_times(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(_SAME) and not Path(folder, name).is_dir()]


def kill(number: int, seed: int, base: Path, folder: Path) -> dict[str, Any]:
    """Kill a command in the empty ``folder``, run it again, and say how that ended."""
    random = random_of(seed, "command", number, "kills")
    command = random.choices(COMMANDS, [each.share for each in COMMANDS])[0]
    wanted, seconds = undisturbed(command, base)
    _prepare(command, base, folder)
    overwrite = ["--overwrite"] if random.random() < 0.25 and command.name != "study" else []
    if overwrite:
        _put_old(command, base, folder)
    before = found_at(command, folder)
    moments, more, fault = [], overwrite, ""
    for _ in range(random.choice((1, 2))):
        after, how = (
            random.uniform(0, seconds),
            random.choice((signal.SIGKILL,) * 3 + (signal.SIGTERM,)),
        )
        code = killed(command, folder, after, how, *more)
        moments.append((how.name, round(after, 3), code))
        if code not in (0, -how, 143):
            fault = f"ended with {code} when it was stopped"
        # a study's folder has its name from the first step on
        if (found := found_at(command, folder)) not in (wanted, before) and command.name != "study":
            fault = "neither the old artefact nor the new one"
        if found == wanted:
            break
        more = [*overwrite, *(_more(command, folder))]
    else:
        code = ended(command, folder, *more)
        if code:
            fault = fault or f"ended with {code} when it was run again"
    if not fault and found_at(command, folder) != wanted:
        fault = "another artefact than undisturbed"
    hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith(".out"))
    # it was stopped behind its end: the same command clears that away
    if not fault and found == wanted and hidden:
        ended(command, folder, *{*more, "--overwrite"} - {"--resume"})
        hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith(".out"))
    if not fault and hidden:
        fault = f"left behind: {', '.join(hidden)}"
    return {"input": number, "command": command.name, "moments": moments, "fault": fault}


def _put_old(command: Command, base: Path, folder: Path) -> None:
    if "." in command.made:
        (folder / command.made).write_text("old")
    else:
        shutil.copytree(base / "found", folder / command.made)


def pair(number: int, seed: int, base: Path, folder: Path) -> dict[str, Any]:
    """Run a command twice at a time with one output, and say how that ended."""
    random = random_of(seed, "command", number, "pairs")
    command = random.choices(PAIRED, [each.share for each in PAIRED])[0]
    wanted, seconds = undisturbed(command, base)
    _prepare(command, base, folder)
    more = ["--overwrite"] if random.random() < 0.5 else []
    if more:
        _put_old(command, base, folder)
    first = begun(command, folder, more)
    time.sleep(random.uniform(0, seconds))
    second = begun(command, folder, more)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in (first, second)]
    fault = ""
    if 0 not in codes or not {*codes} <= {0, 2}:
        fault = f"ended with {codes[0]} and {codes[1]}"
    elif found_at(command, folder) != wanted:
        fault = "another artefact than undisturbed"
    elif hidden := [path.name for path in folder.iterdir() if path.name.startswith(".out")]:
        fault = f"left behind: {', '.join(sorted(hidden))}"
    return {"input": number, "command": command.name, "codes": codes, "fault": fault}


def table_of_pairs(found: Sequence[dict[str, Any]]) -> list[str]:
    """A row a command, and one for all."""
    lines = ["| command | pairs | one refused | lost or mixed |", "|---|---:|---:|---:|"]
    for name in (*(command.name for command in PAIRED), "all"):
        if rows := [row for row in found if name in ("all", row["command"])]:
            refused, faults = sum(2 in row["codes"] for row in rows), sum(map(_faulty, rows))
            lines.append(f"| {name} | {len(rows)} | {refused} | {faults} |")
    return lines


def _faulty(record: dict[str, Any]) -> bool:
    return bool(record["fault"])


def _prepare(command: Command, base: Path, folder: Path) -> None:
    if command.name == "retrieve":  # builds its index
        shutil.copytree(base / "col", folder / "col", ignore=shutil.ignore_patterns("cache"))
    near(base, folder)


def _more(command: Command, folder: Path) -> list[str]:
    """What goes on with a command where there is something to go on with."""
    return (
        [command.again]
        if command.again and any(folder.glob(f".{command.made}.training/state-*"))
        else []
    )


def undisturbed(command: Command, base: Path) -> tuple[str, float]:
    """What a command makes undisturbed, and how long that takes, which the base keeps."""
    kept = base / "undisturbed" / command.name
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=memory_folder()) as name:
            folder = Path(name, "at")
            folder.mkdir()
            seconds = []
            for _ in range(2):  # the second time finds what the first has read in memory
                shutil.rmtree(folder)
                folder.mkdir()
                _prepare(command, base, folder)
                began = time.monotonic()
                if code := ended(command, folder):
                    raise SystemExit(f"{command.name}: ended with {code} undisturbed")
                seconds.append(time.monotonic() - began)
            kept.write_text(json.dumps((found_at(command, folder), min(seconds))))
        print(f"{command.name}: {min(seconds):.1f} s", flush=True)
    digest, least = json.loads(kept.read_text())
    return digest, least


def met(record: dict[str, Any]) -> int:
    """How many kills found the command at work."""
    return sum(code != 0 for _, _, code in record["moments"])


def table(found: Sequence[dict[str, Any]]) -> list[str]:
    """A row a command, and one for all."""
    columns = ("kills", "SIGKILL", "SIGTERM", "too late", "lost or other")
    lines = [f"| command | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for record in found:
        for name in (record["command"], "all"):
            count = counts[name]
            for how, _, code in record["moments"]:
                count.update(("kills", how) if code else ("too late",))
            count["lost or other"] += bool(record["fault"])
    for name in (*(each.name for each in COMMANDS if each.name in counts), "all"):
        lines.append(
            f"| {name} | {' | '.join(f'{counts[name][column]:,}' for column in columns)} |"
        )
    return lines


def main() -> int:
    """Run the kills; 1 where a fault was found."""
    parser = argparse.ArgumentParser(
        description=" ".join((__doc__ or "").partition("\n\n")[0].split())
    )
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FOLDER",
        required=True,
        help="the base and what is done; to go on with",
    )
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this number alone")
    parser.add_argument(
        "--out", type=Path, help="by default benchmarks/results/kills_HARDWARE_DATE.md"
    )
    given = parser.parse_args()
    imports()
    base, kept = given.state.absolute() / "base", given.state / f"kills-{given.seed}.jsonl"
    if not base.exists():
        make_base(base)
    os.environ["POSBIAS_HOME"] = str(given.state.absolute() / "home")
    found = [] if given.only is not None else list(records([kept]))
    number = given.only if given.only is not None else len(found)
    while given.only == number or (given.only is None and sum(map(met, found)) < given.kills):
        with tempfile.TemporaryDirectory(dir=memory_folder(), ignore_cleanup_errors=True) as folder:
            record = kill(number, given.seed, base, Path(folder))
        found.append(record)
        number += 1
        if given.only is None:
            with open(kept, "a") as file:
                file.write(json.dumps(record) + "\n")
        if record["fault"] or given.only is not None:
            print(json.dumps(record), flush=True)
    pairs: list[dict[str, Any]] = []
    if given.only is None:
        kept = given.state / f"pairs-{given.seed}.jsonl"
        pairs = list(records([kept]))
        for number in range(len(pairs), given.pairs):
            with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
                pairs.append(pair(number, given.seed, base, Path(folder)))
            with open(kept, "a") as file:
                file.write(json.dumps(pairs[-1]) + "\n")
        _write(found, pairs, given)
    return int(any(map(_faulty, (*found, *pairs))))


def _write(
    found: Sequence[dict[str, Any]], pairs: Sequence[dict[str, Any]], given: argparse.Namespace
) -> None:
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "torch", "positionbias"))
    head = [
        "# Commands killed and run again",
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; load {os.getloadavg()[0]:.1f}."
        ),
        "",
        (
            f"    python benchmarks/fuzz/kills.py --kills {given.kills} --pairs {given.pairs} "
            f"--seed {given.seed} --state FOLDER"
        ),
        "",
        " ".join((__doc__ or "").split("\n\n", 1)[1].replace("``", "`").split()),
        "",
    ]
    place = given.out or result_place("kills")
    place.write_text(
        "\n".join([*head, *table(found), "", *table_of_pairs(pairs)]) + "\n", encoding="utf-8"
    )
    print(place)


if __name__ == "__main__":
    sys.exit(main())
