"""Train one: what was trained, as a component, and its tables and Python. `train_one_form.py` draws the form."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from model.workshop.small.small_tasks import OWN_PAIRS, TASKS
from viz import theme
from viz.kit import charts, mount
from viz.kit.charts import Chart
from viz.kit.panel import Panel, Picture, where
from viz.page_context import PageContext
from viz.state import trainings
from viz.state.result_cache import cached_figure
from viz.state.session_data import data
from viz.state.trainings import Training
from viz.training.curves_figures import Line, curves

if TYPE_CHECKING:
    from model.export.code import Code

BY_HEART = 0.1  # nats a token: a smaller loss on the pairs it trains on
LEARNED = 0.9  # share of exact held-out answers from which a model has learned its task
IS_TRAIN_ONE = where(of_training="train_one")
COMPONENT = mount.Component(__file__, '<div class="train-one"></div>')


def chosen() -> Training | None:
    """Returns the training that is shown: one that is in progress, else the chosen or the newest one."""
    every = trainings.of_session()
    active = [each for each in every if each.is_active]
    named = [each for each in every if each.name == data().training.chosen]
    return next(iter((*active, *named, *reversed(every))), None)


def question(task: str) -> str:
    """Returns what is to be predicted before a training."""
    return TASKS[task].question if task in TASKS else "Will it learn your pairs?"


def result(training: Training) -> str:
    """Returns the result of a training as a sentence; empty before the first report."""
    if not training.reports:
        return ""
    last = training.reports[-1]
    time = f"after {last['seconds']:.0f} s and {last['step']:,.0f} steps"
    if training.config.get("pairs"):
        right = round(last["accuracy"] * training.held_out)
        known = len(training.config["pairs"]) - training.held_out
        share = f"{right} of the {training.held_out} pairs that it does not train on are exactly right"
        return f"{share} {time}. Loss on the other {known:,}: {last['loss']:.3f} nats a token."
    share = f"{last['accuracy']:.0%} of {training.held_out} new answers are exactly right"
    return f"{share} {time}. Loss {last['loss']:.3f} nats a token."


def short_result(training: Training) -> str:
    """Returns the result for the bar of lecture mode."""
    last = training.reports[-1] if training.reports else None
    return f"{last['accuracy']:.0%} right, loss {last['loss']:.3f}, {last['seconds']:.0f} s" if last else "it starts"


def ending(training: Training) -> str:
    """Returns why a training has ended; empty without a reason that its state shows otherwise."""
    if not training.reports or training.state != "saved":
        return ""
    if training.has_learned:
        return "It ended by itself: two reports in a row had at least 99.5% right."
    if training.was_stopped:
        return "You stopped it."
    by_heart = training.config.get("pairs") and training.reports[-1]["loss"] < BY_HEART and training.accuracy < LEARNED
    more = " It knows the pairs it trains on by heart: more pairs may help." if by_heart else ""
    return f"Its time of {trainings.SECONDS:.0f} s, or its {trainings.STEPS:,} steps, were over.{more}"


def verdict(training: Training) -> str:
    """Returns the prediction beside the result; empty without a prediction."""
    if training.guess is None or not training.reports:
        return ""
    said, sure = training.guess
    predicted = f"You predicted “{'yes' if said else 'no'}”, {sure}% sure"
    if training.was_stopped and training.accuracy < LEARNED:
        return f"{predicted}. It was stopped before its end."
    learned = training.accuracy >= LEARNED
    how = "and were right" if said == learned else "and were wrong"
    bound = f"{'at least' if learned else 'fewer than'} {LEARNED:.0%} are right"
    return f"{predicted}, {how}: {bound}."


@partial(cached_figure, ignore=("training",))
def _values(name: str, count: int, last_step: float, mode: theme.Mode, training: Training) -> dict[str, Any]:
    """Returns the curves and the maps of the last report; the other arguments identify it in the cache."""
    reports = training.reports[:count]
    steps = [each["step"] for each in reports]
    last = max(steps, default=1)
    right = Line("held-out answers right", steps, [100 * each["accuracy"] for each in reports], "gain_ink")
    loss = Line("training loss", steps, [each["loss"] for each in reports], "encoder_ink")
    figures = [curves([line], "", mode, last, has_step=False) for line in (right, loss)]
    figures[0].update_yaxes(range=[0, 100])
    titles = ("New answers exactly right, %", "Loss, nats a token")
    drawn = [Chart(title, "", figure) for title, figure in zip(titles, figures, strict=True)]
    layers, heads = training.config["layers"], training.config["heads"]
    examples = []
    for example, written, levels in zip(training.examples, training.written, training.maps, strict=False):
        source, target = example["source_tokens"], example["target_tokens"]
        queries = [f"{read} → {made}" for read, made in zip(["<s>", *target[:-1]], target, strict=True)]
        grid = {
            "kind": "cross",
            "name": theme.SITE_NAMES["cross"],
            "layers": layers,
            "heads": heads,
            "shape": [len(target), len(source)],
            "queries": queries,
            "keys": source,
            "allowed": "1" * (len(target) * len(source)),
            "places": [[layer + 1, head + 1] for layer in range(layers) for head in range(heads)],
            "scale": list(theme.scale("cross", mode)),
            "levels": base64.b64encode(bytes(levels)).decode(),
        }
        texts = {"source": example["source_text"], "target": example["target_text"], "written": written}
        examples.append(texts | {"grid": grid})
    return {"charts": charts.payload(drawn, 2)["charts"], "examples": examples}


def payload(training: Training | None, mode: theme.Mode) -> Mapping[str, Any]:
    """Returns the values of the component for a training as it is now."""
    if training is None:
        return {"id": "", "charts": [], "examples": [], "large": False}
    reports = training.reports
    last_step = reports[-1]["step"] if reports else 0
    values = _values(training.name, len(reports), last_step, mode, training)
    return {"id": training.name, **values, "large": False}


def _tables(context: PageContext, training: Training | None) -> tuple[Table, ...]:
    if training is None or not training.reports:
        return ()
    columns = ("step", "seconds", "loss", "accuracy")
    rows = tuple(tuple(each[name] for name in columns) for each in training.reports)
    return (Table("small-training", columns, rows),)


def _code(code: Code, context: PageContext, training: Training | None) -> None:
    """Adds the lines that train the same model; own pairs come from a file."""
    view = context.view
    config = training.config if training is not None else config_of(view)
    values = {name: value for name, value in config.items() if name != "pairs"}
    is_own = bool(config.get("pairs")) or (training is None and view.train_task == OWN_PAIRS)
    if is_own:
        values.pop("task", None)
        code.uses(pathlib=("Path",))
        code.add(
            "pairs = read_pairs(Path('pairs.txt').read_text(encoding='utf-8'))",
            model__workshop__small__small_tasks=("read_pairs",),
        )
    arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
    more = ", pairs=tuple(pairs)" if is_own else ""
    code.add(
        f"training = SmallTraining(SmallConfig({arguments}{more}))",
        model__workshop__small__small_training=("SmallConfig", "SmallTraining"),
    )
    code.add("for report in training.run():")
    code.add("    print(report.step, report.loss, report.accuracy)")
    code.add("small = training.checkpoint('small')")


def config_of(view: Any) -> dict[str, Any]:
    """Returns the fields of `SmallConfig` that the form shows."""
    return {
        "task": view.train_task,
        "layers": view.train_layers,
        "heads": view.train_heads,
        "d_model": view.train_width,
        "positions": view.train_positions,
        "causal": view.train_causal,
        "cross_attention": view.train_cross,
        "scaling": view.train_scaling,
        "seed": view.train_seed,
    }


def _large_text(context: PageContext, training: Training | None) -> str:
    """Says in lecture mode how a training is started; empty if there is one."""
    if training is not None:
        return ""
    return (
        '<p class="lab-hall-answer">No training yet. The form that starts one is on the page: key l leaves lecture mode.</p>'
    )


TRAIN_ONE = Panel(
    "training.train_one",
    "Your training",
    COMPONENT,
    lambda context, training: payload(training, context.mode),
    compute=lambda context: chosen(),
    tables=_tables,
    code=_code,
    is_visible=IS_TRAIN_ONE,
    is_on_page=lambda context: False,  # the form draws it, again and again
    pictures=(Picture("Your training", data=lambda context, training: {"large": True}, text=_large_text),),
    is_independent=True,
    is_cached=False,
)
