"""The command line: python -m model translate, maps, evaluate... Commands are in model/workshop/commands and in viz."""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":  # Ctrl+C during the imports below: no traceback, and the status of `main`
    signal.signal(signal.SIGINT, lambda *frame: os._exit(130))

from functools import partial
from importlib import import_module
from types import ModuleType

from . import __version__
from .io.numbers import Parser
from .io.package_names import COMMAND, missing_extra, module_name
from .workshop import sharding
from .workshop.commands import (
    checkpoint_commands,
    evaluate,
    report,
    route,
    target_commands,
    text_commands,
    train,
    train_small,
    variants,
)
from .workshop.commands.options import Command, add_quiet

BROKEN_PIPE_STATUS = 141  # 128 + SIGPIPE: the reader of the output has closed it, as `head -1` does
EXIT_STATUS_HELP = (
    "Exit status: 0; 2 after one line that describes the error; 130 after Ctrl+C; 141 if the reader closed the output, as "
    "head -1 does; check: 1 if a check fails. - reads standard input in place of a text or a file of data, one text per "
    "line; empty input is an error. Progress and notes go to standard error; --quiet leaves them out."
)
COMMANDS: dict[str, Command | ModuleType | str] = {  # commands of viz are module names: the model imports nothing of viz
    "translate": text_commands.TRANSLATE,
    "continue": text_commands.CONTINUE,
    "judge": text_commands.JUDGE,
    "maps": checkpoint_commands.MAPS,
    "export": "viz.offline.export_command",
    "open": "viz.given_attention.open_command",
    "site": "viz.offline.site.site_command",
    "check": checkpoint_commands.CHECK,
    "route": route,
    "evaluate": evaluate,
    "report": report,
    "split": train.SPLIT,
    "train": train,
    "train-small": train_small,
    "choose": target_commands.CHOOSE,
    "distill": target_commands.DISTILL,
    "variants": variants,
    "convert": checkpoint_commands.CONVERT,
}
PAGES = {"report": "viz.offline.heads_page"}  # module of viz that draws the HTML page of a command


def _load(name: str) -> Command | None:
    """Returns a command by name; None for a command of viz where viz is not installed."""
    command = COMMANDS[name]
    if isinstance(command, Command):
        return command
    if isinstance(command, str):
        place = module_name(command)
        try:
            command = import_module(place)
        except ModuleNotFoundError as fault:
            if not fault.name or not f"{place}.".startswith(f"{fault.name}."):
                raise
            return None
    return Command(command.HELP, command.add, command.run)


def build_parser() -> Parser:
    """Returns the parser of all commands; `command` names the chosen one."""
    parser = Parser(
        prog=COMMAND,
        description="Trains, runs, measures and exports the Transformers of Attention Lab.",
        epilog=EXIT_STATUS_HELP,
    )
    parser.add_argument("--version", action="version", version=f"Attention Lab {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name in COMMANDS:
        if command := _load(name):
            options_of = commands.add_parser(name, help=command.help)
            command.add(options_of)
            add_quiet(options_of)
            if name in PAGES:
                options_of.set_defaults(load_page=partial(import_module, module_name(PAGES[name])))
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    The status is the command's own (0 by default), 2 after an error message, 130 after Ctrl+C, or `BROKEN_PIPE_STATUS`.
    """
    try:
        return _run(argv)
    finally:
        sharding.leave()


def _run(argv: list[str] | None) -> int:
    command = COMMAND
    try:
        try:
            with sharding.only_first_speaks():
                args = build_parser().parse_args(argv)
            command += f" {args.command}"
            with sharding.shared(args.command):
                return _load(args.command).run(args) or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # an error can still be reported here
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE_STATUS
    except ImportError as fault:
        if not (sentence := missing_extra(fault)):
            raise
        print(f"{command}: {sentence}", file=sys.stderr)
        return 2
    except (ValueError, OSError, MemoryError, RuntimeError) as fault:
        if isinstance(fault, RuntimeError) and "memory" not in str(fault):  # torch mentions memory where it runs out
            raise
        message = " ".join(str(fault).split()) or "there is too little memory"
        print(f"{command}: {message}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except (OSError, ValueError):  # the output cannot be written: the disk is full
            _discard_output()
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _discard_output() -> None:
    """Redirects unwritten output to the null device, so that the final flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
