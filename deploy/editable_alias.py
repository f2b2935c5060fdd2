"""The package `attention_lab` of an editable install: an alias of `model`, and `attention_lab.viz` of `viz`.

An editable install puts this file at attention_lab/__init__.py. Modules exist once, under their names in the repository.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType

NAME = "attention_lab"


class AliasLoader(MetaPathFinder, Loader):
    """Finds `attention_lab.NAME` as the module of the repository."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        real = _real_name(name)
        if real is None or (found := find_spec(real)) is None:
            return None
        return spec_from_loader(name, self, origin=found.origin, is_package=found.submodule_search_locations is not None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_real_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # the import system has replaced it

    def get_code(self, name: str) -> CodeType | None:
        """Returns the code that `python -m` runs."""
        return find_spec(_real_name(name)).loader.get_code(_real_name(name))


def _real_name(name: str) -> str | None:
    """Returns the name in the repository; None for a module of another package."""
    if not name.startswith(f"{NAME}."):
        return None
    rest = name.removeprefix(f"{NAME}.")
    return rest if rest.partition(".")[0] == "viz" else f"model.{rest}"


if __name__ == NAME:
    library = importlib.import_module("model")
    __all__, __version__, __getattr__, __dir__ = library.__all__, library.__version__, library.__getattr__, library.__dir__
    sys.meta_path.insert(0, AliasLoader())
