"""Makes and checks the files that the panel *Save* offers."""

from __future__ import annotations

import html
from base64 import b64decode
from collections.abc import Collection, Sequence

from model.task import Task
from tests.support.viz_helpers import Lab
from viz import pages


def make_offers(lab: Lab, name: str, task: Task, wanted: Collection[str], parts: Sequence[str]) -> None:
    """Makes each offer of a page that is wanted: it is there, none fails, and a file of one page is headed as what it is for
    such a model. `parts`: what the first page's file has."""
    made_of = set()
    for number, offer in enumerate(lab.save["offers"]):
        if (label := offer["label"]) in wanted:
            made_of.add(label)
            lab.data.saved_file = (number, "7")
            answer = lab.run().save["file"]
            untrained = (name, label) == ("training", "What is shown, as CSV")  # a checkpoint without a log has no numbers
            assert "fault" not in answer or untrained, (name, label, answer)
            if label.startswith("One"):
                page = next(page for page in pages.for_task(task) if page.name == name)
                file = b64decode(answer["bytes"]).decode()
                assert f"<h1>{page.title}</h1><p>{html.escape(page.question)}</p>" in file
                assert name != "translate" or all(f'class="part-{part}"' in file for part in parts)
    assert made_of == set(wanted), (name, sorted(made_of))
