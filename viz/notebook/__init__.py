"""The lab in a notebook, without a server: `show` and `heads` are pages in a frame, `figure` makes Plotly figures.

Layers, heads and steps count from 0, as everywhere in Python.
"""

from viz.notebook import figure
from viz.notebook.frames import Frame, heads, show

__all__ = ["Frame", "figure", "heads", "show"]
