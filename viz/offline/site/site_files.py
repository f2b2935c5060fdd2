"""The files of the static site: the page with its first translation, the engine, and the model."""

from __future__ import annotations

import copy
import dataclasses
import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import load, save

from viz.kit import glosses
from viz.offline import file_shell
from viz.offline.site import constants
from viz.offline.site.site_page import page_files

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

HERE = Path(__file__).parent
WORKER = "site/worker.js"
SERVICE = "service_worker.js"
# The worker and the modules that it imports, beside the engine.
LIVE = ("worker", "analysis", "glosses", "links", "loader", "route", "token_labels", "trace", "weights_file")
WEIGHTS = {
    "float16": "float16 weights, those of the lab",
    "int8": "int8 weights: probabilities differ a little from those of the lab, and rarely a word",
}
NEEDED = {  # of a configuration, as in engine/transformer.js, and one vocabulary
    "family": "encoder-decoder",
    "positions": "sinusoidal",
    "norm": "layernorm",
    "activation": "relu",
    "norm_first": True,
    "final_norm": True,
    "output_bias": False,
    "joint_vocab": True,
}


def check(checkpoint: Checkpoint) -> None:
    """Raises ValueError for a checkpoint that the engine does not compute."""
    for name, value in NEEDED.items():
        own = getattr(checkpoint.config, name)
        if own != value:
            raise ValueError(f"{checkpoint.name} has {name} {own!r}; the site needs {value!r}. Take another checkpoint.")


def quantised(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns int8 matrices with a scale for each row, [O,D] and [O] as `name.scale`; vectors stay as they are.

    The largest number of a row becomes 127.
    """
    result = {}
    for name, values in weights.items():
        if values.ndim != 2:
            result[name] = values
            continue
        numbers = values.astype(np.float32)
        scale = np.maximum(np.abs(numbers).max(axis=1), 1e-12) / 127
        result[name] = np.rint(numbers / scale[:, None]).astype(np.int8)
        result[f"{name}.scale"] = scale.astype(np.float32)
    return result


def with_weights(checkpoint: Checkpoint, weights: dict[str, np.ndarray]) -> Checkpoint:
    """Returns a checkpoint with the weights of `quantised`."""
    import torch

    def numbers(name: str, values: np.ndarray) -> torch.Tensor:
        scales = weights.get(f"{name}.scale")
        return torch.from_numpy(values.astype(np.float32) * (1 if scales is None else scales[:, None]))

    model = copy.deepcopy(checkpoint.model)
    state = {name: numbers(name, values) for name, values in weights.items() if not name.endswith(".scale")}
    model.load_state_dict(state, strict=False)  # tied matrices are stored once
    return dataclasses.replace(checkpoint, model=model)


def site_files(
    checkpoint: Checkpoint, folder: Path, weights: str = "float16", source_url: str = "", reference: bool = False
) -> dict[str, bytes]:
    """Returns the files of the site by path.

    Args:
        folder: of the checkpoint.
        weights: one of `WEIGHTS`.
        source_url: address of the project, which the page links to.
        reference: links to the reference of the Python API in the folder `api`.

    Raises:
        ValueError: The checkpoint is none that the engine computes.
    """
    check(checkpoint)
    raw = (folder / "model.safetensors").read_bytes()
    stored = raw
    if weights == "int8":
        rounded = quantised(load(raw))
        stored, checkpoint = save(rounded), with_weights(checkpoint, rounded)
    model = {
        "weights": ("model/weights-{}.safetensors", stored),
        "config": ("model/config-{}.json", (folder / "config.json").read_bytes()),
        "tokenizer": ("model/tokenizer-{}.json", _compact((folder / "tokenizer.json").read_bytes())),
        "glosses": ("model/glosses-{}.txt", glosses.TEXT.encode()),
    }
    names = {key: name.format(file_shell.digest(content)) for key, (name, content) in model.items()}
    files = {names[key]: content for key, (_, content) in model.items()}
    files |= {f"engine/{path.name}": path.read_bytes() for path in sorted((HERE.parent / "engine").glob("*.js"))}
    files |= {f"site/{name}.js": (HERE / f"{name}.js").read_bytes() for name in LIVE}
    project = "the project" if not source_url else f'<a href="{html.escape(source_url)}">the project</a>'
    texts = {
        "pages": constants.other_pages(),
        "project": project,
        "checkpoint": html.escape(checkpoint.name),
        "parameters": f"{checkpoint.model.parameter_count / 1e6:.1f} M",
        "weights": f"{len(stored) / 1e6:.1f} MB of {WEIGHTS[weights]}",
        "reference": ' <a href="api/index.html">Python reference</a>.' if reference else "",
        "engine": ", ".join(f'<a href="engine/{name}.js">{name}.js</a>' for name in ("transformer", "attention", "search")),
    }
    site = {
        "files": {key: f"./{name}" for key, name in names.items()},
        "bytes": len(stored),
        "worker": f"./{WORKER}",
        "service": f"./{SERVICE}",
    }
    files |= page_files(checkpoint, site, texts)
    page = ["./", *(name for name in files if name not in (*names.values(), "index.html"))]
    known = json.dumps({"page": page, "model": list(names.values())})
    worker = (HERE / SERVICE).read_text(encoding="utf-8")
    files[SERVICE] = worker.replace("{ page: [], model: [] }", known).encode()
    return files


def _compact(raw: bytes) -> bytes:
    return file_shell.json_bytes(json.loads(raw))
