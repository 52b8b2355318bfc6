"""Pages made of the repository's records: kept benchmark results, the rule on words, and the
citation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unicodedata import normalize

import yaml

from positionbias_site.markdown import fence, page, toctree

_RESULT = re.compile(r"(?P<name>.+?)(?:_(?P<machine>[^_]+))?_(?P<day>\d{4}-\d\d-\d\d)")
_HYPHEN = "\N{NON-BREAKING HYPHEN}"
_TERM = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.M)


def pages(root: Path) -> dict[str, str]:
    """Return the Markdown of the pages by their paths."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    return {
        "benchmarks.md": benchmarks(sorted((root / "benchmarks" / "results").glob("*.md"))),
        "glossary.md": glossary((root / "CONTRIBUTING.md").read_text("utf-8")),
        "cite.md": cite(citation),
    }


def benchmarks(results: list[Path]) -> str:
    """Return the list of kept results, each with its machine and day."""
    rows = []
    for path in results:
        found, text = _RESULT.fullmatch(path.stem), path.read_text("utf-8")
        if found is None:
            raise ValueError(
                f"{path}: wanted NAME_MACHINE_DAY.md or NAME_DAY.md; found another name; rename it"
            )
        title = text.partition("\n")[0].removeprefix("# ")
        rows.append(
            (
                title,
                (
                    f"| [{title}]({_place(path)}) | {_machine(found['machine'], text)} | "
                    f"{found['day'].replace('-', _HYPHEN)} |"
                ),
            )
        )
    rows.sort()
    return page(
        "# Benchmarks",
        "What was measured, on which machine, and when. Each page has its command; the scripts are "
        "in `benchmarks/`.",
        "\n".join(["| measured | machine | day |", "|---|---|---|", *(row for _, row in rows)]),
        toctree(f"/benchmarks/results/{path.stem}" for path in results),
    )


def _place(path: Path) -> str:
    return f"../../benchmarks/results/{path.name}"


def _machine(slug: str | None, text: str) -> str:
    """Return the machine as the page writes it, found by its slug in the file's name."""
    words = (slug or "").split("-")
    found = re.search(r"[^\w\n]+".join(map(re.escape, words)), text, re.I) if slug else None
    return found[0] if found else " ".join(words)


def glossary(rules: str) -> str:
    """Return the terms of the rule on words, each to be linked to and searched for."""
    table = rules.partition("\n## Words\n")[2].partition("\n## ")[0]
    terms = [
        (term, meaning) for term, meaning in _TERM.findall(table) if term not in ("term", "---")
    ]
    entries = "\n\n".join(f"{term}\n: {meaning}" for term, meaning in terms)
    return page(
        "# Glossary", "One term a thing, in the code, the commands and these pages.", entries
    )


def cite(citation: dict[str, Any]) -> str:
    """Return how to cite the software and the paper that it implements, as BibTeX."""
    paper = citation["references"][0]
    return page(
        "# How to cite",
        citation["message"],
        "## The software",
        fence(
            _bibtex("software", citation["title"], citation, {"version": citation["version"]}),
            "bibtex",
        ),
        "## The paper",
        paper["notes"],
        fence(
            _bibtex(
                "inproceedings",
                "",
                paper,
                {"booktitle": paper["collection-title"], "year": paper["year"]},
            ),
            "bibtex",
        ),
    )


def _bibtex(kind: str, key: str, of: dict[str, Any], more: dict[str, Any]) -> str:
    names = [
        f"{{{one['name']}}}" if "name" in one else f"{one['family-names']}, {one['given-names']}"
        for one in of["authors"]
    ]
    if not key:
        first = (
            normalize("NFKD", of["authors"][0]["family-names"]).encode("ascii", "ignore").decode()
        )
        key = f"{first.casefold()}{of['year']}"
    fields = {"author": " and\n            ".join(names), "title": f"{{{of['title']}}}", **more}
    return "\n".join(
        [f"@{kind}{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"]
    )
