"""Models of other programs come in: `convert` reads one and writes a checkpoint's folder.

A new kind is one entry here, and one in `model.foreign`."""

from __future__ import annotations

from pathlib import Path

from model import foreign
from model.convert import bert, gpt2, marian, torch_transformer
from model.convert.parts import Converted, Converter, ConvertError, Options
from model.convert.write import write
from model.files import shown

CONVERTERS: dict[str, Converter] = {
    made.name: made
    for made in (
        Converter("marian", marian.convert),
        Converter("bert", bert.convert),
        Converter("gpt2", gpt2.convert),
        Converter("torch", torch_transformer.convert),
    )
}


def read(source: Path | str, kind: str | None = None, options: Options | None = None) -> Converted:
    """A model of another program, a folder or a file, in this program's terms.

    Raises ConvertError for what is not there, not known, or cannot be held; FileError for a file that cannot be read.
    """
    path = Path(source)
    if not path.exists():
        raise ConvertError(f"There is no {path}; expected a folder or a file with a model")
    found = kind or foreign.kind_of(path)
    if found is None and "schema" in foreign.config_of(path):
        raise ConvertError(f"{path} is a checkpoint of this program already; it needs no conversion")
    if found is None:
        raise ConvertError(foreign.told(path) or f"{path} is no model that is known here; {foreign.expected()}")
    if found not in CONVERTERS:
        raise ConvertError(f"the kind is {found!r}; expected one of {', '.join(CONVERTERS)}")
    own = foreign.config_of(path).get("model_type")
    if found != "torch" and own not in (None, found):  # a state dict may lie beside the config.json of anything
        raise ConvertError(foreign.told(path) or f"{path}: 'model_type' is {shown(own)}; expected {found!r}")
    try:
        return CONVERTERS[found].convert(path, options or Options())
    except (LookupError, TypeError, AttributeError, RuntimeError) as fault:  # what a file of another form leads to
        said = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
        raise ConvertError(f"{path} is no whole {found} model ({said})") from None


def convert(source: Path | str, to: Path | str, kind: str | None = None, options: Options | None = None) -> Path:
    """Reads a model of another program and writes it as a checkpoint into a new folder, whole or not at all; returns it.

    Nothing that a file holds is executed: weights are read from safetensors, or by torch's loader of weights alone. Errors
    are those of `read`, and those of `model.convert.write.write`.
    """
    path, folder = Path(source), Path(to)
    found = kind or foreign.kind_of(path)
    return write(read(path, found, options), folder, path, CONVERTERS[found].title if found in CONVERTERS else "a model")
