"""Colours, scales and type, light and dark. Sequential scales are mixed in OKLab (Ottosson 2020)."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from model.trace import SITE_KINDS

Mode = Literal["light", "dark"]
SANS = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'
MONO = '"Source Code Pro", ui-monospace, Menlo, monospace'
HUES = {"encoder": "#0072b2", "decoder": "#d55e00", "cross": "#009e73"}  # Okabe and Ito; one for each kind of site
SITE_NAMES = {kind: kind.capitalize() for kind in SITE_KINDS}


@dataclass(frozen=True)
class Palette:
    """The colours of one theme, by purpose."""

    page: str
    field: str
    ink: str
    ink2: str
    ink3: str
    line: str
    border: str
    mute: str
    bar: str
    encoder_ink: str
    decoder_ink: str
    cross_ink: str
    loss_ink: str
    gain_ink: str
    loss: str = "#cc79a7"
    gain: str = "#0072b2"
    encoder: str = HUES["encoder"]
    decoder: str = HUES["decoder"]
    cross: str = HUES["cross"]

    def css_variables(self) -> dict[str, str]:
        """Returns custom properties for a component: `--lab-ink` and so on."""
        return {f"--lab-{name.replace('_', '-')}": value for name, value in asdict(self).items()}


PALETTES: dict[Mode, Palette] = {
    "light": Palette(
        page="#fdfdfc",
        field="#ffffff",
        ink="#171c20",
        ink2="#4d575e",
        ink3="#626c73",
        line="#dfe3e4",
        border="#7f8a91",
        mute="#eceeee",
        bar="#8a959c",
        encoder_ink="#00639b",
        decoder_ink="#a84a00",
        cross_ink="#00714f",
        loss_ink="#9c3f74",
        gain_ink="#00639b",
    ),
    "dark": Palette(
        page="#14181b",
        field="#191e22",
        ink="#eceff0",
        ink2="#b4bdc3",
        ink3="#98a3aa",
        line="#2b3237",
        border="#75818a",
        mute="#22282c",
        bar="#76828a",
        encoder_ink="#5cb3e6",
        decoder_ink="#f58f47",
        cross_ink="#3cc79c",
        loss_ink="#e39cc4",
        gain_ink="#5cb3e6",
    ),
}
_DARK_TIPS = {"encoder": "#8fd0f7", "decoder": "#ffbd8a", "cross": "#7fe6c2"}
_TINTED: dict[Mode, float] = {"light": 0.55, "dark": 0.45}  # largest share of the scale behind text
_DARK_HUE_AT = 0.6  # the dark scale reaches its hue here, so that small weights stay visible


@cache
def scale(kind: str, mode: Mode, steps: int = 33) -> tuple[str, ...]:
    """Returns colours of equally spaced weights from 0 to 1, from the page's background to the hue of a kind of site."""
    page, hue = PALETTES[mode].page, HUES[kind]
    weights = np.linspace(0, 1, steps)
    if mode == "light":
        return tuple(_mix(page, hue, float(w)) for w in weights)
    tip = _DARK_TIPS[kind]
    return tuple(
        _mix(page, hue, w / _DARK_HUE_AT) if w < _DARK_HUE_AT else _mix(hue, tip, (w - _DARK_HUE_AT) / (1 - _DARK_HUE_AT))
        for w in map(float, weights)
    )


@cache
def tints(kind: str, mode: Mode, steps: int = 33) -> tuple[str, ...]:
    """Returns background colours of equally spaced weights: the lower part of the scale, where text keeps its contrast."""
    full = scale(kind, mode, 101)
    return tuple(full[round(100 * _TINTED[mode] * float(w))] for w in np.linspace(0, 1, steps))


@cache
def diverging(mode: Mode, steps: int = 33) -> tuple[str, ...]:
    """Returns colours of equally spaced differences from -1 (loss) over 0 (page background) to 1 (gain)."""
    colours = PALETTES[mode]
    values = np.linspace(-1, 1, steps)
    return tuple(_mix(colours.page, colours.loss if v < 0 else colours.gain, abs(float(v))) for v in values)


def plotly_scale(kind: str, mode: Mode) -> list[list[float | str]]:
    """Returns a Plotly colour scale for a kind of site, or for `difference`."""
    colours = diverging(mode) if kind == "difference" else scale(kind, mode)
    return [[i / (len(colours) - 1), c] for i, c in enumerate(colours)]


_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _mix(one: str, two: str, share: float) -> str:
    """Returns the colour at `share` between two colours, in OKLab."""
    a, b = _oklab(one), _oklab(two)
    lms = np.linalg.solve(_TO_LAB, a + (b - a) * min(1.0, max(0.0, share))) ** 3
    linear = np.clip(np.linalg.solve(_TO_LMS, lms), 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(c)):02x}" for c in encoded)


def _oklab(colour: str) -> np.ndarray:
    encoded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    return _TO_LAB @ np.cbrt(_TO_LMS @ linear)


def chart_layout(mode: Mode, height: int, **margin: int) -> dict[str, Any]:
    """Returns the base layout of a figure: colours and type of the theme; margins l, t, r, b in pixels."""
    colours = PALETTES[mode]
    return {
        "template": {"data": {"scatter": [{"type": "scatter"}]}},  # none of Plotly's own
        "height": height,
        "meta": {"height": height},  # `chart_labels.js` derives the enlargement from it
        "margin": margin,
        "paper_bgcolor": colours.page,
        "plot_bgcolor": colours.page,
        "showlegend": False,
        "font": {"family": SANS, "size": 12, "color": colours.ink},
        "hoverlabel": {"bgcolor": colours.field, "bordercolor": colours.border, "font": {"color": colours.ink, "size": 13}},
    }


@cache
def stylesheet(mode: Mode) -> str:
    """Returns the theme's colours as custom properties, the shared rules, then the rules of each page."""
    return f"<style>{_variables(mode)}\n{_rules()}</style>"


has_first_page = False  # True if the server sends `first_stylesheet` with the page


def needed_rules(mode: Mode) -> str:
    """Returns the part of the stylesheet that a run sends: the colours, and the rules if the browser lacks them."""
    return f"<style>{_variables(mode)}</style>" if has_first_page else stylesheet(mode)


@cache
def mark() -> str:
    """Returns the logo as a data URL: Streamlit would read its file at every run."""
    return f"data:image/svg+xml;base64,{b64encode((Path(__file__).parent / 'mark.svg').read_bytes()).decode()}"


def first_stylesheet() -> str:
    """Returns the stylesheet for an unknown theme, in the colours that the visitor's system prefers."""
    return f"<style>{_variables('light')}@media (prefers-color-scheme: dark){{{_variables('dark')}}}\n{_rules()}</style>"


@cache
def _variables(mode: Mode) -> str:
    variables = ";".join(f"{name}:{value}" for name, value in PALETTES[mode].css_variables().items())
    return f":root{{{variables}}}"


def _rules() -> str:
    here = Path(__file__).parent
    own = (here / "lab.css", here / "kit" / "terms.css", *sorted(here.glob("classroom/*_rules.css")))
    files = (*own, *sorted(here.glob("*/page.css")))
    return "".join(path.read_text(encoding="utf-8") for path in files)
