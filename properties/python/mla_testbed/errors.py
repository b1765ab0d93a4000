"""What the library refuses, as exceptions.

Every exception has the library's sentence as its text: the parameter or value, what was expected,
what was found.
"""

from __future__ import annotations


class MlaError(RuntimeError):
    """Base of all errors of this package.

    Attributes:
        bug: number of the known AITER defect that a refusal guards ("BUG-075"), or "".
        report: what a launch did that no correct launch does, one fault a line, or "".
    """

    def __init__(self, message: str, bug: str = "", report: str = "") -> None:
        super().__init__(message)
        self.bug = bug
        self.report = report


class LibraryError(MlaError, ImportError):
    """libmla_testbed is not there, or is of another version than this package."""


class UsageError(MlaError, ValueError):
    """An option, a number or a text is malformed or out of range."""


class UnsupportedError(MlaError):
    """Well-formed, but no kernel or planner of AITER takes it."""


class RefusedError(MlaError):
    """AITER takes it and is broken there; `bug` is the number of the defect."""


class OverrunError(MlaError):
    """A buffer is too small for what has to be written into it."""


class FaultError(MlaError):
    """A device or the environment failed, or a launch did something illegal: see `report`."""


class DeviceError(FaultError):
    """A device, a data path or an installation of AITER that was asked for is not there."""


class TensorError(MlaError, TypeError):
    """A tensor has another place, dtype, shape or layout than its parameter takes."""


class InternalError(MlaError):
    """A defect of mla-testbed."""


#: By status of the C interface (mla_status in mla_testbed.h).
BY_STATUS: dict[int, type[MlaError]] = {
    1: UsageError,
    2: UnsupportedError,
    3: RefusedError,
    4: OverrunError,
    5: FaultError,
    6: TensorError,
    8: InternalError,
    9: DeviceError,
}
