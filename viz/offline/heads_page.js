// Script of the page of the head report: draws the thumbnails of the heads and sorts the table.

import { withInflatedGrids } from "../kit/inflated_grids.js";
import { density } from "../kit/mount.js";
import { picture } from "../kit/thumbnails.js";
import { inflated, isTooOld, onTheme } from "./file_parts.js";

// Draws the map of each row from the picture of all heads of its kind.
function drawMaps(grids) {
  const pictures = Object.fromEntries(grids.map((grid) => [grid.kind, picture(grid, false)]));
  for (const canvas of document.querySelectorAll("tbody canvas")) {
    const source = pictures[canvas.dataset.kind], size = canvas.clientWidth * density(canvas), pen = canvas.getContext("2d");
    Object.assign(canvas, { width: size, height: size });
    pen.imageSmoothingEnabled = size < Math.max(source.high, source.wide);
    pen.drawImage(source, 0, canvas.dataset.place * source.high, source.wide, source.high, 0, 0, size, size);
  }
}

// Orders the rows by a column. Blank cells come last in both orders.
function sortBy(header, order) {
  const body = document.querySelector("tbody"), at = header.cellIndex, sign = order === "ascending" ? 1 : -1;
  const valueOf = (row) => row.cells[at].dataset.sort;
  const compare = (one, other) => (one === undefined || other === undefined ? (one === undefined) - (other === undefined) : sign * (one - other));
  body.append(...[...body.rows].sort((one, other) => compare(valueOf(one), valueOf(other))));
  for (const each of header.parentElement.cells) each.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
}

export async function start() {
  if (isTooOld()) return;
  for (const header of document.querySelectorAll("thead th")) {
    header.firstElementChild.onclick = () => {
      const now = header.getAttribute("aria-sort"), opposite = now === "ascending" ? "descending" : "ascending";
      sortBy(header, now ? opposite : header.dataset.first);
    };
  }
  const { grids, scales } = JSON.parse(new TextDecoder().decode(await inflated("maps")));
  withInflatedGrids({ id: "report", grids }, document.querySelector(".heads"), (ready) => {
    onTheme((mode) => {
      document.documentElement.dataset.theme = mode;
      for (const grid of ready) Object.assign(grid, { plain: null, scale: scales[mode][grid.kind] });
      drawMaps(ready);
      document.documentElement.dataset.drawn = "";
    });
  });
}
