"""Code of a user, for the type checker alone: `make types` reports a name that lost its type. Nothing runs it."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

from model import Analysis, Decoding, Intervention, Request, Site, analyse, head_effects, load, save_html, sweep
from model.checkpoint import Checkpoint
from model.experiments.effects import HeadEffect
from model.experiments.sweep import SweepResult


def use_public_names() -> None:
    checkpoint = assert_type(load("en-fr"), Checkpoint)
    edit = assert_type(Intervention().off(Site("cross", 1), head=7), Intervention)
    request = Request("A fox.", decoding=Decoding("beam", width=4), intervention=edit)
    analysis = assert_type(analyse(checkpoint, request), Analysis)
    assert_type(analysis.translation, str)
    assert_type(head_effects(checkpoint, request), tuple[HeadEffect, ...])
    assert_type(sweep(checkpoint, ["A fox."], [edit]), SweepResult)
    assert_type(save_html([], ["A"], "a.html"), Path)
    analyse(checkpoint, "A fox.")  # type: ignore[arg-type]  # a text is no request, and the checker says so
    Site("middle", 1)  # type: ignore[arg-type]
