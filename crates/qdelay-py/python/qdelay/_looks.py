"""Styles of matplotlib figures: colours, marks, hatches and dashes of their entries, the row of bars or boxes, keys and axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from qdelay import _native
from qdelay._errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from qdelay._results import Results

MARKS = ("o", "s", "^", "D", "v", "_")
DASHES: tuple[Any, ...] = ("-", (0, (7, 4)), (0, (2, 3)), (0, (9, 3, 2, 3)), (0, (4, 2)), (0, (1, 2)))
HATCHES = (None, "////", None, "xxxx", "----", "\\\\\\\\")
"""Hatches of bars and boxes; the first is full, the second empty."""
COLUMN_IN = (3.5, 2.2)
"""Width and height of a figure for one column of two, inches."""
WIDEST_IN = 7.16
"""Width of both columns, inches: bars make a figure wider up to it."""
ENTRIES = 48
"""Largest number of lines, marks, bars or boxes that can be distinguished in one figure."""
Signs = Literal["marks", "dashed", "solid"]
"""Sign before each text of a key: a mark, or a line with a mark; dashes belong to the second axis."""
MARKS_OF_LINE = 4
"""Marks on each line."""
GREY = "#666666"
"""Colour of signs in a key that belong to no colour's label."""
_COLOURED_FIRST = ("path.qdisc", "variant", "flow.transport")


def palette() -> list[str]:
    """The colours of the command's figures, which stay apart for the colour-blind."""
    return _native.palette()


class Style:
    """Style of an entry: its place on the axis of colours and among all others, and its labels on both."""

    def __init__(self, first: str, second: str, place: int, other: int | None) -> None:
        self.first, self.second = first, second
        self.label = ", ".join(filter(None, (first, second)))
        colours = palette()
        self.colour, self.mark = colours[place % len(colours)], MARKS[place % len(MARKS)]
        self._place = place
        # Lines that differ by colour only get a dash pattern too.
        self.dash = DASHES[(place if other is None else other) % len(DASHES)]
        self.inside = (self.colour, "white", self.colour + "66")[(other or 0) % 3]

    def marks(self, places: list[int]) -> dict[str, Any]:
        """Marks of a line, at these points."""
        return {"marker": self.mark, "markevery": places, "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.6}

    def area(self) -> dict[str, Any]:
        """A bar or a box."""
        hatch = HATCHES[self._place % len(HATCHES)]
        empty = "white" if self._place % len(HATCHES) else self.colour
        return {"facecolor": self.colour + "38" if hatch else empty, "edgecolor": self.colour, "hatch": hatch}


class Row:
    """Bars or boxes side by side: in groups by the other axes, in each group by that of the colours."""

    def __init__(self, entries: list[tuple[Style, pl.DataFrame]]) -> None:
        self.entries = entries
        styles = [style for style, _ in entries]
        self.has_key = any(style.second for style in styles) and any(style.first for style in styles)
        groups = [style.second if self.has_key else style.label for style in styles]
        self.names = list(dict.fromkeys(groups))
        firsts = list(dict.fromkeys(style.first for style in styles)) if self.has_key else [""]
        self.width = 0.8 / len(firsts) if self.has_key else 0.6
        within = [firsts.index(style.first) if self.has_key else 0 for style in styles]
        self.places = [self.names.index(group) + (at - (len(firsts) - 1) / 2) * self.width for group, at in zip(groups, within)]

    def width_in(self) -> float:
        """Width of a separate figure: about a tenth of an inch for each bar, and three for each group."""
        return min(max(COLUMN_IN[0], 0.7 + max(0.11 * len(self.entries), 0.3 * len(self.names))), WIDEST_IN)

    def name(self, ax: Axes) -> None:
        """Names below the groups, turned where they are longer than their room, and a key of the colours."""
        from matplotlib.patches import Patch

        room_in = ax.get_window_extent().width / ax.figure.dpi / max(len(self.names), 1)
        turned = max(map(len, self.names), default=0) * 0.06 > room_in
        ax.set_xticks(range(len(self.names)), self.names, rotation=35 if turned else 0, ha="right" if turned else "center")
        if turned:
            for label in ax.get_xticklabels():
                label.set_rotation_mode("anchor")
        ax.set_xlim(-0.6, len(self.names) - 0.4)
        if self.has_key:
            styles = {style.first: style for style, _ in self.entries}
            keys = [Patch(label=label, **style.area()) for label, style in styles.items()]
            _key(ax, keys)


def entries(frame: pl.DataFrame, results: Results | Sequence[Results]) -> Iterator[tuple[Style, pl.DataFrame]]:
    """Lines, marks, bars or boxes with their styles, as in the command: colours and marks of one axis, dashes of all others together."""
    import polars as pl

    varied = [name for name in frame.columns[: frame.columns.index("runs")] if frame[name].n_unique() > 1]
    coloured = next((name for name in _COLOURED_FIRST if name in varied), varied[0] if varied else None)
    others = [name for name in varied if name != coloured]
    rows = frame.select(varied).unique(maintain_order=True).rows() if varied else [()]
    if len(rows) > ENTRIES:
        less = f"select={{'{coloured}': [...]}}"
        if others:
            less += f", a mean over an axis (over='{others[0]}'), or qdelay.plot.panels(..., by='{others[0]}')"
        message = f"{len(rows)} lines, marks, bars or boxes in one figure; expected at most {ENTRIES}: {less}"
        raise InputError("select", None, None, message)
    known = {name: _known(name, frame, results) for name in varied}
    shown = {name: dict(zip(labels, _native.shown_labels(labels))) for name, labels in known.items()}
    # A label keeps its colour and mark under any selection, as long as there are no more labels
    # than styles.
    first: list[Any] = []
    if coloured:
        there = frame[coloured].unique(maintain_order=True).to_list()
        first = known[coloured] if len(known[coloured]) <= len(MARKS) else there
    second: list[tuple[Any, ...]] = frame.select(others).unique(maintain_order=True).rows() if others else []
    for row in rows:
        labels = dict(zip(varied, row))
        of_one = frame.filter([pl.col(name).eq_missing(pl.lit(label)) for name, label in labels.items()]) if labels else frame
        place = first.index(labels[coloured]) if coloured else 0
        other = second.index(tuple(labels[name] for name in others)) if others else None
        named = {name: shown[name].get(label, str(label)) for name, label in labels.items()}
        yield Style(named[coloured] if coloured else "", ", ".join(named[name] for name in others), place, other), of_one


def _known(axis: str, frame: pl.DataFrame, results: Results | Sequence[Results]) -> list[str]:
    """The labels of an axis in all results, in their order."""
    own = [label for one in listed(results) for label in one.axes.get(axis, [])]
    return list(dict.fromkeys([*own, *frame[axis].unique(maintain_order=True).to_list()]))


def listed(results: Results | Sequence[Results]) -> list[Results]:
    """Results: one, or a sequence."""
    from qdelay._results import Results as Class

    return [results] if isinstance(results, Class) else list(results)


def new_axes(ax: Axes | None, width_in: float = COLUMN_IN[0]) -> Axes:
    """The axes that are given, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width_in, COLUMN_IN[1]), layout="constrained")[1]


def _key(ax: Axes, handles: Sequence[Any]) -> None:
    """Key above the axes, in as many columns as fit."""
    longest = max(len(handle.get_label()) for handle in handles)
    room_in = (ax.figure.bbox.width - ax.get_window_extent().x0) / ax.figure.dpi
    columns = max(1, min(len(handles), int(room_in / (0.35 + 0.05 * longest))))
    ax.legend(handles=handles, fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2)


def marks_along(number: int, count: int, points: int) -> list[int]:
    """The points of line `number` of `count` that have a mark: other times for each line, so that marks stay apart where lines meet."""
    every = points / (MARKS_OF_LINE + 1)
    places = [int(every * (step + (number + 0.5) / count)) for step in range(MARKS_OF_LINE + 1)]
    return sorted({place for place in places if place < points})


def marks_upwards(number: int, count: int, percents: Sequence[float]) -> list[int]:
    """Points of a distribution that have a mark: other heights for each line."""
    heights = [100 * (step + (number + 0.5) / count) / MARKS_OF_LINE for step in range(MARKS_OF_LINE)]
    return sorted({min(range(len(percents)), key=lambda place: abs(percents[place] - height)) for height in heights})


def _lines(styles: list[Style], how: Signs) -> list[Any]:
    """The key of lines or marks: the labels of the colours, then in grey the labels of all other axes, as in the command."""
    from matplotlib.lines import Line2D

    has_second = any(style.second for style in styles)

    def first(style: Style) -> Line2D:
        line: Any = "" if how == "marks" else "-" if has_second or how == "solid" else style.dash
        size = 5 if how == "marks" else 4.5
        return Line2D([], [], color=style.colour, marker=style.mark, markersize=size, linestyle=line, linewidth=1.2, label=style.first)

    def second(style: Style) -> Line2D:
        if how == "marks":
            inside = style.inside.replace(style.colour, GREY)
            return Line2D([], [], color=GREY, marker="o", markerfacecolor=inside, markersize=5, linestyle="", label=style.second)
        return Line2D([], [], color=GREY, linestyle=style.dash, linewidth=1.2, label=style.second)

    firsts = {style.first: first(style) for style in styles if style.first}
    seconds = {style.second: second(style) for style in styles if style.second}
    return [*firsts.values(), *seconds.values()]


def finished(ax: Axes, styles: list[Style] | None = None, how: Signs = "marks") -> Axes:
    """Adds grid, font sizes, and a key for several lines or marks."""
    ax.grid(alpha=0.3, linewidth=0.5)
    ax.set_axisbelow(True)
    for size, items in ((8, [ax.xaxis.label, ax.yaxis.label]), (7, [*ax.get_xticklabels(), *ax.get_yticklabels()])):
        for item in items:
            item.set_fontsize(size)
    if styles and len(styles) > 1:
        _key(ax, _lines(styles, how))
    return ax
