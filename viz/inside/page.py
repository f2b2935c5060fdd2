"""Inside: how is one number made?"""

from __future__ import annotations

from functools import partial

from viz.frame import show
from viz.inside import neighbours, one_head, tokens
from viz.inside.length_part import MEASURE, MEMORY, PATTERNS, SECONDS, WAYS
from viz.inside.lens_part import LENS, LENS_STEP, row_groups
from viz.inside.model_map import MAP
from viz.inside.neighbours import NEIGHBOUR_NOTES, NEIGHBOURS
from viz.inside.scale_part import GRADIENT, LARGEST, LEGEND, SCALING_NUMBERS, VARIANCE
from viz.inside.sizes import SIZE
from viz.inside.stages import STAGES
from viz.inside.tokens import TOKENS
from viz.inside.writers import WRITERS
from viz.kit import button_groups
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import PARTS

TITLES = ("One head", "Why there?", "Map", "Why √dₖ?", "Length", "Logit lens", "Tokens", "Embeddings")  # of PARTS
IN_VIEW = 3  # parts that are not in the menu
PICKS = {  # of a part
    "stages": one_head.head_groups,
    "writers": one_head.head_groups,
    "scale": one_head.site_groups,
    "lens": row_groups,
}
BOXES = {"tokens": tokens.draw_word_box, "embeddings": neighbours.draw_word_box}


def _part_groups(current: str) -> list[ButtonGroup]:
    """Returns the choice of the part: the first parts, and a menu of the others."""
    buttons = {
        f"part {part}": Button(title, partial(session.change, part=part, large=1), is_on=part == current)
        for part, title in zip(PARTS, TITLES, strict=True)
    }
    names = list(buttons)
    title = "lens, tokens, length" if current in PARTS[:IN_VIEW] else TITLES[PARTS.index(current)]
    return [
        ButtonGroup("Part", {name: buttons[name] for name in names[:IN_VIEW]}, "choice", is_label_hidden=True),
        ButtonGroup(f"More: {title}", {name: buttons[name] for name in names[IN_VIEW:]}, "menu", follows=True),
    ]


def _controls(context: PageContext) -> None:
    """Draws the choice of the part, and the controls of that part."""
    part = context.view.part
    picks = PICKS[part](context) if part in PICKS else []
    button_groups.draw("stage_picks", [*_part_groups(part), *picks])
    if picks and part != "lens":
        one_head.draw_faults(context, has_query=part != "scale")
    elif part in BOXES:
        BOXES[part](context)


LAYOUT = Layout(
    (
        (STAGES,),
        (WRITERS,),
        (MAP,),
        (SIZE,),
        (LEGEND,),
        (VARIANCE, LARGEST, GRADIENT),
        (SCALING_NUMBERS,),
        (MEASURE,),
        (SECONDS, MEMORY),
        (WAYS,),
        (PATTERNS,),
        (LENS,),
        (LENS_STEP,),
        (TOKENS,),
        (NEIGHBOURS,),
        (NEIGHBOUR_NOTES,),
    ),
    _controls,
)

if __name__ == "__main__":
    show.show("inside")
