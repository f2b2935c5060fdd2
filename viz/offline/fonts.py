"""The lab's typefaces as rules of a stylesheet that holds them: the files that Streamlit brings along, where it is there."""

from __future__ import annotations

import base64
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FACES = {"Source Sans": "SourceSansVF-Upright*.woff2", "Source Code Pro": "SourceCodeVF-Upright*.woff2"}


@cache
def rules() -> str:
    """One rule a typeface; none for a file that is not there: the system's own stand in its place."""
    found = find_spec("streamlit")
    homes = [Path(home) / "static" / "static" / "media" for home in (found and found.submodule_search_locations) or ()]
    made = []
    for family, pattern in FACES.items():
        for file in sorted(path for home in homes for path in home.glob(pattern))[:1]:
            held = base64.b64encode(file.read_bytes()).decode()
            source = f'url("data:font/woff2;base64,{held}") format("woff2")'
            made.append(f'@font-face{{font-family:"{family}";font-weight:200 900;font-display:block;src:{source}}}')
    return "".join(made)
