"""Command `python -m model open`: shows the attention weights of one or two .npz files, on 127.0.0.1 or as an HTML file.

`model.__main__` loads this module by name, because `model` must not import `viz`.
"""

from __future__ import annotations

import argparse
import re
import sys
import webbrowser
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from model.export.given_attention import GivenAttention
from model.io.files import FileError, check_new, short_repr, write_new
from model.trace import SITE_KINDS

if TYPE_CHECKING:
    import numpy as np

    from viz.given_attention.attention_page import Head
    from viz.given_attention.combined_maps import CombinedMaps

HELP = "show the attention weights of one or two .npz files, of any model"
ADDRESS = "127.0.0.1"
HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
CODE = re.compile(rf"({'|'.join(SITE_KINDS)})-([1-9]\d{{0,4}})-([1-9]\d{{0,4}})")
MAX_PORT = 65_535
SLOW_CELLS, CELLS_PER_MINUTE = 400_000_000, 800_000_000  # weights


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="one .npz file, or two on the same tokens")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write an HTML file instead")
    parser.add_argument("--head", type=_head, metavar="CODE", help="the head shown first, such as encoder-3-1, from 1")
    hint = "a head with its full map in the HTML file of long texts; repeat it for several; all for all heads"
    parser.add_argument("--full", type=_full, action="append", metavar="CODE", help=hint)
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port (default: any free port)")


def _head(text: str) -> Head:
    match = CODE.fullmatch(text)
    if match is None:
        expected = "a kind, a layer and a head, such as encoder-3-1"
        raise argparse.ArgumentTypeError(f"the head is {short_repr(text)}; expected {expected}")
    return match[1], int(match[2]) - 1, int(match[3]) - 1


def _full(text: str) -> Head | bool:
    return True if text == "all" else _head(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= MAX_PORT):
        raise argparse.ArgumentTypeError(f"the port is {short_repr(text)}; expected a number from 0 to {MAX_PORT}")
    return int(text)


def run(args: argparse.Namespace) -> None:
    from viz.given_attention.attention_page import PageOptions, page

    if args.out is not None:
        check_new(args.out)  # before anything is computed
    full = True if True in (args.full or ()) else args.full
    attentions = read_files(args.files)
    cells = sum(layer.size for attention in attentions for layers in attention.weights.values() for layer in layers)
    if cells > SLOW_CELLS:
        print(f"Measuring {cells:,} weights. This takes about {cells / CELLS_PER_MINUTE:.0f} min.", file=sys.stderr)
    file = page(attentions, PageOptions(head=args.head, full=full, is_served=args.out is None))
    if args.out is not None:
        write_new(args.out, file)
        print(args.out)
        return
    with server(attentions, file, args.port) as running:
        address = f"http://{ADDRESS}:{running.server_address[1]}/"
        print(f"{address} (Ctrl+C ends it)", flush=True)
        if not args.no_browser:
            webbrowser.open(address)
        running.serve_forever()


def read_files(paths: Sequence[Path]) -> list[GivenAttention]:
    """Returns the attention of each file, named by its file, or by its path if two have equal names."""
    if missing := [path for path in paths if not path.exists()]:
        raise FileError(f"there is no file {missing[0]}; expected a .npz of attention weights")
    attentions = [GivenAttention.read(path) for path in paths]
    if len({attention.name for attention in attentions}) < len(attentions):
        attentions = [attention.renamed(str(path)) for attention, path in zip(attentions, paths, strict=True)]
    return attentions


def server(attentions: Sequence[GivenAttention], file: bytes, port: int = 0) -> ThreadingHTTPServer:
    """Returns a server of a page, and of the maps that it asks for. It answers requests of this computer only."""
    from viz.given_attention.combined_maps import CombinedMaps

    options = {"attentions": list(attentions), "combined": [CombinedMaps(each) for each in attentions], "file": file}
    return ThreadingHTTPServer((ADDRESS, port), type("AttentionHandler", (_PageHandler,), options))


class _PageHandler(BaseHTTPRequestHandler):
    """Answers `/` with the page, and two kinds of requests with a map [T,S] as float32.

    `/head?file=0&kind=encoder&index=5` is a head. `/combined?file=0&kind=encoder&combine=mean&layer=3&head=` is the mean,
    the maximum (max) or the rollout of several heads; an empty layer or head means all.
    """

    attentions: Sequence[GivenAttention]
    combined: Sequence[CombinedMaps]
    file: bytes

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        if HOSTS.fullmatch(self.headers.get("Host", "")) is None:  # another site may name this computer
            self._send(403, b"", "text/plain")
        elif target.path == "/":
            self._send(200, self.file, "text/html; charset=utf-8")
        elif (weights := self._weights(target.path, target.query)) is not None:
            self._send(200, weights.astype("<f4").tobytes(), "application/octet-stream")
        else:
            self._send(404, b"", "text/plain")

    def _weights(self, path: str, query: str) -> np.ndarray | None:
        """Returns the map of a request; None if it is not there."""
        try:
            fields = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
            number, kind = int(fields["file"]), fields["kind"]
            if path == "/head":
                layer, head = divmod(int(fields["index"]), self.attentions[number].shape(kind)[1])
                return self.attentions[number].head(kind, layer, head)
            if path == "/combined":
                place = {name: int(fields[name]) if fields[name] else None for name in ("layer", "head")}
                return self.combined[number].map(kind, fields["combine"], **place)
        except (ValueError, LookupError):
            pass
        return None

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": len(body), "Cache-Control": "no-store"}
        for name, value in (headers | {"X-Content-Type-Options": "nosniff"}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""
