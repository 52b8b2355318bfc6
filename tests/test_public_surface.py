"""The public names: added to on purpose, never lost by accident, each with a docstring in one form
and an example that runs.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys

import pytest

import positionbias
from positionbias import ops

PUBLIC = [
    "Answer",
    "Audit",
    "Collection",
    "Passage",
    "Qrel",
    "Qrels",
    "Query",
    "Rotate",
    "Run",
    "__version__",
    "attach",
    "audit_model",
    "audit_systems",
    "check",
    "clean_leakage",
    "debias",
    "debias_model",
    "demo",
    "distil_vectors",
    "draw_clicks",
    "draw_contaminated",
    "draw_leaked",
    "encode",
    "ensemble",
    "evaluate",
    "export",
    "find_leakage",
    "histogram",
    "import_beir",
    "import_irds",
    "import_msmarco",
    "import_msmarco_docs",
    "import_msmarco_qa",
    "import_orcas",
    "import_planted",
    "import_squad",
    "import_table",
    "import_trec",
    "import_tripclick",
    "label_pairs",
    "load",
    "make_encoder",
    "make_report",
    "mats",
    "merge",
    "overlap_leakage",
    "permuted",
    "place",
    "pool_coverage",
    "pool_reliability",
    "pool_verdict",
    "push",
    "rerank",
    "retrieve",
    "rotate",
    "sample",
    "select",
    "show",
    "study",
    "suspect_contamination",
    "teach",
    "train",
    "verify",
]


def test_the_public_names_are_these() -> None:
    assert positionbias.__all__ == PUBLIC
    assert dir(positionbias) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(positionbias, name)
    if name == "__version__":
        assert [part.isdigit() for part in found.split(".")] == [True, True, True]
    else:
        assert found is getattr(importlib.import_module(found.__module__), name)
        assert found.__module__.startswith("positionbias.")
        assert found.__doc__


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'positionbias' has no attribute 'spin'"):
        _ = positionbias.spin


def test_every_module_can_be_imported_and_says_what_it_is() -> None:
    from importlib.util import find_spec
    from pathlib import Path

    package = Path(positionbias.__file__).parent
    needs = {"pyterrier.py": "pyterrier", "sbert.py": "sentence_transformers"}
    without = {package / name for name, needed in needs.items() if find_spec(needed) is None}
    for path in sorted({*package.rglob("*.py")} - without):
        if path.name == "__init__.py":
            continue
        module = importlib.import_module(
            ".".join(("positionbias", *path.relative_to(package).with_suffix("").parts))
        )
        assert module.__doc__, path


def test_rotating_a_text_loads_neither_pyarrow_nor_torch() -> None:
    code = (
        "import sys; from positionbias import rotate; print(rotate('one two three', "
        "passage_id='p1', seed=1)); print([name for name in ('torch', 'pyarrow', 'transformers', "
        "'matplotlib', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, heavy = done.stdout.splitlines()
    assert sorted(text.split()) == ["one", "three", "two"]
    assert heavy == "[]"


FUNCTIONS = [name for name in PUBLIC if inspect.isroutine(getattr(positionbias, name))]
CLASSES = [name for name in PUBLIC if inspect.isclass(getattr(positionbias, name))]
SECTION = re.compile(r"^(Args|Returns|Raises|Source|Example):", re.M)


def docstring(name: str) -> str:
    return inspect.getdoc(getattr(positionbias, name)) or ""


def test_every_public_name_is_a_function_or_a_class_or_the_version() -> None:
    assert sorted([*FUNCTIONS, *CLASSES, "__version__"]) == PUBLIC


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_in_a_sentence_what_it_does_and_then_what_it_takes_returns_and_raises(
    name: str,
) -> None:
    text = docstring(name)
    sentence = " ".join(text.partition("\n\n")[0].split())
    assert re.fullmatch(r"[A-Z][a-z-]+ .*[.?]", sentence)
    assert not re.search(r"[.?!;] [A-Z]", sentence)
    assert [section for section in SECTION.findall(text) if section != "Source"] == [
        "Args",
        "Returns",
        "Raises",
        "Example",
    ]
    described = re.findall(
        r"^    (\w+): \S", text.partition("Args:\n")[2].partition("\n\n")[0], re.M
    )
    assert described == list(inspect.signature(getattr(positionbias, name)).parameters)
    assert re.search(r"^    \w+Error(, \w+Error)*: \S", text.partition("Raises:\n")[2], re.M)


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_a_public_name_has_an_example_that_is_run_and_shows_something(name: str) -> None:
    found = getattr(positionbias, name)
    module = importlib.import_module(found.__module__)
    (collected,) = (
        one
        for one in doctest.DocTestFinder().find(module)
        if one.name == f"{module.__name__}.{name}"
    )
    assert collected.examples[0].source == "import positionbias as pb\n"
    assert any(
        f"pb.{name}(" in example.source or inspect.isclass(found) for example in collected.examples
    )
    shown = [example.want.strip() for example in collected.examples if example.want]
    assert shown
    assert not {"True", "False", "None", "..."} & set(shown)
    assert not any(example.options.get(doctest.SKIP) for example in collected.examples)


def test_type_checkers_see_the_operations_that_are_registered() -> None:
    tree = ast.parse(inspect.getsource(ops))
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("positionbias.ops")
    ]
    seen = {
        (str(node.module).rpartition(".")[2], alias.asname)
        for node in imports
        for alias in node.names
        if alias.name != "*"
    }
    assert seen == {(module, function) for module, function, _ in ops.COMMANDS.values() if function}
    assert [node.module for node in imports if node.names[0].name == "*"] == [
        "positionbias.ops.imports"
    ]
