"""Damaged artefacts of our own, thousands of them:
``python benchmarks/fuzz/artefacts.py --inputs 20000``.

Each input is a tiny artefact that posbias made (``own_base``), damaged by bytes or in what its
files are made of (``own_damage``), and read in every way that the package reads it
(``own_readers``). Half of them are as a bad disk or a wrong copy leaves them: what is read must
equal what the undamaged artefact gives, to the last bit, or be refused in one line. Of the other
half the manifest vouches for the damage, as whoever made it could: wrong values may be read, and
nothing worse. A traceback, a hang, memory without bound or the end of the process is a fault. Draws
are keyed by (seed, number); inputs run in forks that report each as it begins, so that a crash of a
library is seen, and what is done is kept in ``--state``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["OMP_NUM_THREADS"] = "1"  # one thread: what is forked then is whole

from fuzz_mutations import random_of
from fuzz_readers import Hang, memory_folder, time_limit, wrong_with
from measuring import hardware, result_place
from own_base import adopt, forked, imports, make_base, near
from own_damage import ELSEWHERE, damaged, vouch
from own_readers import ARTEFACTS, Artefact, Refused, plain

BATCH = 100  # inputs of one fork
SECONDS = 60  # for one input
MEMORY = 4 << 30  # bytes of addresses that a fork may take beside what it begins with


def artefact_of(number: int, seed: int) -> Artefact:
    """The artefact that an input damages."""
    return random_of(seed, "artefact", number).choices(
        ARTEFACTS, [each.share for each in ARTEFACTS]
    )[0]


def run_input(number: int, seed: int, base: Path, folder: Path) -> dict[str, Any]:
    """Make an input in the empty ``folder``, read it and say how it ended."""
    from positionbias.core import seal
    from positionbias.core.errors import PositionBiasError

    artefact = artefact_of(number, seed)
    random = random_of(seed, artefact.name, number)
    place = lay_out(artefact, base, folder)
    vouched = random.random() < 0.5
    other = base / artefact.other if artefact.other else None
    (folder / ELSEWHERE).write_text(ELSEWHERE)
    done = damaged(random, place, artefact.within, other, only=not vouched)
    if vouched:
        done += (vouch(random, inner(artefact, place)),)
    strict = artefact.always or not vouched
    wanted = (base / "whole" / artefact.name).read_text()
    # a file system tells states of a file apart by its clock, and this is faster
    for cache in (seal._seals, seal._verify):
        cache.cache_clear()
    ended, said = "fault", ""
    try:
        with time_limit(SECONDS):
            found = digest_of(artefact, place, base)
        ended = "same" if found == wanted else "other"
        if strict and found != wanted:
            ended, said = "fault", "damage was read as data"
    except (PositionBiasError, Refused) as error:
        ended, said = "refused", str(error)
        if wrong := wrong_with(said.removeprefix("posbias: ")):
            ended, said = "fault", f"{wrong}: {said}"
    except Hang:
        said = f"not done after {SECONDS} s"
    except BaseException:
        said = traceback.format_exc()
    if (folder / ELSEWHERE).read_bytes() != ELSEWHERE.encode():
        ended, said = "fault", "a file elsewhere was written through a link"
    return {
        "input": number,
        "artefact": artefact.name,
        "vouched": vouched,
        "done": done,
        "how": ended,
        "said": said,
    }


def lay_out(artefact: Artefact, base: Path, folder: Path) -> Path:
    """A copy of the artefact, with what its reader needs beside it."""
    source = base / artefact.path
    if not source.exists():
        source = base / "works" / artefact.path
    place = folder / source.name
    if source.is_dir():
        shutil.copytree(source, place)
        adopt(place)
    else:
        shutil.copy(source, place)
        shutil.copy(source.with_name(f"{source.name}.manifest.json"), folder)
    near(base, folder)
    return place


def inner(artefact: Artefact, place: Path) -> Path:
    """The artefact whose manifest may vouch for the damage: of an index in a cache, the index."""
    manifests = (
        sorted(place.glob(f"{artefact.within.strip('/')}/**/manifest.json"))
        if artefact.within.strip("/")
        else []
    )
    return manifests[0].parent if manifests else place


class Campaign:
    """The inputs of one process, in forks of it, and the file that keeps how they ended."""

    def __init__(self, base: Path, kept: Path, seed: int) -> None:
        self.base, self.kept, self.seed = base, kept, seed

    def run(self, numbers: Sequence[int]) -> None:
        """Run these inputs, those done before left out."""
        done = {record["input"] for record in records([self.kept])}
        todo = [number for number in numbers if number not in done]
        with open(self.kept, "a") as kept:
            while todo:
                told = self._batch(todo[:BATCH], kept)
                todo = todo[told:]

    def _batch(self, numbers: Sequence[int], kept: Any) -> int:
        """Run inputs in one fork; how many have ended, the one that ended the fork among them."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(reading)
                self._inputs(numbers, writing)
            finally:
                os._exit(0)
        os.close(writing)
        told, buffer = 0, b""
        while True:
            ready, _, _ = select.select([reading], [], [], 2 * SECONDS)
            data = os.read(reading, 1 << 16) if ready else b""
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                kept.write(line.decode() + "\n")
                told += 1
            kept.flush()
        os.close(reading)
        if not ready:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if told < len(numbers):
            said = (
                f"the process ended by signal {status & 127}"
                if ready
                else f"not done after {2 * SECONDS} s, and held up its own end"
            )
            number = numbers[told]
            artefact = artefact_of(number, self.seed).name
            kept.write(
                json.dumps(
                    {
                        "input": number,
                        "artefact": artefact,
                        "vouched": None,
                        "done": (),
                        "how": "fault",
                        "said": said,
                    }
                )
                + "\n"
            )
            told += 1
        return told

    def _inputs(self, numbers: Sequence[int], writing: int) -> None:
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.RLIM_INFINITY))
        with tempfile.TemporaryDirectory(
            dir=memory_folder(), ignore_cleanup_errors=True
        ) as scratch:
            os.environ["POSBIAS_HOME"] = f"{scratch}/home"
            for number in numbers:
                folder = Path(scratch) / "input"
                folder.mkdir()
                record = run_input(number, self.seed, self.base, folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.write(writing, json.dumps(record).encode() + b"\n")


def digest_of(artefact: Artefact, place: Path, base: Path) -> str:
    """The SHA-256 of all that is read of the artefact at ``place``."""
    return hashlib.sha256(
        repr(plain(artefact.read(place, base))).encode("utf-8", "surrogatepass")
    ).hexdigest()


def read_whole(base: Path) -> None:
    """Keep in the base what its undamaged artefacts give, and import what their readers import, so
    that forks have it.
    """
    (base / "whole").mkdir(exist_ok=True)
    modules = base / "modules.txt"

    def work(artefact: Artefact) -> int:
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            digest = digest_of(artefact, lay_out(artefact, base, Path(folder)), base)
        (base / "whole" / artefact.name).write_text(digest)
        modules.write_text(
            "\n".join(name for name in sys.modules if not name.startswith("_") and "-" not in name)
        )
        return 0

    for artefact in ARTEFACTS:
        if forked(lambda artefact=artefact: work(artefact)):
            raise SystemExit(f"{artefact.name}: cannot be read undamaged")
        for name in modules.read_text().split():
            if name not in sys.modules:
                # made by its reader alone; a fork makes it again
                with contextlib.suppress(Exception):
                    import_module(name)


def records(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """What is kept of inputs that have ended."""
    for file in files:
        for line in file.read_text().splitlines() if file.exists() else ():
            yield json.loads(line)


def table(found: Sequence[dict[str, Any]]) -> list[str]:
    """A row an artefact, and one for all."""
    lines = [
        (
            "| artefact | inputs | as it lay: same | refused | vouched for: same | other values | "
            "refused | faults |"
        ),
        f"|---|{'---:|' * 7}",
    ]
    counts: dict[str, Counter[Any]] = defaultdict(Counter)
    for record in found:
        for name in (record["artefact"], "all"):
            counts[name][bool(record["vouched"]), record["how"]] += 1
            counts[name][record["how"]] += 1
    for name in (*(each.name for each in ARTEFACTS if each.name in counts), "all"):
        count = counts[name]
        inputs = sum(count[how] for how in ("same", "other", "refused", "fault"))
        cells = (
            inputs,
            count[False, "same"],
            count[False, "refused"],
            count[True, "same"],
            count[True, "other"],
            count[True, "refused"],
            count["fault"],
        )
        lines.append(f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    return lines


def main() -> int:
    """Run the campaign, or one input of it; 1 where a fault was found."""
    parser = argparse.ArgumentParser(
        description=" ".join((__doc__ or "").partition("\n\n")[0].split())
    )
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this input alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the one input is left")
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FOLDER",
        required=True,
        help="the base and what is done; to go on with",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, help="by default benchmarks/results/fuzz_artefacts_HARDWARE_DATE.md"
    )
    given = parser.parse_args()
    imports()
    base = given.state.absolute() / "base"
    if not base.exists():
        make_base(base)
    if given.only is None or not (base / "whole").exists():
        read_whole(base)
    if given.only is not None:
        folder = given.keep or Path(tempfile.mkdtemp(dir=memory_folder()))
        folder.mkdir(exist_ok=True)
        record = run_input(given.only, given.seed, base, folder)
        print(json.dumps(record, indent=1).replace("\\n", "\n"))
        return int(record["how"] == "fault")
    kept = [
        given.state / f"inputs-{given.seed}-{worker}-of-{given.workers}.jsonl"
        for worker in range(given.workers)
    ]
    children = []
    for worker, file in enumerate(kept):
        if not (child := os.fork()):
            Campaign(base, file, given.seed).run(range(worker, given.inputs, given.workers))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    found = [record for record in records(kept) if record["input"] < given.inputs]
    _write(found, given)
    faults = [record for record in found if record["how"] == "fault"]
    for record in faults[:20]:
        print(
            f"input {record['input']}, {record['artefact']} ({'; '.join(record['done'])}): "
            f"{record['said']}",
            file=sys.stderr,
        )
    return int(bool(faults))


def _write(found: Sequence[dict[str, Any]], given: argparse.Namespace) -> None:
    versions = ", ".join(
        f"{name} {version(name)}"
        for name in ("numpy", "pyarrow", "torch", "transformers", "positionbias")
    )
    head = [
        "# Damaged artefacts",
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; load {os.getloadavg()[0]:.1f}."
        ),
        "",
        (
            f"    python benchmarks/fuzz/artefacts.py --inputs {given.inputs} --seed {given.seed} "
            "--state FOLDER"
        ),
        "",
        " ".join((__doc__ or "").split("\n\n", 1)[1].replace("``", "`").split()),
        "",
    ]
    place = given.out or result_place("fuzz_artefacts")
    place.write_text("\n".join([*head, *table(found)]) + "\n", encoding="utf-8")
    print(place)


if __name__ == "__main__":
    sys.exit(main())
