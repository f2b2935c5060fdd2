"""Scripts of `viz` import those of their own folder and of the rows below, in the order of the Python packages."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.test_imports import ROOT, row_of

_SCRIPT_IMPORT = re.compile(r"""^\s*(?:import|export)\s(?:[^"';]*?\sfrom\s*)?["']([^"']+)["']""", re.MULTILINE)
_SCRIPT_LOAD = re.compile(r"""\b(?:import|importScripts|require)\(\s*([^)]*)""")
# Scripts that load others, with what they load.
LOADING_SCRIPTS = {(Path("viz/kit/browser_store.js"), "url"): "the joined script of a component, which the server has sent"}


SITE = Path("viz/offline/site")  # has a row of its own, because it draws with components of several pages


def script_faults(script: Path, source: str) -> list[str]:
    """Returns the imports of a script in `viz` that are not of its own folder or of one below, as sentences."""
    loads = _SCRIPT_LOAD.findall(source)
    wrong = [f"{script} loads {text} while it runs" for text in loads if (script, text) not in LOADING_SCRIPTS]
    for name in _SCRIPT_IMPORT.findall(source):
        target = Path(os.path.normpath(script.parent / name))
        own, other = ("offline.site" if SITE in each.parents else each.parts[1] for each in (script, target))
        if not name.startswith(".") or target.parts[0] != "viz":
            wrong.append(f"{script} imports {name}, which is no script of viz")
        elif other != own and row_of(f"viz.{other}")[0] <= row_of(f"viz.{own}")[0]:
            wrong.append(f"{script} imports {target}, which is not below it")
    return wrong


def test_scripts_import_downwards():
    scripts = [path.relative_to(ROOT) for path in sorted(ROOT.glob("viz/**/*.js"))]
    sources = {script: (ROOT / script).read_text(encoding="utf-8") for script in scripts}
    assert sum(len(_SCRIPT_IMPORT.findall(source)) for source in sources.values()) > 100
    assert [fault for script, source in sources.items() for fault in script_faults(script, source)] == []


@pytest.mark.parametrize(
    ("script", "source", "fault"),
    [
        ("viz/heads/a.js", 'import { b } from "../inside/b.js";', "imports viz/inside/b.js, which"),
        ("viz/heads/a.js", 'import {\n  b,\n  c,\n} from "../inside/b.js";', "imports viz/inside/b.js, which"),
        ("viz/kit/a.js", 'import { b } from "../heads/b.js";', "imports viz/heads/b.js, which"),
        ("viz/save/a.js", 'export { b } from "../classroom/b.js";', "imports viz/classroom/b.js, which"),
        ("viz/heads/a.js", 'import "https://example.org/b.js";', "imports https://example.org/b.js, which is"),
        ("viz/heads/a.js", 'const b = await import("../inside/b.js");', 'loads "../inside/b.js" while it runs'),
        ("viz/heads/a.js", 'import { b } from "./b.js";\nimport { c } from "../kit/c.js";', ""),
        ("viz/save/a.js", 'import { b } from "../kit/mount.js";', ""),
    ],
)
def test_wrong_script_imports_are_faults(script, source, fault):
    found = script_faults(Path(script), source)
    assert [line.startswith(f"{script} {fault}") for line in found] == [True] * bool(fault)
