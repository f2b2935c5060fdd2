"""Writes the reference of the Python API as one HTML page, from signatures and docstrings: python -m docs.reference FOLDER.

pdoc renders it. The names are shown as a user imports them from the installed package. Comments behind the fields of a
dataclass become their descriptions.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import sys
import tokenize
from pathlib import Path
from types import ModuleType

import pdoc
from pdoc import doc, render

import model
from model.edits.intervention import Intervention

NAME = "attention_lab"
ORDER = ("load", "analyse", "Request", "Decoding", "Intervention", "Site", "Analysis")  # then other functions, then configs
RESULTS = (  # types of results and arguments, behind functions and configs
    *("Checkpoint", "Trace", "MapView", "Tree", "Hypothesis", "Effect", "HeadEffect", "SweepResult", "LeakReport"),
    *("ModelOutputs", "CheckpointComparison", "StepDifference", "CheckResult"),
)
INTRODUCTION = """The Python API of Attention Lab.

`pip install .` in the repository installs the package `attention_lab`. In the repository it has the name `model`.

```python
from attention_lab import Intervention, Request, Site, analyse, load

checkpoint = load("en-fr")
edit = Intervention().off(Site("cross", 0)).off(Site("cross", 1))
text = "The animal didn't cross the street because it was too tired."
analysis = analyse(checkpoint, Request(text, intervention=edit, mode="again"))
print(analysis.baseline.translation, "->", analysis.translation)
```

Layers, heads, tokens and steps count from 0. Shapes use the letters B batch, H head, T query length, S key length,
D width of the residual stream, V vocabulary. Log-probabilities are in nats.
"""


def public_names() -> list[str]:
    """Returns the names of the package in reading order."""
    others = sorted(set(model.__all__) - {*ORDER, *RESULTS}, key=lambda name: (name[0].isupper(), name))
    return [*ORDER, *others, *RESULTS]


def field_comments(cls: type) -> dict[str, str]:
    """Returns the comments behind the fields of a class, by field."""
    source = inspect.getsource(cls)
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(inspect.cleandoc(source)).readline):
        if token.type == tokenize.COMMENT and (field := re.match(r" {4}(\w+): ", token.line)):
            text = token.string.removeprefix("#").strip()
            comments[field[1]] = f"{text[0].upper()}{text[1:]}."
    return comments


def reference() -> doc.Module:
    """Returns the documented package: its public names."""
    package = ModuleType(NAME, INTRODUCTION)
    members = {name: getattr(model, name) for name in public_names()}
    vars(package).update(members, __all__=list(members))
    module = doc.Module(package)
    for each in module.classes:
        if dataclasses.is_dataclass(each.obj):
            each._var_docstrings.update(field_comments(each.obj))
    return module


def _shorten(match: re.Match[str]) -> str:
    """Returns a dotted name of the repository as a link to a type of the page, else under the installed name."""
    dotted = re.sub("<[^>]*>", "", match[0])
    name = dotted.rpartition(".")[2]
    if name in model.__all__:
        return f'<a href="#{name}">{name}</a>'
    return NAME + dotted.removeprefix("model")


def write(folder: Path) -> Path:
    """Writes the page into a folder, which is created, and returns its path. Changes how Intervention prints."""
    Intervention.__repr__ = lambda edits: f"Intervention({edits.code!r})" if edits else "Intervention()"
    render.configure(docformat="google", show_source=False, search=False, footer_text=f"Attention Lab {model.__version__}")
    folder.mkdir(parents=True, exist_ok=True)
    module = reference()
    page = render.html_module(module=module, all_modules={NAME: module})
    page = re.sub(r'<span class="n">model</span>(?:<span class="o">\.</span><span class="n">\w+</span>)+', _shorten, page)
    page = re.sub(r"\bmodel(?:\.[A-Za-z_]+){2,}", _shorten, page)
    (path := folder / "index.html").write_text(page, encoding="utf-8")
    return path


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))}, by pdoc {pdoc.__version__}")
