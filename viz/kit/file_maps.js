// Maps of one head beside each other, as the lab has them as charts. Nothing here makes markup from text: textContent only.

import { density, element, followStep, mounted, nth, onResize, pointAt, signed, toldStep, unmounted } from "./mount.js";
import { onStage, placeOf } from "./stage.js";
import { floats, rowsOf } from "./packed.js";
import { cellPoints } from "./cell_points.js";
import { cellSize, largest, pairMap } from "./pair_maps.js";

const GAP = 24, NARROW = 700; // px: below it the maps stand one under the other
const TEXT_HEIGHT = 64, MAX_ASPECT = 1.4; // in lecture mode: px of a map's title and what is told below it, how wide it may be for its height

export default function ({ data, parentElement }) {
  const { root, state, first } = mounted({ data, parentElement }, ".maps"), colour = (name) => data.style[`--lab-${name}`];
  const maps = data.maps.map((map) => ({ ...map, values: rowsOf(floats(map.values), map.shape), allowed: rowsOf(map.allowed, map.shape) }));
  const player = globalThis.attentionLabRoots?.get("timeline"); // whose steps are news; without one the server knows the step
  state.step = (player?.isConnected && toldStep()?.step) || data.step;
  const build = () => {
    const narrow = !data.large && root.clientWidth < NARROW, columns = data.large ? maps.length : narrow ? 1 : 3, width = (root.clientWidth - (columns - 1) * GAP) / columns, sans = getComputedStyle(root).fontFamily;
    state.width = root.clientWidth;
    root.classList.toggle("narrow", narrow);
    const { height } = placeOf(root), size = data.large ? { width: Math.min(width, MAX_ASPECT * height), height: height - TEXT_HEIGHT } : data.alike ? cellSize(maps, width, sans) : null;
    state.height = height;
    root.classList.toggle("large", Boolean(data.large));
    if (data.large) root.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    state.drawn = [];
    root.replaceChildren(...maps.map((map, n) => box(map, n, width, size ?? cellSize([map], width, sans), sans)));
  };
  build();
  const resized = () => { if (root.clientWidth !== state.width || (data.large && placeOf(root).height !== state.height)) build(); };
  (data.large ? onStage : onResize)(state, root, resized);
  if (first) state.unfollow = followStep(({ step }) => { state.step = step; for (const draw of state.drawn) draw(); });
  return () => { state.unfollow(); unmounted(root); };

  function box(map, n, width, size, sans) {
    const part = element("section", "map"), title = element("h2", "", map.title), caption = element("p", "told"), scale = data.scales[map.scale], last = scale.length - 1, { most } = map;
    const share = (value) => (most === null ? Math.min(1, value) : value / most / 2 + 0.5);
    const describeCell = ([i, j]) => (map.allowed[i][j] ? `${nth(map.queries, i)} on ${nth(map.keys, j)}: ${most === null ? map.values[i][j].toFixed(5) : signed5(map.values[i][j])}` : `${nth(map.queries, i)} may not look at ${nth(map.keys, j)}`);
    let mark = null;
    if (map.kind) { const hue = element("i", "hue"); hue.style.background = `var(--lab-${map.kind})`; title.prepend(hue); }
    caption.setAttribute("aria-live", "polite");
    const hint = `${pointAt()} a cell for its exact value.${most === null ? "" : ` Colour from ${signed(-most)} to ${signed(most, "+")}.`}`;
    const showCell = (cell) => { mark = cell; caption.textContent = cell ? describeCell(cell) : hint; drawing.draw(); };
    const drawing = pairMap(map, {
      width, size, sans, ratio: density(root), colour, label: `${map.title}: ${largest(map)}. Arrow keys go from cell to cell.`, focus: `map ${n}`,
      tint: (i, j) => (map.allowed[i][j] ? scale[Math.round(share(map.values[i][j]) * last)] : null),
      ring: () => mark,
      row: () => (map.follows && state.step <= map.queries.length ? state.step - 1 : -1),
      on: { point: showCell, take: showCell },
    });
    caption.textContent = hint;
    const before = maps.slice(0, n).filter((other) => other.kind === map.kind).length; // one that came before has the plain name
    drawing.canvas.labPoints = cellPoints(drawing.canvas, before ? `${map.kind}.${before + 1}` : map.kind, drawing.cellAt, drawing.boxOfCell);
    state.drawn.push(drawing.draw);
    part.append(title, drawing.canvas, caption);
    return part;
  }
}

const signed5 = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(5)}`;
