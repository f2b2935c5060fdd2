"""The command line: python -m model translate, maps, evaluate... Each command is a module of model/commands."""

from __future__ import annotations

import os
import sys

from model import __version__
from model.arguments import Parser
from model.commands import check, choose, convert, evaluate, export, go_on, judge, maps, report, train, translate, variants

COMMANDS = {
    "translate": translate,
    "continue": go_on,
    "judge": judge,
    "maps": maps,
    "export": export,
    "check": check,
    "evaluate": evaluate,
    "report": report,
    "train": train,
    "choose": choose,
    "variants": variants,
    "convert": convert,
}


def build_parser() -> Parser:
    """The parser of all commands; `command` says which was asked for."""
    parser = Parser(prog="python -m model", description="A Transformer that translates, and what is known of it.")
    parser.add_argument("--version", action="version", version=f"Attention Lab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name, command in COMMANDS.items():
        command.add(commands.add_parser(name, help=command.HELP))
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0, or the command’s own, or 2 after one line that says what is wrong."""
    args = build_parser().parse_args(argv)
    try:
        return COMMANDS[args.command].run(args) or 0
    except (ValueError, OSError, MemoryError, RuntimeError) as fault:
        if isinstance(fault, RuntimeError) and "memory" not in str(fault):  # what torch says where there is too little
            raise
        if isinstance(fault, BrokenPipeError):  # who read has left: nothing is written to them at the end either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        said = " ".join(str(fault).split()) or "there is too little memory"
        print(f"python -m model {args.command}: {said}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
