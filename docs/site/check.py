"""Checks links: of the Markdown of the repository as a code host shows it, and of the HTML of the site as a disk has it.

    check.py [--site DIR] [--external FILE]

A link within the repository or the site that leads nowhere, anchors included, is a fault, one line each, and the status is then 1. So is
whatever a page of the site would fetch from elsewhere by itself. Links to elsewhere are listed in FILE, not followed.
"""

import argparse
import posixpath
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pages import LESSON, PLAYGROUND, ROOT, is_external, lessons

# Attributes that name another file; those of the second set are fetched by themselves.
FOLLOWED, FETCHED = {"href", "cite", "action"}, {"src", "poster", "data", "srcset"}
# Pages that were made and are taken as they are: what stands behind `#` is for their programs.
MADE = ("playground/", "reports/", "papers/")


class Page(HTMLParser):
    """The links and anchors of a page of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[int, str, bool]] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        for name in ("id", "name") if tag == "a" else ("id",):
            if found.get(name):
                self.anchors.add(found[name] or "")
        is_fetched = tag == "link" and found.get("rel") not in ("canonical", "next", "prev", "search", "index")
        for name, value in attributes:
            if value and (name in FETCHED or name in FOLLOWED):
                for target in value.split(",") if name == "srcset" else [value]:
                    self.links.append((self.getpos()[0], target.strip().split(" ")[0], is_fetched or name in FETCHED))


@cache
def page_of(file: Path) -> Page:
    page = Page()
    page.feed(file.read_text(errors="replace"))
    return page


def check_site(site: Path, external: set[str]) -> list[str]:
    faults = []
    for file in sorted(site.rglob("*.html")):
        name = str(file.relative_to(site))
        is_made = name.startswith(MADE)
        for line, target, is_fetched in page_of(file).links:
            if target.startswith(("data:", "javascript:", "about:", "blob:")):
                continue
            if is_external(target) or target.startswith("//"):
                if is_fetched:
                    faults.append(f"{name}:{line}: fetches '{target}'; expected a file of the site, which is to work without a network")
                else:
                    external.add(target)
                continue
            parts = urlsplit(target)
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            if parts.path.startswith("/") or not there.is_relative_to(site.resolve()):
                faults.append(f"{name}:{line}: '{target}' leads out of the site")
            elif not there.is_file():
                faults.append(f"{name}:{line}: '{target}': there is no such file")
            elif parts.fragment and there.suffix == ".html" and not is_made:
                is_program = str(there.relative_to(site.resolve())).startswith(MADE)
                if not is_program and unquote(parts.fragment) not in page_of(there).anchors:
                    faults.append(f"{name}:{line}: '{target}': the page has no such anchor")
    return faults


def slugs(tokens: list[Token]) -> set[str]:
    """The anchors that a code host gives to the headings of a page."""
    found: set[str] = set()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            words = "".join(child.content for child in tokens[at + 1].children or [] if child.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
            number, unique = 0, slug
            while unique in found:
                number += 1
                unique = f"{slug}-{number}"
            found.add(unique)
    return found


@cache
def markdown(file: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(file.read_text())


def check_repository(external: set[str]) -> list[str]:
    faults = []
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        files = {name for name in listed.stdout.split("\0") if (ROOT / name).exists()}
    else:
        files = {str(file.relative_to(ROOT)) for file in ROOT.rglob("*") if "target" not in file.parts}
    folders = {posixpath.dirname(name) for name in files}
    folders |= {folder[:at] for folder in folders for at, letter in enumerate(folder) if letter == "/"}
    for name in sorted(name for name in files if name.endswith(".md")):
        for token in markdown(ROOT / name):
            for child in token.children or []:
                target = str(child.attrGet("href" if child.type == "link_open" else "src") or "")
                if not target:
                    continue
                where = f"{name}:{(token.map or [0])[0] + 1}"
                if is_external(target):
                    external.add(target)
                    continue
                parts = urlsplit(target)
                there = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
                if there not in files and there not in folders:
                    faults.append(f"{where}: '{target}': there is no '{there}'")
                elif there == PLAYGROUND and parts.fragment.startswith(LESSON):
                    if parts.fragment.removeprefix(LESSON) not in lessons():
                        faults.append(f"{where}: '{target}': the playground has no such lesson; expected one of {', '.join(sorted(lessons()))}")
                elif parts.fragment and there.endswith(".md") and parts.fragment not in slugs(markdown(ROOT / there)):
                    faults.append(f"{where}: '{target}': no heading of {there} makes this anchor")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, help="folder of the site")
    parser.add_argument("--external", type=Path, help="file for links to elsewhere")
    options = parser.parse_args()
    external: set[str] = set()
    faults = check_repository(external)
    if options.site:
        faults += check_site(options.site, external)
    if options.external:
        options.external.write_text("".join(f"{target}\n" for target in sorted(external)))
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"links: {len(faults)} broken, {len(external)} to elsewhere, which were not followed")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
