"""What the pages of the site are: where a file of the repository stands in it, and which links a page of Markdown has."""

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The page that the site begins with. Its last section lists every page: that is the navigation.
LANDING = "docs/index.md"
NAVIGATION = "## All pages"
# The page of the playground, and what is behind `#` in links to a lesson of it: of the made page, which a code host does not have.
PLAYGROUND = "docs/playground.md"
LESSON = "lesson="
IMAGES = {".svg", ".png", ".jpg", ".gif", ".webp"}

_LINK = re.compile(r"(?<=\]\()([^()\s]+)(?=\))")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)(.*)$")


def docname(path: str) -> str:
    """The name in the site, without a suffix, of the page at `path` of the repository."""
    stem = path.removesuffix(".md")
    folder, name = posixpath.split(stem)
    stem = posixpath.join(folder, "index") if name == "README" and folder else stem
    return stem.removeprefix("docs/") if stem.startswith("docs/") else f"project/{stem.lower()}"


def is_external(target: str) -> bool:
    """Whether a link leads out of the repository."""
    return re.match(r"[a-z][a-z0-9+.-]*:", target) is not None


def prose(text: str) -> Iterator[tuple[int, str, bool]]:
    """The lines of a page with their numbers from 0, and whether each is prose, not code."""
    fence = ""
    for number, line in enumerate(text.split("\n")):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match.group(1)
            yield number, line, False
        elif match and match.group(1).startswith(fence) and not match.group(2).strip():
            fence = ""
            yield number, line, False
        else:
            yield number, line, not fence and not line.startswith("    ")


def rewritten(text: str, change: Callable[[int, str], str]) -> str:
    """The page with each target of a link as `change(line, target)` makes it."""
    lines = []
    for number, line, is_prose in prose(text):
        lines.append(_LINK.sub(lambda match: change(number + 1, match.group(1)), line) if is_prose else line)
    return "\n".join(lines)


def resolved(page: str, target: str) -> tuple[str, str]:
    """Which path of the repository a link of `page` means, and its anchor with `#`, or nothing."""
    path, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return there, f"#{anchor}" if anchor else ""


def lessons() -> set[str]:
    """The lessons of the playground, as addresses name them."""
    text = (ROOT / "crates/qdelay-web/page/lessons.js").read_text()
    return set(re.findall(r'^    id: "([a-z0-9-]+)",$', text, re.MULTILINE))


def navigation() -> list[tuple[str, list[tuple[str, str]]]]:
    """The parts of the navigation: title, and for each page its title and its path in the repository."""
    parts: list[tuple[str, list[tuple[str, str]]]] = []
    _, found, rest = (ROOT / LANDING).read_text().partition(f"\n{NAVIGATION}\n")
    if not found:
        raise SystemExit(f"{LANDING}: no section '{NAVIGATION}', of which the navigation is made")
    for line in rest.splitlines():
        if line.startswith("### "):
            parts.append((line[4:].strip(), []))
        elif match := re.match(r"\* \[([^\]]+)\]\(([^()\s]+)\)", line):
            if not parts:
                raise SystemExit(f"{LANDING}: '{line}' stands before the first '### ' heading of the navigation")
            parts[-1][1].append((match.group(1), resolved(LANDING, match.group(2))[0]))
    return parts
