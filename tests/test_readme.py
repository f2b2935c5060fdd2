"""README.md, CONTRIBUTING.md and docs/ agree with the code, and stay short."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest

from model.__main__ import COMMANDS, build_parser
from model.edits.intervention import Intervention

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
PICTURES = sorted((ROOT / "docs").glob("*.png"))
MAX_README_WORDS, MAX_README_PICTURES, MAX_PAGE_WORDS = 900, 3, 1450
MAX_PICTURES, MAX_PICTURE_BYTES = 15, 2_000_000
FOLDERS = ("model", "viz", "tests", "docs", "deploy", "benchmarks", "checkpoints")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return [code for name, code in BLOCK.findall(text) if name == language]


def inline_code(text: str) -> list[str]:
    """The texts between single backticks, outside code blocks."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))


def shell_lines(text: str) -> list[list[str]]:
    """The shell lines of a page as words, without comments and redirection."""
    lines = [line for block in blocks(text, "") for line in block.splitlines() if line and not line.startswith("#")]
    return [shlex.split(line.partition(" < ")[0], comments=True) for line in lines]


# -- size --------------------------------------------------------------------------------------------------------------


def test_pages_are_short():
    assert {name for name, text in PAGES.items() if len(text.split()) > MAX_PAGE_WORDS} == set()
    assert len(README.split()) <= MAX_README_WORDS
    assert len(re.findall(r"!\[", README)) <= MAX_README_PICTURES


def test_pictures_are_few_and_all_used():
    assert len(PICTURES) <= MAX_PICTURES
    assert sum(path.stat().st_size for path in PICTURES) < MAX_PICTURE_BYTES
    used = {Path(target).name for text in PAGES.values() for target in LINK.findall(text) if target.endswith(".png")}
    assert used == {path.name for path in PICTURES}


# -- links, files, commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_somewhere(page):
    for target in LINK.findall(PAGES[page]):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_named_files_exist(page):
    pattern = rf"(?:{'|'.join(FOLDERS)})/[\w./-]*"
    for code in inline_code(PAGES[page]):
        if re.fullmatch(pattern, code):
            assert (ROOT / code).exists(), code


@pytest.mark.parametrize("page", PAGES)
def test_dotted_names_exist(page):
    for name in (code.partition("(")[0] for code in inline_code(PAGES[page])):
        if re.fullmatch(r"(?:model|viz)(?:\.\w+)+", name):
            assert resolve(name) is not None, name


def test_names_of_code_in_contributing_exist():
    folders = (ROOT / folder for folder in ("model", "viz", "tests"))
    sources = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    words = set(re.findall(r"\w+", " ".join(sources)))
    for page in ("CONTRIBUTING.md", "docs/developing.md"):
        code = (text for text in inline_code(PAGES[page]) if re.fullmatch(r"@?[\w.]+(?:=|\(.*\))?", text))
        names = {name for text in code for name in re.findall(r"[A-Za-z]\w*_\w+", text)}
        assert names - words == set(), page


def resolve(name: str) -> object:
    """The module or attribute of a dotted name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        home, _, attribute = name.rpartition(".")
        return getattr(resolve(home), attribute)


@pytest.mark.parametrize("page", PAGES)
def test_imports_of_python_examples_work(page):
    for code in blocks(PAGES[page], "python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)


@pytest.mark.parametrize("page", ["README.md", "docs/checks.md"])
def test_python_examples_run(page, capsys):
    for code in blocks(PAGES[page], "python"):
        exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    if page == "README.md":
        assert len(printed) == 3 and "elle était trop dure" in printed[0] and "il était trop dur." in printed[-1]
    else:
        assert [line.split()[0] for line in printed] == ["True", "True"]


@pytest.mark.parametrize("page", PAGES)
def test_documented_commands_parse(page):
    lines = shell_lines(PAGES[page])
    lines += [
        shlex.split(code) for code in inline_code(PAGES[page]) if re.match(r"python -m model \w+ .*--(out|html)", code)
    ]
    for words in lines:
        if words[:3] == ["python", "-m", "model"]:
            assert build_parser().parse_args(words[3:]).command in COMMANDS


@pytest.mark.parametrize("page", PAGES)
def test_documented_modules_and_targets_exist(page):
    targets = re.findall(r"^([\w ]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in [*shell_lines(PAGES[page]), *(code.split() for code in inline_code(PAGES[page]))]:
        commands = [word for word in words if "=" not in word]
        if commands[:1] == ["make"]:
            assert commands[1] in " ".join(targets).split(), words
        if commands[:2] == ["python", "-m"] and commands[2].startswith("benchmarks."):
            assert (ROOT / f"{commands[2].replace('.', '/')}.py").exists(), words


def test_documented_settings_are_read_by_the_code():
    names = re.findall(r"`([A-Z_]{4,})`", PAGES["docs/serving.md"].split("## One process")[0])
    sources = [path.read_text(encoding="utf-8") for folder in ("model", "viz") for path in (ROOT / folder).rglob("*.py")]
    assert {"KEEP_MB", "LAB_ADDRESS", "CHECKPOINTS", "HOST"} <= set(names)
    for name in names:
        assert any(name in source for source in sources), name


def test_documented_edit_codes_are_read():
    table = PAGES["docs/edits.md"].split("| edit | code |")[1].split("\n\n")[0]
    codes = re.findall(r"`([a-z][^`]*)`", table)
    assert len(codes) > 20
    for code in codes:
        assert Intervention().with_edit(code) != Intervention()
