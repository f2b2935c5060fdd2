"""Starts the lab: python -m viz.server."""

import sys

from viz.server.serve import main

if __name__ == "__main__":
    sys.exit(main())
