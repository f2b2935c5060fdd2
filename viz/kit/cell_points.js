// Names the cells of a map on a canvas, such as `cross 11 9`: the map's kind, then the row and the column, counted from 1.
// A name does not depend on where the map is drawn or how large it is.

import { zoomOf } from "./mount.js";

// `cellAt(x, y)` returns [row, column], counted from 0, or null. `boxOfCell` returns [left, top, width, height]. Both use the
// canvas's own pixels.
export function cellPoints(canvas, kind, cellAt, boxOfCell) {
  return {
    at(clientX, clientY) {
      const { left, top } = canvas.getBoundingClientRect(), zoom = zoomOf(canvas), cell = cellAt((clientX - left) / zoom, (clientY - top) / zoom);
      return cell && `${kind} ${cell[0] + 1} ${cell[1] + 1}`;
    },
    rect(name) {
      const [nameKind, row, column] = name.split(" "), cell = [row - 1, column - 1];
      const box = nameKind === kind && cell.every((n) => Number.isInteger(n) && n >= 0) ? boxOfCell(cell) : null;
      if (!box) return null;
      const { left, top } = canvas.getBoundingClientRect(), zoom = zoomOf(canvas), [x, y, width, height] = box.map((each) => each * zoom);
      return new DOMRect(left + x, top + y, width, height);
    },
  };
}
