"""`qdelay.Link`: its requests by a stand-in for the command, and links with real packets where the machine permits them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qdelay
from qdelay import _link

PYTHON = sys.executable
FAKE = Path(__file__).with_name("fake_link.py")
LONG_S = 60.0
"""Time limit of what takes a moment, seconds."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links of this test are stand-ins."""
    monkeypatch.setattr(_link, "COMMAND", [PYTHON, str(FAKE)])


@pytest.fixture(scope="session")
def obstacle() -> str | None:
    """Reason for which this machine runs no link."""
    try:
        with qdelay.Link():
            return None
    except qdelay.Error as error:
        return str(error)


@pytest.fixture
def real(obstacle: str | None, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> Iterator[None]:
    """Links of this test carry packets; skips where they cannot."""
    if obstacle is not None:
        assert "net" not in os.environ.get("QDELAY_REQUIRE", "").split(","), obstacle
        pytest.skip(f"links cannot run here: {obstacle}")
    monkeypatch.setattr(_link, "COMMAND", command)
    yield


def eventually(holds: object) -> None:
    """Waits until a function returns True."""
    assert callable(holds)
    limit = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


# Keywords


def test_keywords_are_the_options(fake: None, tmp_path: Path) -> None:
    options: dict[str, Any] = {"down": 1e7, "up": "2mbit", "delay": 0.02, "jitter": "normal:5ms", "down_loss": 0.05, "up_loss": "5%", "mtu": 1400}
    with qdelay.Link(**options, no_repeat=True, nat=False, packets=None, traces=[tmp_path, "b"], up_reorder_delay=0.001) as link:
        pass
    given = link.result["given"]
    expected = ["--down=10000000bit", "--up=2mbit", "--delay=0.02s", "--jitter=normal:5ms", "--down-loss=0.05", "--up-loss=5%", "--mtu=1400"]
    more = ["--no-repeat", f"--traces={tmp_path}", "--traces=b", "--up-reorder-delay=0.001s", "--quiet"]
    assert [option for option in given if not option.startswith(("--json", "--control"))] == expected + more


def test_unknown_keywords_and_values_name_what_was_expected() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dwon'.*did you mean 'down'"):
        qdelay.Link(dwon="10mbit")
    wrong: dict[str, Any] = {"nat": "yes", "down": object(), "mtu": True, "delay": float("nan"), "retries": 1}
    for keyword, value in wrong.items():
        with pytest.raises(qdelay.InputError, match="expected") as caught:
            qdelay.Link(**{keyword: value})
        assert caught.value.place == keyword


def test_every_option_of_the_help_is_a_keyword(command: list[str]) -> None:
    text = subprocess.run([*command, "link", "--help"], capture_output=True, text=True, check=True).stdout
    from qdelay import _native

    listed = {word for line in text.splitlines() if line.startswith("      --") for word in [line.split()[0].removeprefix("--")]}
    named = {name for name, _, _ in _native.link_options()}
    assert listed and listed <= named, listed - named


def test_errors_of_the_command_are_input_errors(fake: None) -> None:
    with pytest.raises(qdelay.InputError) as caught, qdelay.Link(down="3mbt"):
        pass
    assert (caught.value.place, str(caught.value)) == ("down", "down: '3mbt': expected a rate")


# Programs inside


def test_programs_are_those_of_subprocess(fake: None, tmp_path: Path) -> None:
    with qdelay.Link() as link:
        assert (link.outside, link.nearest, link.inside) == ("127.0.0.1", "127.0.0.2", "127.0.0.3")
        script = "cat; echo $QDELAY_OUTSIDE $OWN $HOME; pwd; echo error >&2; exit 3"
        ended = link.run(script, shell=True, input="text\n", text=True, capture_output=True, cwd=tmp_path, env={"OWN": "x", "PATH": os.environ["PATH"]})
        assert (ended.args, ended.returncode, ended.stderr) == (script, 3, "error\n")
        assert ended.stdout == f"text\n127.0.0.1 x\n{tmp_path}\n"
        assert link.run(["sh", "-c", "echo $0"], executable="/bin/sh", stdout=subprocess.PIPE).stdout == b"sh\n"
        # Nothing but the program's own: no descriptor of the link, and signals as they were.
        script = "ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status"
        outside = subprocess.run(script, shell=True, capture_output=True, check=True).stdout
        assert link.run(script, shell=True, capture_output=True).stdout == outside
        read, write = os.pipe()
        link.run(["sh", "-c", f"echo passed > /proc/self/fd/{write}"], pass_fds=[write], check=True)
        assert os.read(read, 100) == b"passed\n"
        os.close(read)
        os.close(write)


def test_missing_programs_time_limits_and_signals(fake: None) -> None:
    with qdelay.Link() as link:
        with pytest.raises(FileNotFoundError) as caught:
            link.run(["no-such-program"])
        assert caught.value.filename == "no-such-program"
        with pytest.raises(FileNotFoundError):
            link.run(["true"], cwd="/no-such-folder")
        with pytest.raises(subprocess.TimeoutExpired) as expired:
            link.run(["sleep", "1000"], timeout=0.1)
        assert expired.value.cmd == ["sleep", "1000"]
        with pytest.raises(subprocess.CalledProcessError):
            link.run(["false"], check=True)
        process = link.popen(["sleep", "1000"])
        process.send_signal(signal.SIGUSR1)
        assert process.wait(LONG_S) == -signal.SIGUSR1


def test_the_end_of_the_block_ends_programs_and_link(fake: None) -> None:
    with pytest.raises(KeyError), qdelay.Link() as link:
        polite = link.popen([PYTHON, "-c", "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print(1, flush=True); signal.pause()"], stdout=subprocess.PIPE)
        assert polite.stdout is not None and polite.stdout.readline() == b"1\n"
        raise KeyError
    polite.communicate()
    assert polite.returncode == 7
    assert link.verdict["trustworthy"] is True
    for call in (lambda: link.run(["true"]), link.status, lambda: link.outside, link.start):
        with pytest.raises(qdelay.Error):
            call()
    link.close()


def test_a_link_that_dies_raises_its_message(fake: None) -> None:
    with pytest.raises(qdelay.Error, match="the link failed: no memory"), qdelay.Link() as link:
        link._process.send_signal(signal.SIGUSR1)
        eventually(lambda: link._process.poll() is not None)
        with pytest.raises(qdelay.Error, match="the link failed: no memory"):
            link.run(["true"])
    # The exception of the block comes first.
    with pytest.raises(KeyError), qdelay.Link() as link:
        link._process.send_signal(signal.SIGUSR1)
        raise KeyError
    with pytest.raises(qdelay.Error, match="no results"):
        print(link.result)


# Changes


def test_changes_are_requests_to_the_control_socket(fake: None, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with qdelay.Link(control=path) as link:
        assert link.control == str(path)
        assert link.set(down=2e6, up_loss="3%", delay=0.005) == "done"
        link.cut()
        link.pause("down")
        link.restore(direction="up")
        assert (link.reset(port=443), link.reset()) == (2, 2)
        assert link.status()["time_s"] == 1.5
        assert [change["what"] for change in link.changes] == ["set", "cut", "pause", "restore", "reset", "reset"]
        with pytest.raises(qdelay.InputError, match="speed: unknown; expected"):
            link.set(speed="3mbit")
    assert [change["what"] for change in link.changes][-2:] == ["reset", "set"]
    assert link.result["requests"][:6] == [
        {"command": "set", "values": {"down": "2000000bit", "up-loss": "3%", "delay": "0.005s"}},
        {"command": "cut", "direction": "both"},
        {"command": "pause", "direction": "down"},
        {"command": "restore", "direction": "up"},
        {"command": "reset", "port": 443},
        {"command": "reset"},
    ]


# Real packets

SERVER = """
import socket, sys
with socket.create_server(("0.0.0.0", 0)) as server:
    print(server.getsockname()[1], flush=True)
    while True:
        with server.accept()[0] as connection:
            connection.sendall(b"x" * 100_000)
"""
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 60) as connection:
    print(sum(len(part) for part in iter(lambda: connection.recv(65536), b"")))
"""


def fetch(inner: qdelay.Link, address: str, port: str) -> int:
    ended = inner.run([PYTHON, "-c", CLIENT, address, port], stdout=subprocess.PIPE, check=True, timeout=LONG_S)
    return int(ended.stdout)


def test_packets_cross_the_link(real: None) -> None:
    with qdelay.Link(down="10mbit", delay="5ms") as outer, qdelay.Link(down="20mbit", qdisc="codel", within=outer) as inner:
        with outer.popen([PYTHON, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            assert fetch(inner, inner.nearest, port) == 100_000
            server.terminate()
        places = {os.readlink("/proc/self/ns/net"), *(link.run(["readlink", "/proc/self/ns/net"], capture_output=True, text=True).stdout.strip() for link in (outer, inner))}
        assert len(places) == 3
        assert inner.status()["down"]["setting"]["qdisc"] == "codel"
    assert inner.result["down"]["packets_delivered"] >= 100_000 / 1500
    assert inner.verdict["grade"] and outer.result["status"] == 0


def test_nothing_is_left_behind(real: None) -> None:
    with qdelay.Link() as link:
        left = int(link.run("sleep 1000 > /dev/null 2>&1 & echo $!", shell=True, stdout=subprocess.PIPE).stdout)
        os.kill(left, 0)
    eventually(lambda: not os.path.exists(f"/proc/{left}"))


def test_links_change_while_they_run(real: None) -> None:
    with qdelay.Link() as link:
        link.set(down="5mbit")
        assert link.status()["down"]["setting"]["link"] == "5mbit"
        link.cut("down")
        link.restore()
        assert link.reset(port=1) == 0
        with pytest.raises(qdelay.InputError, match="expected"):
            link.set(down="3mbt")
    assert len(link.changes) == 4


def test_a_user_without_rights_over_networks(real: None, command: list[str]) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to give up rights")
    script = f"""
        import qdelay, subprocess, sys
        from qdelay import _link
        _link.COMMAND = {command!r}
        with qdelay.Link(down="10mbit") as outer, qdelay.Link(within=outer) as inner:
            print(outer.outside, outer.messages, inner.run(["true"]).returncode)
    """
    ended = subprocess.run(
        # The one right that lets the user of number 0 exist in a namespace.
        ["setpriv", "--bounding-set=-all,+setfcap", "--", PYTHON, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "namespace" in ended.stderr:
        pytest.skip(f"no user namespaces here: {ended.stderr.splitlines()[-1]}")
    assert ended.returncode == 0, ended.stderr
    assert "private network" in ended.stdout and ended.stdout.endswith(" 0\n"), ended.stdout


# The plugin of pytest

TEST = """
def test_inside(qdelay_link):
    link = qdelay_link(down="10mbit")
    assert link.run(["true"]).returncode == 0
    assert qdelay_link().run(["true"]).returncode == 0
"""


def pytest_of(folder: Path, command: str, *options: str) -> str:
    (folder / "test_inside.py").write_text(TEST)
    (folder / "conftest.py").write_text(f"from qdelay import _link\n_link.COMMAND = {command}\n")
    words = [PYTHON, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *options, str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder).stdout


def test_the_fixture_starts_links(tmp_path: Path) -> None:
    assert "1 passed" in pytest_of(tmp_path, repr([PYTHON, str(FAKE)]))


def test_the_fixture_skips_with_the_reason(tmp_path: Path) -> None:
    program = tmp_path / "none"
    program.write_text("#!/bin/sh\necho 'qdelay: qdelay link: no namespaces; run as root' >&2; exit 2\n")
    program.chmod(0o755)
    text = pytest_of(tmp_path, repr([str(program)]))
    assert "1 skipped" in text and "links cannot run here: qdelay link: no namespaces; run as root" in text, text
    assert "1 failed" in pytest_of(tmp_path, repr([str(program)]), "--qdelay-required")


def test_the_plugin_loads_little(tmp_path: Path) -> None:
    script = "import sys, qdelay.pytest_plugin; print([name for name in sys.modules if name.split('.')[0] in ('polars', 'matplotlib') or name == 'qdelay._native'])"
    assert subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
