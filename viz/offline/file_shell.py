"""Frame of an HTML file that needs no server: styles, scripts, compressed data, and a content security policy.

The policy allows only the script and style of the file, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from viz import theme
from viz.kit.offline_parts import ComponentAssets, joined
from viz.theme import Mode

HERE = Path(__file__).parent

_POLICY = re.compile(rb"default-src 'none'; script-src (?P<scripts>[^;]+); style-src (?P<styles>[^;]+);")


def deflated(raw: bytes) -> str:
    """Returns compressed bytes as base64."""
    return base64.b64encode(zlib.compress(raw, 9)).decode()


def json_bytes(value: Any) -> bytes:
    """Returns a value as compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


@cache
def _script(parts: tuple[ComponentAssets, ...], main: Path) -> str:
    """Returns all scripts as one: a function for each component, and the code that draws them."""
    components = ",\n".join(f"{json.dumps(each.name)}: {each.script}" for each in parts)
    text = joined(main)
    script = f'(() => {{\n"use strict";\nconst components = {{\n{components}\n}};\n{text}\nstart(components);\n}})();'
    assert "</script" not in script and "<!--" not in script
    return script


@cache
def style(name: str = "offline.css") -> str:
    """Returns the colours of both themes, the style of any page, and that of a file in this folder."""
    variables = {
        mode: ";".join(f"{name}:{value}" for name, value in theme.PALETTES[mode].css_variables().items())
        for mode in get_args(Mode)
    }
    return (
        f":root{{{variables['light']}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{variables['dark']}}}}}"
        f":root[data-theme=dark]{{{variables['dark']}}}"
        + "".join((HERE / each).read_text(encoding="utf-8") for each in ("base.css", name))
    )


def policy(
    script: str, style: str, connect: str = "", scripts: Iterable[str] = (), workers: str = "", framed: Iterable[bytes] = ()
) -> str:
    """Returns the content security policy of a file: its own script and style.

    `connect` is the source that it may fetch from, `scripts` are further scripts, `workers` is the source of its workers.
    `framed` are HTML files with a policy of their own.
    """
    allowed, styles = [f"'{_hash(each)}'" for each in (script, *scripts)], [f"'{_hash(style)}'"]
    for each in framed:
        own = _POLICY.search(each)
        assert own is not None
        allowed += own["scripts"].decode().split()
        styles += own["styles"].decode().split()
    return (
        f"default-src 'none'; script-src {' '.join(dict.fromkeys(allowed))}; "
        f"style-src {' '.join(dict.fromkeys(styles))}; base-uri 'none'; form-action 'none'"
        + (f"; connect-src {connect}" if connect else "")
        + (f"; worker-src {workers}" if workers else "")
    )


def markup(parts: Iterable[ComponentAssets]) -> str:
    """Returns the markup and style of each component."""
    return "".join(
        f'<template id="markup-{each.name}">{each.html}</template>'
        f'<script type="text/plain" id="style-{each.name}">{each.css}</script>\n'
        for each in parts
    )


def digest(content: bytes) -> str:
    """Returns a short digest for the name of a file."""
    return hashlib.sha256(content).hexdigest()[:12]


def data_scripts(data: Mapping[str, bytes], compress: Callable[[bytes], str] = deflated) -> str:
    """Returns compressed data by id, free of markup."""
    return "".join(f'<script type="text/plain" id="{each}">{compress(raw)}</script>\n' for each, raw in data.items())


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def html_file(
    name: str,
    title: str,
    head: str,
    parts: Mapping[str, ComponentAssets],
    data: Mapping[str, bytes],
    main: Path = HERE / "offline.js",
    connect: str = "",
    content: str = "",
    sheet: str = "offline.css",
    foot: str = "",
    framed: Iterable[bytes] = (),
) -> bytes:
    """Returns an HTML file in UTF-8.

    Args:
        name: of the page, for its class.
        title: as plain text.
        head: markup above the parts, with an open `div`.
        parts: the component of each part, by the name of the part.
        data: bytes by the id under which `main` reads them.
        main: script whose `start(components)` draws the parts.
        connect: source that the file may fetch from (default: none).
        content: markup below the parts.
        sheet: style of the page, a file in this folder.
        foot: markup below `main`.
        framed: HTML files of this function that the file shows in frames, which its policy binds too.
    """
    components = tuple(dict.fromkeys(parts.values()))
    script, css = _script(components, main), style(sheet)
    places = "".join(f'<div class="part-{each}"></div>\n' for each in parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(script, css, connect, framed=framed)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Attention Lab">
<title>{html.escape(title)}</title>
<style>{css}</style>
</head>
<body class="page-{name}">
{head}
<main>
{places}{content}</main>
{foot}</div>
<noscript><p>This file needs JavaScript. It is switched off here.</p></noscript>
{markup(components)}{data_scripts(data)}<script>{script}</script>
</body>
</html>
""".encode()
