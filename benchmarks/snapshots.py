"""What users see, as small text files: help, tables, JSON, results, reports. Compare them before and after a change of code.

    python benchmarks/snapshots.py make FOLDER                       # every group
    python benchmarks/snapshots.py make FOLDER --only pool,leakage   # some; the other groups in FOLDER stay
    python benchmarks/snapshots.py make FOLDER --numbers             # with the numbers of models, to compare on one machine
    python benchmarks/snapshots.py compare BEFORE AFTER              # a diff for each differing file; exits 1 if there is any

A group is a function of ``snapshot_groups``: it plants its small input and calls commands. ``Recorder.run`` calls a command twice, once for its text and once
with ``--json``, and writes what it printed, the results and manifests that it wrote, and the report of its results. What is not behaviour is
replaced: paths, dates, durations, rates, versions, sizes, checksums. Floats are rounded to three decimals; those of models (``model=True``)
become ``#``, unless ``--numbers`` asks for them, so that only the shape of their tables is compared. Every group runs in a process of its own, in a folder of its own. The code is that of the checkout in which the script is called.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import io
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import click
from snapshot_groups import GROUPS

HERE = Path.cwd()  # the checkout whose code is recorded, where it is one
ROOT = HERE if (HERE / "positionbias").is_dir() else Path(__file__).resolve().parents[1]
SET = {"COLUMNS": "100", "MPLBACKEND": "Agg", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SET |= {"OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
WIDTH = 140
LONGEST = 12  # numbers or words of a list that are written out; of longer ones the first, and a checksum of all

NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?"
NO_BEHAVIOUR = (
    (rf"{NUMBER}[ \u00a0]?(?:[kMG]i?)?B\b|{NUMBER}[ \u00a0]bytes", "SIZE"),
    (rf"{NUMBER}[ \u00a0]?[a-z]+(?: [a-z]+)?/(?:s|h)\b|{NUMBER} a second", "RATE"),
    (rf"(?:under )?{NUMBER}[ \u00a0]?(?:ms|s|seconds?|minutes?|min|hours?|h|days?)\b", "TIME"),
    (r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", "DATE"),
    (r"platform \S+, cores \d+", "HOST"),
    (r"(?<![\w.])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{8,}\b", "HEX"),
    (r"\b\d+\.\d+\.\d+[\w.+]*", "VERSION"),
)
FLOAT = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*\.\d+(?:e[-−+]?\d+)?(?![\w.]*\w)|(?<![\w.])[-−+]?\d+e[-−+]?\d+\b")


class Normal:
    """Text and JSON without what differs between two runs of the same code."""

    def __init__(self, work: Path, numbers: bool) -> None:
        self.numbers = numbers  # of models, too
        self.paths = [(str(work), "WORK"), (str(ROOT), "ROOT"), (sys.prefix, "PYTHON"), (tempfile.gettempdir(), "TMP")]

    def text(self, text: str, *, model: bool) -> str:
        for path, name in self.paths:
            text = text.replace(path, name)
        for pattern, name in NO_BEHAVIOUR:
            text = re.sub(pattern, name, text)
        model = model and not self.numbers
        text = FLOAT.sub("#" if model else _rounded, text)
        if model:  # a column is as wide as its numbers
            text = re.sub(r"\d+(?=[ \u00a0]?\\?%)", "#", text)
            text = re.sub(r"─+", "─", re.sub(r"  +", "  ", text))
        return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)

    def value(self, value: Any, *, model: bool) -> Any:
        """JSON with rounded floats and short lists."""
        if isinstance(value, dict):
            took = {"seconds", *(("value",) if value.get("measure") == "plan" else ())}
            rest = {key: "TIME" if key in took else self.value(item, model=model) for key, item in value.items()}
            return {self.text(key, model=False): item for key, item in rest.items()}
        if isinstance(value, list):
            items = [self.value(item, model=model) for item in value]
            if len(items) > LONGEST and not any(isinstance(item, dict | list) for item in items):
                digest = hashlib.sha256(json.dumps(items).encode()).hexdigest()[:8]
                return [*items[:3], f"… {len(items)} in all, {digest}"]
            return items
        if isinstance(value, float):
            return "#" if model and not self.numbers else round(value, 3) + 0.0
        return self.text(value, model=model) if isinstance(value, str) else value


def _rounded(found: re.Match[str]) -> str:
    number = found[0]
    _, _, decimals = number.partition(".")
    if len(decimals) <= 3 and "e" not in number:
        return number
    value = round(float(number.replace("−", "-").replace(",", "")), 3) + 0.0  # no -0
    return f"{value:+.3f}" if number[0] == "+" else f"{value:.3f}"


def keys(value: Any, place: str = "") -> Iterator[str]:
    """Every key of a JSON document as a path; items of a list share theirs."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from keys(item, f"{place}.{name}")
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from keys(item, f"{place}[]")
    else:
        yield f"{place}: {type(value).__name__}"


class Text(HTMLParser):
    """What a reader of a page is shown, a line a piece: text, and descriptions of figures."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style")
        self.lines += [f"[{value}]" for name, value in attributes if name in ("alt", "aria-label", "title") and value]

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def call(*arguments: object) -> tuple[int, str, str]:
    """Run ``posbias`` in this process; its exit code, standard output and standard error."""
    from positionbias.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
    return int(code or 0), out.getvalue(), err.getvalue()


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words that call every command, groups before what is in them."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from commands(inner, (*words, name))


def help_texts() -> Iterator[tuple[str, str]]:
    """The help of every command by its name, which is a file's; COLUMNS must be set."""
    from positionbias.cli.main import posbias

    for words in commands(posbias):
        yield "-".join(words) or "posbias", call(*words, "--help")[1]


class Recorder:
    """Calls commands in the current folder and writes what they show to ``place``."""

    def __init__(self, place: Path, numbers: bool) -> None:
        self.place = place
        self.normal = Normal(Path.cwd(), numbers)

    call = staticmethod(call)
    help_texts = staticmethod(help_texts)

    def write(self, name: str, text: str, *, model: bool = False) -> None:
        self.write_raw(name, self.normal.text(text, model=model).rstrip() + "\n")

    def run(
        self, name: str, *arguments: object, model: bool = False, again: bool = False, results: str = "", exits: int = 0
    ) -> None:
        """Record a command, which exits with ``exits``. ``OUT`` in its arguments is a new path for each call, or one path where the command goes on (``again``)."""
        for form, flag in (("", ()), ("-json", ("--json",))):
            out = f"out-{name}" if again else f"out-{name}{form}"
            given = [str(argument).replace("OUT", out) for argument in arguments]
            code, printed, said = call(*given, *flag)
            if code != exits:
                raise SystemExit(f"{name}: wanted exit code {exits}; found {code}: posbias {' '.join(given)}: {said}")
            if flag:
                self.write_json(f"{name}.json", printed, model=model)
                if again:
                    self.write(f"{name}.again", said, model=model)
                continue
            self.write(name, f"posbias {' '.join(given)}\nexit {code}\n\n{printed}\n--- stderr\n{said}", model=model)
            if Path(out).exists():
                self.artefacts(name, Path(out), model=model)
            if (Path(out, results) / "results.json").is_file():
                self.report(name, Path(out, results), model=model)

    def write_raw(self, name: str, text: str) -> None:
        (self.place / f"{name}.txt").write_text(text, encoding="utf-8")

    def write_json(self, name: str, printed: str, *, model: bool) -> None:
        try:
            document = self.normal.value(json.loads(printed), model=model)
        except ValueError:
            return self.write(name, printed, model=model)
        lines = [line for result in document.pop("results", ()) for line in result_lines(result)]
        lines += lines_of(document) if document else ()
        return self.write_raw(name, "\n".join(lines) + "\n")

    def artefacts(self, name: str, out: Path, *, model: bool) -> None:
        """The files that a command wrote, the keys of their manifests, and saved results."""
        found = sorted(path for path in out.rglob("*") if path.is_file() and "cache" not in path.parts) if out.is_dir() else []
        manifests = [path for path in [*found, *out.parent.glob(f"{out.name}.manifest.json")] if "manifest.json" in path.name]
        parts = ["files:", *(f"  {path.relative_to(out)}" for path in found)]
        by_keys: dict[tuple[str, ...], list[str]] = {}
        for path in manifests:
            inside = tuple(dict.fromkeys(keys(json.loads(path.read_text("utf-8")))))
            by_keys.setdefault(inside, []).append(str(path.relative_to(out.parent)))
        for inside, places in by_keys.items():
            parts += ["", f"keys of {', '.join(places)}:", *(f"  {line}" for line in inside)]
        self.write(f"{name}.files", "\n".join(parts))
        for path in found:
            if path.name == "results.json":
                place = "-".join(path.relative_to(out).parts[:-1])
                self.write_json(f"{name}.results{'-' * bool(place)}{place}", path.read_text("utf-8"), model=model)

    def report(self, name: str, *folders: Path, model: bool = False) -> None:
        """The page of some results and all its tables."""
        from positionbias.report.html import report_tables
        from positionbias.report.load import load_studies
        from positionbias.report.table import as_text

        page, tables = Path(f"{name}.html"), Path(f"{name}-tables")
        _, printed, said = call("report", *folders, "--out", f"./{page}", "--tables", f"./{tables}")
        shown = "\n".join(Text(page.read_text("utf-8")).lines)
        self.write(f"{name}.report", f"{printed}\n--- stderr\n{said}\n--- page\n{shown}", model=model)
        found = report_tables(load_studies(folders))
        self.write(f"{name}.tables", "\n\n".join(f"## {key}\n{as_text(table)}" for key, table in found.items()), model=model)
        for form in ("csv", "tex"):
            files = sorted(tables.glob(f"*.{form}"))
            text = "\n\n".join(f"## {path.name}\n{path.read_text('utf-8')}" for path in files)
            self.write(f"{name}.tables-{form}", text, model=model)


def lines_of(value: Any, head: str = "", indent: int = 0) -> Iterator[str]:
    """JSON in lines: what does not fit into one is split into its items."""
    line = f"{' ' * indent}{head}{json.dumps(value, ensure_ascii=False)}"
    if len(line) <= WIDTH or not isinstance(value, dict | list):
        yield line
        return
    yield f"{' ' * indent}{head}{'{' if isinstance(value, dict) else '['}"
    for name, item in value.items() if isinstance(value, dict) else (("", item) for item in value):
        yield from lines_of(item, f"{name}: " if name else "", indent + 1)


def result_lines(result: dict[str, Any]) -> Iterator[str]:
    """A result's header in one line, then its payload."""
    yield json.dumps({name: item for name, item in result.items() if name != "payload"}, ensure_ascii=False)
    for name, item in result.get("payload", {}).items():
        yield from lines_of(item, f"{name}: ", 4)


def make_group(name: str, folder: Path, numbers: bool) -> None:
    """Write one group's snapshots, in a process that nothing else has touched."""
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="snapshots-") as work:
        os.chdir(work)
        os.environ["POSBIAS_HOME"] = f"{work}/home"
        GROUPS[name](Recorder(folder / name, numbers))
        os.chdir(ROOT)


def make(folder: Path, names: Sequence[str], numbers: bool) -> int:
    """Write the groups; the exit code. Each is a fork of this process, which has imported what is slow to import."""
    os.environ.update(SET)
    os.environ.pop("POSBIAS_DATA", None)
    if names != ["help"]:
        import matplotlib.pyplot  # noqa: F401
        import torch
        import transformers  # noqa: F401

        torch.set_num_threads(1)
    import positionbias

    print(f"recording {positionbias.__file__}", file=sys.stderr)
    failed = 0
    for name in names:
        begun = time.perf_counter()
        process = multiprocessing.get_context("fork").Process(target=make_group, args=(name, folder.resolve(), numbers))
        process.start()
        process.join()
        failed += process.exitcode != 0
        print(f"{name}: {time.perf_counter() - begun:.0f} s{', FAILED' * (process.exitcode != 0)}", flush=True)
    return int(failed > 0)


def compare(before: Path, after: Path, names: Sequence[str]) -> int:
    """Print a diff for each differing file; 1 if there is any."""
    files = sorted(
        {path.relative_to(place) for place in (before, after) for name in names for path in (place / name).rglob("*.txt")}
    )
    differing = 0
    for file in files:
        sides = [
            (place / file).read_text("utf-8").splitlines() if (place / file).is_file() else [] for place in (before, after)
        ]
        difference = list(difflib.unified_diff(*sides, str(before / file), str(after / file), lineterm="", n=1))
        differing += bool(difference)
        print("\n".join(difference), end="\n" * bool(difference))
    print(f"{differing} of {len(files)} files differ", file=sys.stderr)
    return int(differing > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "compare"))
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="one to make, two to compare")
    parser.add_argument("--only", help=f"groups, with commas between: {', '.join(GROUPS)}")
    parser.add_argument("--numbers", action="store_true", help="make: keep the numbers of models, too")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(GROUPS)
    if unknown := set(names) - set(GROUPS):
        parser.error(f"--only: wanted some of {', '.join(GROUPS)}; found {', '.join(sorted(unknown))}")
    if len(options.folders) != (1 if options.what == "make" else 2):
        parser.error(f"{options.what}: wanted {'one folder' if options.what == 'make' else 'two folders'}")
    if options.what == "make":
        return make(*options.folders, names, options.numbers)
    return compare(*options.folders, names)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
