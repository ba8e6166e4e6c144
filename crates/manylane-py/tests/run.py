"""Runs the tests, and closes with the number that passed and failed."""

from __future__ import annotations

import sys

import pytest


class Count:
    """Counts what pytest reports."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails while it is set up or torn down has failed too."""
        if report.failed:
            self.failed += 1
        elif report.skipped:
            self.skipped += 1
        elif report.when == "call":
            self.passed += 1


def main() -> int:
    """Gives pytest's status."""
    count = Count()
    # Quiet enough to leave the counting to this.
    status = pytest.main(["-q", *sys.argv[1:]], plugins=[count])
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
