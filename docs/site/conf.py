"""How Sphinx makes HTML of the pages that stage.py has laid out."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils import nodes
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]

# Of a table, from how many columns on it is set narrower, and from how many letters on a name in it may be broken: on a phone, and anywhere.
MANY_COLUMNS = 8
NAME_OF_PHONE, NAME_OF_PAGE = 18, 33

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
# Results quote by themselves: static/search.js.
html_show_search_summary = False
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


def _texts(app: Any, error: Exception | None) -> None:
    """The text of each page in passages, for the search: static/search.js."""
    if error:
        return
    texts = []
    for name in sorted(app.env.found_docs):
        if "nosearch" not in app.env.metadata[name]:
            sections = []
            for section in app.env.get_doctree(name).findall(nodes.section):
                quoted, rest = _passages(section)
                head = [section["ids"][0], section.next_node(nodes.title).astext()] if sections else ["", ""]
                sections.append([*head, quoted, " ".join(rest)])
            texts.append([name, app.env.titles[name].astext(), sections])
    script = Path(app.outdir) / "_static" / "search.js"
    text = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    script.write_text(f"const texts = {text};\n{script.read_text()}")


def _passages(node: nodes.Element) -> tuple[list[str], list[str]]:
    """Paragraphs, rows of tables and commands below a node, but not in sections below it; and what is no sentence to quote: headers of tables, output."""
    quoted, rest = [], []
    for child in node.children:
        if isinstance(child, nodes.row):
            row = " | ".join(entry.astext() for entry in child.children if entry.astext())
            (rest if isinstance(child.parent, nodes.thead) else quoted).append(row)
        elif isinstance(child, nodes.literal_block):
            (rest if child["language"] in ("none", "text") else quoted).append(child.astext())
        elif isinstance(child, nodes.paragraph):
            quoted.append(child.astext())
        elif isinstance(child, nodes.Element) and not isinstance(child, nodes.section | nodes.title | nodes.comment):
            below = _passages(child)
            quoted += below[0]
            rest += below[1]
    return [" ".join(text.split()) for text in quoted], [" ".join(text.split()) for text in rest]


def _tables(app: Any, page: nodes.document) -> None:
    """Tables of many columns are set narrower, and cells with names that are too wide for a column may break them."""
    for group in page.findall(nodes.tgroup):
        if group["cols"] >= MANY_COLUMNS:
            group.parent["classes"].append("many")
    for entry in page.findall(nodes.entry):
        longest = max(map(len, entry.astext().split()), default=0)
        entry["classes"] += ["wide"] * (longest > NAME_OF_PHONE) + ["wider"] * (longest > NAME_OF_PAGE)


def _scripts(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if page == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app: Any) -> None:
    app.connect("doctree-read", _tables)
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _texts)
    app.add_node(nodes.math, override=True, html=(_mathml, None))
    app.add_node(nodes.math_block, override=True, html=(_mathml, None))
