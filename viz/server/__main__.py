"""Starts the lab: python -m viz.server, or attention-lab where installed."""

import sys

from model.io.package_names import missing_extra


def main() -> int:
    """Serves the lab and returns the exit status: 2 after one line, also if a module of an extra is missing."""
    try:
        from viz.server import serve

        return serve.main()
    except ImportError as fault:
        if not (sentence := missing_extra(fault)):
            raise
        print(sentence, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
