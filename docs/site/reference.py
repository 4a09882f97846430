"""The pages of the reference that the command can say: its help, its components, its scenarios."""

import json
import os
import re
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

from pages import ROOT

ALGORITHMS = ROOT / "docs/algorithms"
# The pages that README.md of the folder leads to; what has one page for each is below its own.
NAMES = ["commands", "components", "scenarios"]
# What the kinds of components are called in headings. A kind that is not here has its own name.
KINDS = {
    "qdisc": "Queue disciplines", "pacer": "Pacers", "transport": "Transports", "adaptation": "Rules of video players",
    "link": "Links", "loss": "Losses", "format": "Formats of traces", "channel": "Radio channels", "scheduler": "MAC schedulers",
    "partition": "Partitions of slices", "rlc": "Radio link control", "pdcp": "PDCP", "f1": "F1-U", "air": "What a radio block meets",
}  # fmt: skip


def asked(command: str, *arguments: str) -> str:
    """What the command prints."""
    # As wide as its help is at most, without the settings of whoever builds.
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([command, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{command} {' '.join(arguments)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def write(command: str, out: Path) -> dict[str, str]:
    """Writes the pages, and says where each component is: its name, and page with anchor, without folder."""
    out.mkdir(parents=True, exist_ok=True)
    commands(command, out)
    scenarios(command, out)
    return components(command, out)


def page(out: Path, name: str, text: str) -> None:
    (out / f"{name}.md").write_text(text)


def tree(names: list[str]) -> str:
    return "\n```{toctree}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def literal(text: str, language: str = "text") -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def subcommands(text: str) -> list[str]:
    """The names in the list `Commands:` of a help text."""
    listed = text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    return [match for match in re.findall(r"^  ([a-z0-9-]+)", listed, re.MULTILINE) if match != "help"]


def commands(command: str, out: Path) -> None:
    """A page for each command: what `qdelay help COMMAND` prints."""
    overview = asked(command, "help")
    names = subcommands(overview)
    for name in names:
        text = asked(command, "help", name)
        body = f"# qdelay {name}\n\n{literal(text)}"
        for below in subcommands(text):
            body += f"\n## qdelay {name} {below}\n\n{literal(asked(command, 'help', name, below))}"
        page(out, f"command-{name}", body)
    listing = tree([f"command-{name}" for name in names])
    page(out, "commands", f"# The commands\n\nWhat `qdelay help` prints; of each command, `qdelay help COMMAND`.\n\n{literal(overview)}{listing}")


def cell(text: object) -> str:
    """Text in a table of Markdown, where `|` would end it, and `<`, `*`, `_` mean something."""
    return re.sub(r"([|<>*_`\[\]$\\])", r"\\\1", "" if text is None else str(text))


def code(text: object) -> str:
    return "" if text in (None, "") else "`" + str(text).replace("|", "\\|") + "`"


def components(command: str, out: Path) -> dict[str, str]:
    """A page for each kind of component: what `qdelay list` prints, as tables."""
    kinds = defaultdict(list)
    for component in json.loads(asked(command, "list", "--json"))["components"]:
        kinds[component["kind"]].append(component)
    where = {}
    kinds_with_articles = ("qdisc", "pacer", "scheduler", "partition")
    for kind, members in kinds.items():
        body = f"# {KINDS.get(kind, kind)}\n\nWhat `qdelay list {kind}` prints. Each is written `name[:key=value...]`.\n"
        for member in members:
            anchor = f"{kind}-{member['name']}"
            if kind in kinds_with_articles:
                where.setdefault(member["name"], f"reference/{kind}.md#{anchor}")
            body += f"\n({anchor})=\n## {cell(member['name'])}\n\n{cell(sentence(member['about']))}.\n"
            if member["source"]:
                body += f"\nSource: {cell(sentence(member['source']))}.\n"
            article = next((name for name in (member["name"], member["name"].replace("_", "-")) if (ALGORITHMS / f"{name}.md").exists()), None)
            if article and kind in kinds_with_articles:
                body += f"\nWhat it does, when to use it, what to watch out for: [its page](../algorithms/{article}.md).\n"
            if member["positional"]:
                body += f"\nThe key `{member['positional']}` may be left out before its value: `{member['name']}:VALUE`.\n"
            body += parameters(member["parameters"])
            if member["known_to_be_off"]:
                body += "\nKnown to be off:\n\n" + "".join(f"* {cell(text)}\n" for text in member["known_to_be_off"])
        page(out, kind, body)
    listing = tree(list(kinds))
    page(out, "components", f"# The components\n\nWhat `qdelay list` of {asked(command, '--version').strip()} prints: every component with its parameters, units, ranges, defaults and sources.\n{listing}")
    return where


def sentence(text: str) -> str:
    """Without the full stop that only some declarations have, and with a capital."""
    text = text.rstrip(".")
    return text[:1].upper() + text[1:]


def parameters(all_of_it: list[dict[str, str | None]]) -> str:
    if not all_of_it:
        return "\nNo parameters.\n"
    rows = "\n| key | value | default | range | meaning | source |\n| --- | --- | --- | --- | --- | --- |\n"
    for one in all_of_it:
        low, high = one["min"], one["max"]
        extent = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""
        cells = [code(one["name"]), cell((one["unit"] or "").replace("|", " | ")), code(one["default"]), cell(extent), cell(one["about"]), cell(one["source"])]
        rows += "| " + " | ".join(cells) + " |\n"
    return rows


def scenarios(command: str, out: Path) -> None:
    """A page for each folder of shipped scenarios, with their text."""
    groups = defaultdict(list)
    for name in re.findall(r"^ *([a-z0-9-]+/[a-z0-9-]+)\b", asked(command, "run", "--list"), re.MULTILINE):
        groups[name.split("/")[0]].append(name)
    if not groups:
        raise SystemExit("qdelay run --list: no line begins with the name of a scenario, such as demo/first")
    for group, names in groups.items():
        body = f"# Scenarios {group}/\n\n`qdelay run NAME` runs one, `qdelay run NAME --print` prints its text.\n"
        for name in names:
            text = asked(command, "run", name, "--print")
            about = tomllib.loads(text)
            body += f"\n## {name}\n\n{cell(about.get('title', '')).rstrip('.')}.\n\n"
            body += f"{cell(about.get('about', '').strip())}\n\n{literal(text, 'toml')}"
        page(out, f"scenarios-{group}", body)
    listing = tree([f"scenarios-{group}" for group in groups])
    page(out, "scenarios", f"# The shipped scenarios\n\nWhat `qdelay run --list` names, with the text of each. [scenarios.md](../scenarios.md) says what the keys mean.\n{listing}")
