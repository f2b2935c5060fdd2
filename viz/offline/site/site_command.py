"""Command `python -m model site`: writes the static site, a folder for any web server.

`model.__main__` loads this module by name, because `model` must not import `viz`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from model.io.files import check_new, write_new
from model.workshop.commands import options

HELP = "write the page Translate as a folder for any web server; the model runs in the browser"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="new folder of the site")
    hint = "of the site: float16, or int8 at half the size (default: %(default)s)"
    parser.add_argument("--weights", choices=("float16", "int8"), default="float16", help=hint)
    parser.add_argument("--source-url", default="", metavar="URL", help="address of the project, which the page links to")
    parser.add_argument("--reference", action="store_true", help="link to a reference of the Python API in FOLDER/api")
    options.add_checkpoint(parser)
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints
    from viz.offline.site.site_files import site_files

    check_new(args.out)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    files = site_files(loaded, checkpoints.find_folder(args.checkpoint), args.weights, args.source_url, args.reference)
    for name, content in files.items():
        path = args.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, content)
    total = sum(map(len, files.values()))
    print(f"{len(files)} files, {total / 1e6:.1f} MB, page {len(files['index.html']) / 1e3:.0f} kB")
    print(f"python -m http.server --bind 127.0.0.1 --directory {args.out}")
