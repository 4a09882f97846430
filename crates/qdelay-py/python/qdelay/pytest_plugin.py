"""Plugin of pytest: links in tests. Loaded at each start of pytest, so it imports little."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from qdelay._link import Link


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that turns skipped tests into failures."""
    group = parser.getgroup("qdelay", "links with real packets")
    group.addoption("--qdelay-required", action="store_true", help="fail tests with qdelay_link where links cannot run, instead of skipping them")


@pytest.fixture
def qdelay_link(request: pytest.FixtureRequest) -> Iterator[Callable[..., Link]]:
    """Function that starts a link: qdelay.Link with its keywords. Links end with the test. Skips where links cannot run."""
    from qdelay import Error, Link

    with contextlib.ExitStack() as stack:

        def start(**options: Any) -> Link:
            link = Link(**options)
            try:
                return stack.enter_context(link)
            except Error:
                reason = _obstacle()
                if reason is None or request.config.getoption("--qdelay-required"):
                    raise
                pytest.skip(f"links cannot run here: {reason}")

        yield start


def _obstacle() -> str | None:
    """Reason for which this machine runs no link at all; None where a link without options runs."""
    from qdelay import Error, Link

    try:
        with Link(drain=0):
            return None
    except Error as error:
        return str(error)
