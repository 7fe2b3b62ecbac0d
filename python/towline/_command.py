"""The command `towline`, as the package installs it."""

from __future__ import annotations

import signal
import sys

from . import _towline


def main() -> int:
    """Carries out the command line."""
    # The command looks after Ctrl-C itself; Python's own handler would only note it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _towline.command(["towline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
