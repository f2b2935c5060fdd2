"""The runs that the tests of the page Training look at."""

import shutil

import pytest

from model.workshop.training.history import LOG, PROBES, SETTINGS
from tests.support import tiny
from tests.support.training_helpers import make


@pytest.fixture(scope="module", autouse=True)
def runs(tmp_path_factory, pair_files):
    """A folder with a run, and some that are none, or damaged."""
    folder = tmp_path_factory.mktemp("runs")
    lines = [f"{n}\t{source}\t{target}\n" for n, (source, target) in enumerate(tiny.HELD_OUT[:3])]
    (folder / "probes.txt").write_text("".join(lines), encoding="utf-8")
    pairs = zip(tiny.HELD_OUT, "abab", strict=False)
    rows = ((text, right, f"{right} Una nefa.", *text.strip(".").split()[:2], split) for (text, right), split in pairs)
    columns = ("english", "right", "wrong", "noun", "other", "split")
    (folder / "contrast.tsv").write_text("\n".join(map("\t".join, (columns, *rows))), encoding="utf-8")
    make(
        folder / "mine", (*pair_files, folder / "probes.txt", folder / "contrast.tsv"), epochs=4, log_every=2, clip=0.5
    ).train()
    for name in ("torn", "bare", "other"):
        shutil.copytree(folder / "mine", folder / name)
    (folder / "torn" / PROBES).write_bytes(b"PK\x03\x04 nonsense")
    for path in (folder / "bare" / PROBES, folder / "bare" / "checkpoint" / PROBES, folder / "bare" / LOG):
        path.unlink()
    (folder / "other" / SETTINGS).write_text('{"training": {"clip": "tight"}, "model": 3}', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNS", str(folder))
        yield folder
