"""The public names: what others build on is added to on purpose, and never lost by accident."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import positionbias

PUBLIC = [
    "Answer",
    "Audit",
    "Collection",
    "Passage",
    "Qrel",
    "Query",
    "Result",
    "Run",
    "__version__",
    "ats",
    "audit_model",
    "audit_systems",
    "calibrate_leakage",
    "check",
    "clean_leakage",
    "debias",
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
    "import_trec",
    "import_tripclick",
    "make_encoder",
    "make_report",
    "mats",
    "merge",
    "place",
    "pool_coverage",
    "pool_reliability",
    "pool_verdict",
    "rerank",
    "retrieve",
    "review_pairs",
    "rotate",
    "sample",
    "sample_pairs",
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


def test_every_module_names_what_it_offers() -> None:
    from pathlib import Path

    package = Path(positionbias.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.name == "__init__.py":
            continue
        module = importlib.import_module(".".join(("positionbias", *path.relative_to(package).with_suffix("").parts)))
        assert module.__doc__, path
        assert hasattr(module, "__all__"), path
        for name in module.__all__:
            assert hasattr(module, name), f"{path}: {name}"


def test_rotating_a_text_loads_neither_pyarrow_nor_torch() -> None:
    code = (
        "import sys; from positionbias import rotate; print(rotate('one two three', passage_id='p1', seed=1)); "
        "print([name for name in ('torch', 'pyarrow', 'transformers', 'matplotlib', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, heavy = done.stdout.splitlines()
    assert sorted(text.split()) == ["one", "three", "two"]
    assert heavy == "[]"
