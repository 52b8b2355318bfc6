"""The documentation's site is whole: pages in its navigation, names and commands in its reference,
links that lead somewhere.

Sphinx itself, which ``.ci/run`` calls with warnings as errors, checks the rest.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
import yaml

import positionbias
from positionbias import settings
from positionbias.cli.main import posbias

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.S)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def pages() -> Iterator[Mapping[str, str]]:
    pytest.importorskip("pyterrier")  # whose transformers have a page
    pytest.importorskip("sentence_transformers")
    sys.path.insert(0, str(DOCS))
    import positionbias_site

    yield positionbias_site.pages()
    sys.path.remove(str(DOCS))


def listed(text: str) -> list[str]:
    """Return what the trees of a page name, without their options."""
    lines = [line for tree in TREE.findall(text) for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def reached(start: str, pages: Mapping[str, str]) -> Iterator[str]:
    """Yield the generated pages that the navigation leads to from one of them."""
    yield start
    folder = start.rpartition("/")[0]
    for name in listed(pages[start]):
        if not name.startswith("/"):
            yield from reached(f"{folder}/{name}.md", pages)


def test_every_page_is_in_the_navigation_and_there(pages: Mapping[str, str]) -> None:
    named = listed((DOCS / "index.md").read_text("utf-8"))
    generated = {
        name.removeprefix("generated/") + ".md" for name in named if name.startswith("generated/")
    }
    typed = [name for name in named if not name.startswith("generated/") and "*" not in name]
    assert {place for start in generated for place in reached(start, pages)} == set(pages)
    assert all((DOCS / f"{name}.md").is_file() for name in typed)
    assert sorted(name for name in typed if "/" not in name) == sorted(
        {path.stem for path in DOCS.glob("*.md")} - {"index"}
    )
    assert "notebooks/*" in named
    assert len(named) == len(set(named))


def test_links_between_files_of_the_repository_lead_somewhere() -> None:
    checked = 0
    for page in [*DOCS.glob("*.md"), *ROOT.glob("*.md"), ROOT / "figures" / "README.md"]:
        for target in LINK.findall(page.read_text("utf-8")):
            if not target.startswith(("http:", "https:")):
                checked += 1
                assert (page.parent / target).exists(), f"{page.name}: {target}"
                assert "generated" not in target, f"{page.name}: {target} is in no checkout"
    assert checked > 50


def test_each_public_name_is_in_the_reference_once(pages: Mapping[str, str]) -> None:
    text = "\n".join(text for place, text in pages.items() if place.startswith("api/"))
    shown = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", text, re.M)
    wanted = [f"positionbias.{name}" for name in positionbias.__all__ if name != "__version__"]
    assert all(f"(#{name})" in pages["api/index.md"] for name in wanted)
    wanted += [f"positionbias.settings.{name}" for name in settings.__all__]
    for module in ("pyterrier", "sbert"):
        wanted += [
            f"positionbias.{module}.{name}"
            for name in sys.modules[f"positionbias.{module}"].__all__
        ]
    assert sorted(shown) == sorted(wanted)


def commands(
    group: click.Group, above: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield each command with the words that call it."""
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above)
        yield context.command_path, command, context
        if isinstance(command, click.Group):
            yield from commands(command, context)


def test_each_command_is_in_the_reference_with_its_options(pages: Mapping[str, str]) -> None:
    found = list(commands(posbias, click.Context(posbias, info_name="posbias")))
    assert len(found) > 60
    for words, command, context in found:
        text = pages[f"cli/{words.split()[1]}.md"]
        section = re.split(r"^#+ ", text.partition(f"# {words}\n")[2], maxsplit=1, flags=re.M)[0]
        assert f"```text\n{words} [OPTIONS]" in section
        for option in command.get_params(context):
            assert (
                isinstance(command, click.Group)
                or option.param_type_name == "argument"
                or option.opts[-1] in section
            )


def test_the_glossary_has_the_terms_of_the_rule(pages: Mapping[str, str]) -> None:
    terms = re.findall(r"^(\S.*)\n: (.+)$", pages["glossary.md"], re.M)
    rule = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert 40 < len(terms) <= 60
    assert ("position bias", "that the place of evidence in its passage changes its rank") in terms
    assert all(f"| {term} | {meaning} |" in rule for term, meaning in terms)


def test_each_kept_result_is_listed_once(pages: Mapping[str, str]) -> None:
    results = {
        f"../../benchmarks/results/{path.name}"
        for path in (ROOT / "benchmarks" / "results").glob("*.md")
    }
    shown = LINK.findall(pages["benchmarks.md"])
    assert len(shown) == len(results)
    assert set(shown) == results
    assert "| [Verdicts at several depths](" in pages["benchmarks.md"]
    assert "| AMD EPYC, 2 cores | 2026\u201111\u201128 |" in pages["benchmarks.md"]


def test_the_citation_is_that_of_the_file(pages: Mapping[str, str]) -> None:
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"][0]
    assert (
        "@inproceedings{hofstatter2021,\n  author = {Hofstätter, Sebastian and\n"
        in pages["cite.md"]
    )
    assert f"title = {{{{{paper['title']}}}}}," in pages["cite.md"]
    assert f"version = {{{positionbias.__version__}}}," in pages["cite.md"]


def test_text_of_commands_means_nothing_in_markdown(pages: Mapping[str, str]) -> None:
    from positionbias_site.markdown import plain

    assert plain("a_b [default: 1]\n  *c* <d> | `e`") == r"a\_b \[default: 1\] \*c\* \<d\> \| \`e\`"


def test_a_page_that_is_no_longer_made_is_removed_and_one_that_has_not_changed_stays(
    pages: Mapping[str, str], tmp_path: Path
) -> None:
    from positionbias_site import write

    write(tmp_path, {"cli/demo.md": "# one\n", "cite.md": "# two\n"})
    before = (tmp_path / "cite.md").stat().st_mtime_ns
    write(tmp_path, {"cite.md": "# two\n", "api/index.md": "# three\n"})
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")) == [
        "api/index.md",
        "cite.md",
    ]
    assert (tmp_path / "cite.md").stat().st_mtime_ns == before
