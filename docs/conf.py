"""How Sphinx builds the site: `nox -s docs`, or `sphinx-build -EW docs docs/_build`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions")]


import privclust  # noqa: E402

project = "privclust"
author = "The privclust developers"
project_copyright = author
version = release = privclust.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "dark_figures",
    "light_pages",
    "line_breaks",
    "outside_links",
    "page_descriptions",
    "typed_commands",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "reference/generated/commands.md", "**/sg_execution_times.rst"]
templates_path = ["_templates"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4  # pages link to headings as a repository host spells them

default_role = "literal"  # docstrings mark names so
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc says types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists its methods
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
    "run_stale_examples": True,  # the library may have changed though the script did not
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 1,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "gallery_style.use_gallery_style"),
}

html_theme = "pydata_sphinx_theme"
html_title = "privclust"
html_baseurl = os.environ.get("PRIVCLUST_SITE", "")  # where it is published; cards need it
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_use_index = False  # the search finds more
html_domain_indices = False
html_theme_options = {
    "logo": {
        "text": "privclust",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # else the theme complains in the console
html_sidebars: dict[str, list[str]] = {"index": []}


def _is_ours(member: object) -> bool:
    module = getattr(member, "__module__", None) or getattr(
        getattr(member, "fget", None), "__module__", "privclust"
    )
    return str(module).startswith("privclust")


def _skip_what_others_wrote(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: Any
) -> bool | None:
    # Methods of scikit-learn's mixins are described by scikit-learn, whose links end nowhere here.
    return None if skip or _is_ours(member) else True


def _link_pages(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    # Docstrings name pages by their path, which is what helps in a terminal.
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`/\1`", line) for line in lines]


def setup(app: Sphinx) -> None:
    """Let pages of classes show our own methods only, with links to pages."""
    app.connect("autodoc-skip-member", _skip_what_others_wrote)
    app.connect("autodoc-process-docstring", _link_pages)
