"""Exceptions."""

from __future__ import annotations


class Error(Exception):
    """Base class of all exceptions of qdelay."""


class InputError(Error, ValueError):
    """Unusable value, file or folder; the message says what was expected.

    place: the file, the keyword of a function, or the case.
    line: the line of the file, counted from 1; None where there is none.
    key: the key in question; None where there is none.
    message: the line, the key, the mistake, and what was expected.
    """

    def __init__(self, place: str, line: int | None, key: str | None, message: str) -> None:
        super().__init__(place, line, key, message)
        self.place, self.line, self.key, self.message = place, line, key, message

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class AuditError(Error):
    """A run lost or doubled a packet: a fault of the program, or of a user-defined component."""


class ComponentError(Error):
    """Failure of a user-defined component, which ended its case: an exception, chained as the cause, or an invalid return value.

    component, method: which one.
    case: the id of the case.
    time_s: the simulated time, seconds.
    message: what it raised or returned, and what was expected.
    """

    def __init__(self, component: str, method: str, case: str, time_s: float, message: str) -> None:
        super().__init__(component, method, case, time_s, message)
        self.component, self.method, self.case, self.time_s, self.message = component, method, case, time_s, message

    def __str__(self) -> str:
        where = f"case {self.case}, " if self.case else ""
        return f"{self.component}.{self.method} at {self.time_s:.6f} s ({where}simulated time): {self.message}"


class TimeLimitError(Error):
    """Call of a user-defined component that did not return in time.

    case: the id of the case.
    limit_s: the limit, seconds on the clock.
    files: of a call of a shared object, which.
    """

    def __init__(self, case: str, limit_s: float, files: str = "") -> None:
        super().__init__(case, limit_s, files)
        self.case, self.limit_s, self.files = case, limit_s, files

    def __str__(self) -> str:
        if self.files:
            return f"case {self.case}: a call of {self.files} has not returned for {self.limit_s:g} s; expected it to return"
        return (
            f"case {self.case}: a call of a component has not returned in {self.limit_s:g} s; "
            "expected it to return, or a larger call_limit_s (0: no limit)"
        )


class Ended(BaseException):
    """Ends a call of a component from outside. A BaseException, so that a component's `except Exception` does not catch it."""


class Elsewhere(Exception):
    """The traceback of an exception in another process."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])
