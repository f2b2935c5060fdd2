"""The files of the static site: the page with its first translation, the engine, and the model."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load, save

from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.languages import record_of
from viz.decoding_steps.beam_tree import COMPONENT as TREE
from viz.decoding_steps.candidates import COMPONENT as CANDIDATES
from viz.decoding_steps.head_map import HEAD_MAP
from viz.decoding_steps.timeline import COMPONENT as TIMELINE
from viz.kit import glosses, mount, site_texts
from viz.offline import file_shell
from viz.offline.site import constants
from viz.offline.site.bundle import bundle, compact, name_of
from viz.offline.site.trace_schema import trace_of
from viz.state.view import FIRST_SENTENCE
from viz.why.route_panel import COMPONENT as ROUTE

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

HERE = Path(__file__).parent
COMPONENTS: tuple[mount.Component, ...] = (TIMELINE, CANDIDATES, HEAD_MAP.component, TREE, ROUTE)
WORKER = "site/worker.js"
LIVE = ("worker", "loader", "glosses", "links", "route", "trace")  # modules of the worker
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
    names = {key: name.format(_digest(content)) for key, (name, content) in model.items()}
    files = {names[key]: content for key, (_, content) in model.items()}
    files |= {f"engine/{path.name}": path.read_bytes() for path in sorted((HERE.parent / "engine").glob("*.js"))}
    files |= {f"site/{name}.js": (HERE / f"{name}.js").read_bytes() for name in LIVE}
    page = ["./", *(name for name in files if name not in names.values())]
    known = json.dumps({"page": page, "model": list(names.values())})
    worker = (HERE / "service_worker.js").read_text(encoding="utf-8")
    files["service_worker.js"] = worker.replace("{ page: [], model: [] }", known).encode()
    files["index.html"] = _page(checkpoint, names, len(stored), weights, source_url, reference)
    return files


def _compact(raw: bytes) -> bytes:
    return file_shell.json_bytes(json.loads(raw))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _page(checkpoint: Checkpoint, names: dict[str, str], size: int, weights: str, source_url: str, reference: bool) -> bytes:
    """Returns the page: markup, styles, the script and the first translation, the last two compressed."""
    first = record_of(checkpoint.languages[0]).first_sentence or FIRST_SENTENCE
    analysis = analyse(checkpoint, Request(first))
    site: dict[str, Any] = constants.site(checkpoint, analysis)
    site |= {
        "files": {key: f"./{name}" for key, name in names.items()},
        "bytes": size,
        "worker": f"./{WORKER}",
        "service": "./service_worker.js",
    }
    css = {component.name: component.assets.css for component in COMPONENTS}
    view = file_shell.json_bytes({"css": css, "site": site, "stored": trace_of(analysis, checkpoint)})
    main = HERE / "main.js"
    script = f'(() => {{\n"use strict";\n{compact(bundle([main]))}modules["{name_of(main)}"].main();\n}})();'
    style = file_shell.style("site/site.css")
    starter = (HERE / "starter.js").read_text(encoding="utf-8")
    project = "the project" if not source_url else f'<a href="{html.escape(source_url)}">the project</a>'
    texts = {
        "pages": constants.other_pages(),
        "project": project,
        "source": html.escape(checkpoint.languages[0]),
        "code": site_texts.language_code(checkpoint.languages[1]),
        "translation": html.escape(analysis.translation),
        "text": html.escape(first),
        "width": str(Decoding.width),
        "checkpoint": html.escape(checkpoint.name),
        "parameters": f"{checkpoint.model.parameter_count / 1e6:.1f} M",
        "weights": f"{size / 1e6:.1f} MB of {WEIGHTS[weights]}",
        "reference": ' <a href="api/index.html">Python reference</a>.' if reference else "",
        "engine": ", ".join(f'<a href="engine/{name}.js">{name}.js</a>' for name in ("transformer", "attention", "search")),
    }
    body = (HERE / "page.html").read_text(encoding="utf-8")
    for name, text in texts.items():
        body = body.replace(f"{{{{{name}}}}}", text)
    templates = "".join(f'<template id="markup-{each.name}">{each.assets.html}</template>' for each in COMPONENTS)
    policy = file_shell.policy(starter, style, "'self'", scripts=(script,), workers="'self'")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="A small Transformer that translates, step by step, live in the browser.">
<title>Attention Lab</title>
<style>{style}</style>
</head>
<body>
{body}
<noscript><p>This page needs JavaScript. It is switched off here.</p></noscript>
{templates}
{file_shell.data_scripts({"app": script.encode()})}<script>{starter}</script>
{file_shell.data_scripts({"view": view})}</body>
</html>
""".encode()
