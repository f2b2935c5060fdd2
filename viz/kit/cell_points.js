// How the cells of a map on a canvas are named for who points at them: `cross 11 9`, its kind, row and column from 1, wherever and however
// large the map is drawn.

import { zoomOf } from "./mount.js";

// `cellAt(x, y)` gives [row, column] from 0, or null, `boxOfCell` its [left, top, width, height]; both in the canvas's own pixels.
export function cellPoints(canvas, kind, cellAt, boxOfCell) {
  return {
    at(clientX, clientY) {
      const { left, top } = canvas.getBoundingClientRect(), zoom = zoomOf(canvas), cell = cellAt((clientX - left) / zoom, (clientY - top) / zoom);
      return cell && `${kind} ${cell[0] + 1} ${cell[1] + 1}`;
    },
    rect(name) {
      const [of, row, column] = name.split(" "), cell = [row - 1, column - 1];
      const box = of === kind && cell.every((n) => Number.isInteger(n) && n >= 0) ? boxOfCell(cell) : null;
      if (!box) return null;
      const { left, top } = canvas.getBoundingClientRect(), zoom = zoomOf(canvas), [x, y, width, height] = box.map((each) => each * zoom);
      return new DOMRect(left + x, top + y, width, height);
    },
  };
}
