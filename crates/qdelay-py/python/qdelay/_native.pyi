"""The engine, for the modules of this package; public names are in `qdelay`."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike

__version__: str

class Component: 
    """Declared class: its entry in a registry."""

    @property
    def name(self) -> str: ...

def declare(
    component: type,
    role: str,
    name: str,
    about: str,
    source: str,
    parameters: Sequence[tuple[str, str, list[str], str, str, str, str, str]],
    methods: Sequence[tuple[str, list[str]]],
    /,
) -> Component: ...

def declare_law(
    name: str,
    about: str,
    source: str,
    parameters: Sequence[tuple[str, str, list[str], str, str, str, str, str]],
    addresses: tuple[int, int, int, int],
    state_size: int,
    is_random: bool,
    classifies: str,
    /,
) -> Component: ...

class Stepper:
    """A study whose cases are advanced in steps. What `reset` and `step` return is in the order of FIELDS."""

    FIELDS: list[str]
    def __new__(cls, options: Sequence[str], components: Sequence[Component], step: str, actions: Sequence[tuple[str, str, str]]) -> Stepper: ...
    def __len__(self) -> int: ...
    def axes(self) -> list[tuple[str, list[str]]]: ...
    def value(self, place: int, share: float) -> float: ...
    def reset(self, index: int, seed: int) -> tuple[float, int, int, float, float, int, int, float, bool]: ...
    def step(self, *shares: float) -> tuple[float, int, int, float, float, int, int, float, bool]: ...
    def finish(self) -> dict[str, float]: ...

class Table:
    """Columns of Arrow; a field's metadata has `about`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def units(self) -> list[tuple[str, str]]: ...

class Results:
    @staticmethod
    def read(path: str | PathLike[str]) -> Results: ...
    def table(self, rows: str) -> Table: ...
    def intervals(self, over: Sequence[str] = (), unit: str | None = None) -> Table: ...
    def differences(self) -> Table: ...
    def compared(
        self, figures: Sequence[str], axis: str | None, baseline: str | None, over: Sequence[str], unit: str | None = None
    ) -> Table: ...
    def json(self) -> str: ...
    @property
    def name(self) -> str: ...
    def cases(self) -> list[tuple[str, dict[str, str]]]: ...
    def axes(self) -> list[tuple[str, list[str]]]: ...
    def packets(self, place: int) -> Table | None: ...
    def series(self, place: int) -> Table | None: ...

class Study:
    @staticmethod
    def of_options(options: Sequence[str], components: Sequence[Component], *, series: bool = False, connections: bool = False) -> Study: ...
    @staticmethod
    def of_scenario(
        name: str,
        text: str,
        components: Sequence[Component],
        *,
        seeds: str | None = None,
        duration: str | None = None,
        starts: str | None = None,
        connections: bool = False,
        traces: Sequence[str | PathLike[str]] = (),
        allow_native: bool = False,
    ) -> Study: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    def __len__(self) -> int: ...
    def labels(self, index: int) -> list[tuple[str, str]]: ...
    @property
    def files(self) -> list[str]: ...
    def check(self) -> None: ...
    def stand_ins(self) -> list[tuple[str, str]]: ...
    def in_memory(
        self,
        *,
        jobs: int | None = None,
        packets: bool = False,
        progress: Callable[[int, int], object] | None = None,
        terminal: bool = False,
        limit_s: float = 0.0,
        elsewhere: Callable[..., str] | None = None,
    ) -> Results: ...
    def run_into(
        self,
        out: str | PathLike[str],
        *,
        components: Mapping[str, Mapping[str, str]] = ...,
        unverified: bool = False,
        shard: str | None = None,
        jobs: int | None = None,
        fresh: bool = False,
        packets: bool = False,
        series: bool = False,
        progress: Callable[[int, int], object] | None = None,
        terminal: bool = False,
        limit_s: float = 0.0,
        elsewhere: Callable[..., str] | None = None,
    ) -> int: ...
    def run_case(self, index: int, packets: str | PathLike[str] | None = None, *, limit_s: float = 0.0) -> str: ...

def read_scenario(scenario: str) -> tuple[str, str]: ...
def scenarios() -> list[str]: ...
def merge(
    folders: Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    components: Sequence[Component],
    allow_native: bool,
    unverified: bool,
    /,
) -> None: ...
def pack(
    folder: str | PathLike[str],
    out: str | PathLike[str],
    components: Sequence[Component],
    traces: Sequence[str],
    allow_native: bool,
    extra: Mapping[str, bytes],
    /,
) -> list[str]: ...

class Archive:
    @staticmethod
    def open(path: str | PathLike[str]) -> Archive | None: ...
    @property
    def scenario(self) -> PathLike[str]: ...
    @property
    def components(self) -> dict[str, dict[str, str]]: ...
    def differing(self, out: str | PathLike[str]) -> list[str] | None: ...

def components_json(components: Sequence[Component]) -> str: ...
def traces_json() -> str: ...
def renamed(old: str, known: Sequence[str]) -> str | None: ...
def plot_results(
    results: Sequence[Results],
    kind: str,
    *,
    select: Sequence[str] = (),
    measure: str | None = None,
    flows: Sequence[str] = (),
    over: Sequence[str] = (),
    size: str = "3.5x2.2in",
    format: str = "svg",
    log: bool = False,
    title: str | None = None,
) -> bytes: ...
def plot_data(
    results: Sequence[Results],
    kind: str,
    *,
    select: Sequence[str] = (),
    measure: str | None = None,
    flows: Sequence[str] = (),
    over: Sequence[str] = (),
) -> str: ...
def figure_path(name: str) -> str: ...
def plot_title(kind: str, measure: str) -> str: ...
def shown_labels(labels: Sequence[str]) -> list[str]: ...
def left_behind() -> int: ...
def palette() -> list[str]: ...
def command(arguments: Sequence[str]) -> int: ...
