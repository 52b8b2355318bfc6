"""The documentation's site: python -m sphinx -W --keep-going -c docs . build/site

The source folder is the repository itself: a link between files leads to the same place here and on
the repository's own page.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

from positionbias import __version__  # noqa: E402

project = "positionbias"
author = copyright = "The positionbias contributors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "positionbias_site",
]

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "benchmarks/results/*.md",
    "figures/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [".*", "build", "dist", "docs/redirect", "docs/static", "positionbias", "tests"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests run the notebooks
smartquotes = False  # -- begins an option
suppress_warnings = ["myst.header"]  # a results file may go from its title to a third level

autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = "positionbias"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["accessible.js"]
html_extra_path = ["redirect"]
html_show_sphinx = False
html_copy_source = html_show_sourcelink = False
