"""Lays out what Sphinx makes the site of, in a folder: the pages of the repository with links as the site has them, pages made by the
command, and the files of the repository that pages link to.

    stage.py OUT --command qdelay --made DIR

The Markdown of the repository is made for a code host. So that it need not be changed for the site, three things are done here: links
to files that are no pages lead to a page that shows the file, marks such as `<!-- site: playground -->` are replaced, and the list of
pages of docs/index.md becomes the navigation. DIR has what was made before: the playground, reports, the pages of papers. What is not there
is left out, and the page says so.
"""

import argparse
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path

import pages
import reference
from pages import ROOT

# Suffix of a file, and the language in which it is shown.
LANGUAGES = {
    ".rs": "rust", ".py": "python", ".c": "c", ".h": "c", ".toml": "toml", ".json": "json", ".yml": "yaml", ".tsv": "none",
    ".sh": "bash", ".mjs": "javascript",
}  # fmt: skip
ALSO = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
UNLISTED = "---\norphan: true\nnosearch: true\n---\n\n"
PLAYGROUND_FILE = "playground/index.html"
# A link to a lesson of the playground: on a code host to the page about it.
LESSON_LINK = re.compile(rf"\[([^\]]+)\]\([^()\s]*{posixpath.basename(pages.PLAYGROUND)}#({pages.LESSON}[^()\s]+)\)")
MARK = re.compile(r"^<!-- site: ([a-z]+)(?: (.*))? -->$")


class Stage:
    """The pages that are laid out, and those that are yet to be."""

    def __init__(self, out: Path, made: Path, components: dict[str, str], version: str) -> None:
        self.out, self.made, self.components, self.version = out, made, components, version
        self.waiting: list[str] = []
        self.seen: set[str] = set()
        self.faults: list[str] = []
        self.listed = {path for _, part in pages.navigation() for _, path in part}

    def add(self, path: str) -> None:
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)

    def write(self, name: str, text: str) -> None:
        file = self.out / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self) -> None:
        """Lays out every file that waits, and those that they link to."""
        while self.waiting:
            path = self.waiting.pop(0)
            there = ROOT / path
            if path.endswith(".md"):
                self.page(path)
            elif path.endswith(".ipynb"):
                self.write(shown(path), self.page_text(path, notebook(there)))
            elif is_carried(path):
                copy = self.out / carried(path)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(there, copy)
            elif there.is_dir():
                self.folder(path)
            else:
                self.file(path)

    def page(self, path: str) -> None:
        name = pages.docname(path)
        text = self.page_text(path, (ROOT / path).read_text())
        text = self.with_marks(path, text)
        if path == pages.LANDING:
            text += navigation()
        elif posixpath.basename(path) == "README.md" and path.startswith("docs/"):
            text += self.pages_of_folder(path)
        elif path not in self.listed and posixpath.dirname(path) != "docs/algorithms":
            if path.startswith("docs/"):
                self.faults.append(f"{path}: not in the list of {pages.LANDING}, section '{pages.NAVIGATION}'")
            text = UNLISTED + text
        component = Path(path).stem.replace("-", "_")
        if path.startswith("docs/algorithms/"):
            where = self.components.get(Path(path).stem) or self.components.get(component)
            if where:
                text += f"\nReference: [every parameter as the command declares it](../{where}).\n"
        self.write(name, text)

    def page_text(self, path: str, text: str) -> str:
        """The page with links as the site has them."""
        here = posixpath.dirname(shown(path) if path.endswith(".ipynb") else pages.docname(path))
        if (self.made / "playground").exists():
            made = posixpath.relpath(PLAYGROUND_FILE, here or ".")
            text = LESSON_LINK.sub(rf'<a href="{made}#\2">\1</a>', text)

        def change(line: int, target: str) -> str:
            if pages.is_external(target) or target.startswith("#"):
                return target
            there, anchor = pages.resolved(path, target)
            if there == pages.PLAYGROUND and anchor.startswith(f"#{pages.LESSON}"):
                anchor = ""
            if not (ROOT / there).exists():
                self.faults.append(f"{path}:{line}: there is no '{there}', to which '{target}' leads")
                return target
            return posixpath.relpath(self.placed(there), here or ".") + anchor

        return pages.rewritten(text, change)

    def placed(self, path: str) -> str:
        """The file of the layout that a file or a folder of the repository is in; it is laid out if it is not yet."""
        for own in ("README.md", "index.md"):
            if (ROOT / path / own).exists():
                path = posixpath.join(path, own)
        self.add(path)
        if path.endswith(".md"):
            return f"{pages.docname(path)}.md"
        return carried(path) if is_carried(path) else f"{shown(path)}.md"

    def with_marks(self, path: str, text: str) -> str:
        """The page with what its marks stand for. Blocks of `toml mine.toml` have the file's name above them."""
        name = pages.docname(path)
        lines = text.split("\n")
        for number, line, _ in list(pages.prose(text)):
            if mark := MARK.match(line):
                lines[number] = self.mark(path, number + 1, mark.group(1), mark.group(2) or "", name)
                # A picture behind it is for readers of the Markdown.
                if "<iframe" in lines[number] and lines[number + 2 : number + 3] and lines[number + 2].startswith("!["):
                    lines[number + 2] = ""
            elif block := re.match(r"^```([a-z]+) (\S+\.\S+)$", line):
                lines[number] = f"```{{code-block}} {block.group(1)}\n:caption: {block.group(2)}\n"
        return "\n".join(lines)

    def mark(self, path: str, line: int, kind: str, what: str, name: str) -> str:
        up = "../" * name.count("/")
        if kind == "cards":
            return ":::{container} cards"
        if kind == "end":
            return ":::"
        if kind == "version":
            return f"The pages of this site are of `{self.version}`."
        if kind == "playground":
            return self.frame(up, PLAYGROUND_FILE, "The playground", what, "make playground")
        if kind == "report":
            file = f"reports/{what.split()[0].replace('/', '-')}/report.html"
            return self.frame(up, file, f"The report of {what}", "", f"qdelay run {what}")
        if kind == "paper":
            command = f"qdelay reproduce {what}"
            title = f"The figures beside the claims, by `{command}` without recorded traces"
            return self.frame(up, f"papers/{what.split()[0]}/report.html", title, "", f"{command} --out DIR")
        self.faults.append(f"{path}:{line}: unknown mark '{kind}'; expected cards, end, playground, report, paper or version")
        return ""

    def frame(self, up: str, file: str, title: str, fragment: str, command: str) -> str:
        """A page that was made, within this one, and a link to it alone."""
        if not (self.made / file).exists():
            return f":::{{note}}\nNot in this build of the site: what `{command}` makes.\n:::"
        to = f"{up}{file}" + (f"#{fragment}" if fragment else "")
        text = re.sub("`([^`]*)`", r"<code>\1</code>", title)
        return (
            f'```{{raw}} html\n<p class="alone"><a href="{to}">{text}: as a page of its own</a></p>\n'
            f'<iframe class="made" src="{to}" title="{title.replace("`", "")}" loading="lazy"></iframe>\n```'
        )

    def pages_of_folder(self, path: str) -> str:
        """The pages of the folder, those first that its README names, as it names them."""
        folder = posixpath.dirname(path)
        there = {str(file.relative_to(ROOT)) for file in (ROOT / folder).glob("*.md")} - {path}
        named = [pages.resolved(path, target)[0] for target in re.findall(r"\]\(([^()\s]+)\)", (ROOT / path).read_text())]
        order = [page for page in dict.fromkeys(named) if page in there]
        order += sorted(there - set(order))
        for page in order:
            self.add(page)
        names = [posixpath.basename(pages.docname(page)) for page in order]
        if folder == "docs/reference":
            names = reference.NAMES
        return toctree("", names)

    def folder(self, path: str) -> None:
        entries = sorted(entry for entry in (ROOT / path).iterdir() if not entry.name.startswith("."))
        lines = [f"{UNLISTED}# {path}/\n"]
        for entry in entries:
            to = posixpath.relpath(self.placed(str(entry.relative_to(ROOT))), posixpath.dirname(shown(path)))
            lines.append(f"* [{entry.name}]({to})")
        self.write(shown(path), "\n".join(lines) + "\n")

    def file(self, path: str) -> None:
        text = (ROOT / path).read_text()
        fence = "`" * max(4, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        language = LANGUAGES.get(Path(path).suffix, "none")
        name = posixpath.basename(path)
        self.write(
            shown(path),
            f"{UNLISTED}# {name}\n\n`{path}`\n\n{fence}{{code-block}} {language}\n:linenos:\n\n{text.rstrip()}\n{fence}\n",
        )


def shown(path: str) -> str:
    """The name in the site of the page that shows a file or a folder of the repository."""
    if path.endswith(".ipynb"):
        return f"notebooks/{posixpath.basename(path).removesuffix('.ipynb')}"
    return f"code/{path}/index" if (ROOT / path).is_dir() else f"code/{path}"


def is_carried(path: str) -> bool:
    """Whether a file is taken as it is: pictures, a schema, which is for editors, and programs for readers."""
    return Path(path).suffix in pages.IMAGES or path.startswith("docs/") and path.endswith((".json", ".py"))


def carried(path: str) -> str:
    """Where a picture or a download is in the site."""
    return path.removeprefix("docs/")


def notebook(file: Path) -> str:
    """A notebook as Markdown, without its outputs: the tests run it, and keep none."""
    text = ""
    for cell in json.loads(file.read_text())["cells"]:
        source = "".join(cell["source"]).rstrip()
        text += f"{source}\n\n" if cell["cell_type"] == "markdown" else f"```python\n{source}\n```\n\n"
    return text


def toctree(caption: str, entries: list[str]) -> str:
    options = f":caption: {caption}\n" if caption else ""
    return "\n\n```{toctree}\n:hidden:\n" + options + "\n" + "\n".join(entries) + "\n```\n"


def navigation() -> str:
    """A tree for each part of the list of pages."""
    text = ""
    for title, part in pages.navigation():
        names = [(name, shown(path) if path.endswith(".ipynb") else pages.docname(path)) for name, path in part]
        text += toctree(title, [f"{name} <{target}>" for name, target in names])
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder that is written anew")
    parser.add_argument("--command", required=True, help="the command qdelay, which the reference is asked of")
    parser.add_argument("--made", type=Path, required=True, help="folder with playground, reports and papers")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    components = reference.write(options.command, options.out / "reference")
    stage = Stage(options.out, options.made, components, reference.asked(options.command, "--version").strip())
    for path in [pages.LANDING, *ALSO, *(str(file.relative_to(ROOT)) for file in sorted((ROOT / "docs").rglob("*.md")))]:
        stage.add(path)
    for path in stage.listed:
        if not (ROOT / path).exists():
            stage.faults.append(f"{pages.LANDING}: there is no '{path}'")
        else:
            stage.add(path)
    stage.run()
    for fault in stage.faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if stage.faults else 0)


if __name__ == "__main__":
    main()
