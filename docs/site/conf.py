"""How Sphinx makes HTML of the pages that stage.py has laid out."""

import json
import re
import tomllib
from pathlib import Path
from textwrap import shorten
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]

logger = logging.getLogger(__name__)

project = "qdelay"
version = release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
language = "en"
root_doc = "index"
extensions = ["myst_parser"]
exclude_patterns: list[str] = []
# Indented blocks are commands, tables and diagrams alike.
highlight_language = "none"
smartquotes = False
nitpicky = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 6
myst_dmath_allow_digits = False
myst_dmath_double_inline = True

html_theme = "furo"
html_title = "qdelay"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_domain_indices = False
pygments_style = "github-light"
pygments_dark_style = "github-dark"


def _mathml(translator: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers draw by themselves: nothing is fetched, and no program runs in the page."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    # Browsers leave letters of `mathvariant` in italics, and the converter does not know operators of two words.
    latex = re.sub(r"\\mathtt\{([^{}]*)\}", lambda match: "\\text{\ue000" + match[1].replace(r"\_", "_") + "}", node.astext()).replace(r"\arg", r"\text{arg}")
    formula = latex2mathml.converter.convert(latex, display=display)
    if unknown := re.search(r"\\[A-Za-z]+", formula):
        logger.warning("formula: latex2mathml does not know '%s'; expected another way to write it", unknown[0], location=node)
    translator.body.append(formula.replace("<mtext>\ue000", '<mtext class="code">'))
    raise nodes.SkipNode


def _abouts(app: Any, error: Exception | None) -> None:
    """The first paragraph of each page, for a search on a disk: a browser reads no pages from there to quote them."""
    if error:
        return
    abouts = {}
    for name in sorted(app.env.found_docs):
        paragraph = next(iter(app.env.get_doctree(name).findall(nodes.paragraph)), None)
        if paragraph is not None:
            abouts[name] = shorten(paragraph.astext(), 240, placeholder=" ...")
    text = f"const abouts = {json.dumps(abouts, ensure_ascii=False)};\n"
    script = Path(app.outdir) / "_static" / "search.js"
    script.write_text(text + script.read_text())


def _scripts(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app: Any) -> None:
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _abouts)
    app.add_node(nodes.math, override=True, html=(_mathml, None))
    app.add_node(nodes.math_block, override=True, html=(_mathml, None))
