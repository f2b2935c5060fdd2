"""Python code that computes a view: the request, then the readings. It is text for a notebook or a script."""

from __future__ import annotations

import dataclasses

from ..decoding.strategy import Decoding
from ..edits.intervention import BASELINE, Intervention
from ..inference.request import CheckpointName, Request
from ..io import folders
from ..io.package_names import module_name
from ..trace import Site
from .schema import codes


def name_or_path(name: str) -> str:
    """Returns the argument of `load`: the name of a shipped checkpoint, else the path of its folder where it is known.

    CHECKPOINTS= may not be set where the code runs, so a name that it gives is replaced by the path.
    """
    known = folders.list_checkpoints().folders.get(name)
    place = name.folder if isinstance(name, CheckpointName) and name.folder else known
    if place is None:
        return str(name)
    shipped = folders.SHIPPED / place.name
    return place.name if place.resolve() == shipped.resolve() else str(place)


class Code:
    """Lines of code and the imports that they need. Typed text appears only as literals."""

    def __init__(self) -> None:
        self._imports: dict[str, set[str]] = {}
        self._lines: list[str] = []

    @classmethod
    def of(cls, request: Request, device: str = "auto") -> Code:
        """Returns the lines that define `checkpoint` and `analysis`."""
        code = cls()
        code.load(request.checkpoint, device)
        code.analyse(request)
        return code

    def load(self, name: str, device: str = "auto", into: str = "checkpoint") -> None:
        """Adds the line that loads a checkpoint."""
        where = "" if device == "auto" else f", {device!r}"
        self.add(f"{into} = load({name_or_path(name)!r}{where})", model=("load",))

    def analyse(self, request: Request, checkpoint: str = "checkpoint", into: str = "analysis") -> None:
        """Adds the line that answers a request."""
        self.add(f"{into} = analyse({checkpoint}, {self.request(request)})", model=("analyse",))

    def request(self, request: Request) -> str:
        """Returns a request as an expression, without default options and checkpoint."""
        self.uses(model=("Request",))
        written = {"decoding": self._decoding, "intervention": self._intervention}
        parts = [repr(request.source)]
        for field in dataclasses.fields(Request)[1:]:
            if field.name == "checkpoint":
                continue
            value = getattr(request, field.name)
            default = Decoding() if field.name == "decoding" else field.default
            if value != default:
                parts.append(f"{field.name}={written.get(field.name, repr)(value)}")
        if sum(map(len, parts)) < 80:
            return f"Request({', '.join(parts)})"
        return "Request(\n" + "".join(f"    {part},\n" for part in parts) + ")"

    def _decoding(self, decoding: Decoding) -> str:
        self.uses(model=("Decoding",))
        first, *others = dataclasses.fields(Decoding)
        parts = [f"{f.name}={getattr(decoding, f.name)!r}" for f in others if getattr(decoding, f.name) != f.default]
        return f"Decoding({', '.join([repr(getattr(decoding, first.name)), *parts])})"

    def _intervention(self, intervention: Intervention) -> str:
        self.uses(model=("Intervention",))
        assert intervention != BASELINE, "an empty intervention is the default"
        return "Intervention()" + "".join(f".with_edit({code!r})" for code in codes(intervention))

    def site(self, site: Site) -> str:
        """Returns a site as an expression."""
        self.uses(model=("Site",))
        return f"Site({site.kind!r}, {site.layer})"

    def literal(self, value: object) -> str:
        """Returns a value as an expression."""
        if isinstance(value, Request):
            return self.request(value)
        return self.site(value) if isinstance(value, Site) else repr(value)

    def uses(self, **names: tuple[str, ...]) -> None:
        """Adds names to import, by module of the repository; `__` stands for a dot in its name."""
        for module, each in names.items():
            self._imports.setdefault(module.replace("__", "."), set()).update(each)

    def add(self, line: str, note: str = "", **names: tuple[str, ...]) -> None:
        """Adds a line, an optional comment behind it, and the names that it needs."""
        self.uses(**names)
        self._lines.append(f"{line}  # {note}" if note else line)

    @property
    def text(self) -> str:
        """Returns the code, imports first."""
        order = sorted(self._imports, key=lambda module: (module != "model" and module != "numpy", module))
        imports = [
            "import numpy as np"
            if module == "numpy"
            else f"from {module_name(module)} import {', '.join(sorted(self._imports[module]))}"
            for module in order
        ]
        return "\n".join([*imports, "", *self._lines]) + "\n"
