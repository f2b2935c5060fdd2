"""Names of the package: `model` and `viz` in the repository, `attention_lab` and `attention_lab.viz` where installed.

`hatch_build.py` renames import statements. Other code takes a name from here. Extras are groups of optional dependencies.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = __name__.partition(".")[0]
LIBRARY = Path(__file__).resolve().parents[1]  # the folder of the package
COMMAND = f"python -m {PACKAGE}"
_REPOSITORY = ("model", "viz")  # names in the repository

EXTRAS = {  # of pyproject.toml, with the modules that they install
    "app": (
        *("streamlit", "starlette", "plotly", "uvicorn", "uvloop", "websockets", "cachetools", "segno"),
        *("minify", "zopfli"),  # of the static site
    ),
    "serve": ("redis",),
    "evaluate": ("sacrebleu",),
}


def module_name(name: str) -> str:
    """Returns the name here of a module of the repository; a name of another package stays.

    Where installed, `model.trace` is `attention_lab.trace`, and `viz.theme` is `attention_lab.viz.theme`.
    """
    first, *rest = name.split(".")
    if PACKAGE in _REPOSITORY or first not in _REPOSITORY:
        return name
    return ".".join([PACKAGE, *rest] if first == _REPOSITORY[0] else [PACKAGE, first, *rest])


def missing_extra(fault: ImportError) -> str | None:
    """Returns the sentence for a module that an extra installs; None for another module."""
    name = (fault.name or "").partition(".")[0]
    for extra, names in EXTRAS.items():
        if name in names:
            return f"This needs {name}, which is not installed. Run: pip install attention-lab[{extra}]"
    return None
