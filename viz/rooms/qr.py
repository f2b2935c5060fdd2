"""An address as a QR code, drawn here."""

from __future__ import annotations

import io

QUIET = 4  # modules of white around it: cameras need them, and on a dark page more than ever


def svg(address: str) -> bytes:
    """A picture in black on white, of whatever size it is shown at."""
    import segno

    made = io.BytesIO()
    segno.make(address, error="m", micro=False).save(
        made, kind="svg", border=QUIET, light="white", omitsize=True, xmldecl=False, svgclass=None, lineclass=None
    )
    return made.getvalue()
