// Shows maps of one head next to each other, like the lab's charts. All text is set as textContent.

import { density, element, followStep, mountComponent, nth, onResize, pointAt, formatSigned, publishedStep, unmountComponent } from "./mount.js";
import { onStageResize, stageSize } from "./stage.js";
import { floats, rowsOf } from "./packed.js";
import { cellPoints } from "./cell_points.js";
import { cellSize, describeMap, pairMap } from "./pair_maps.js";

const GAP = 24, NARROW = 700; // px: a narrower component stacks the maps in one column
const TEXT_HEIGHT = 64, MAX_ASPECT = 1.4; // in lecture mode: px of a map's title and caption, largest width of a map relative to its height

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".maps"), colour = (name) => data.style[`--lab-${name}`];
  const maps = data.maps.map((map) => ({ ...map, values: rowsOf(floats(map.values), map.shape), allowed: rowsOf(map.allowed, map.shape) }));
  const player = globalThis.attentionLabRoots?.get("timeline"); // with a timeline, its step is the latest; without one, the server's step is
  state.step = (player?.isConnected && publishedStep()?.step) || data.step;
  const build = () => {
    const narrow = !data.large && root.clientWidth < NARROW, columns = data.large ? maps.length : narrow ? 1 : 3, width = (root.clientWidth - (columns - 1) * GAP) / columns, sans = getComputedStyle(root).fontFamily;
    state.width = root.clientWidth;
    root.classList.toggle("narrow", narrow);
    const { height } = stageSize(root), size = data.large ? { width: Math.min(width, MAX_ASPECT * height), height: height - TEXT_HEIGHT } : data.alike ? cellSize(maps, width, sans) : null;
    state.height = height;
    root.classList.toggle("large", Boolean(data.large));
    if (data.large) root.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    state.drawFunctions = [];
    root.replaceChildren(...maps.map((map, n) => box(map, n, width, size ?? cellSize([map], width, sans), sans)));
  };
  build();
  const onSizeChange = () => { if (root.clientWidth !== state.width || (data.large && stageSize(root).height !== state.height)) build(); };
  (data.large ? onStageResize : onResize)(state, root, onSizeChange);
  if (first) state.unfollow = followStep(({ step }) => { state.step = step; for (const draw of state.drawFunctions) draw(); });
  return () => { state.unfollow(); unmountComponent(root); };

  function box(map, n, width, size, sans) {
    const part = element("section", "map"), title = element("h2", "", map.title), caption = element("p", "detail"), scale = data.scales[map.scale], last = scale.length - 1, { most: limit } = map;
    const share = (value) => (limit === null ? Math.min(1, value) : value / limit / 2 + 0.5);
    const describeCell = ([i, j]) => (map.allowed[i][j] ? `${nth(map.queries, i)} on ${nth(map.keys, j)}: ${limit === null ? map.values[i][j].toFixed(5) : formatSigned5(map.values[i][j])}` : `${nth(map.queries, i)} may not look at ${nth(map.keys, j)}`);
    let markedCell = null;
    if (map.kind) { const hue = element("i", "hue"); hue.style.background = `var(--lab-${map.kind})`; title.prepend(hue); }
    caption.setAttribute("aria-live", "polite");
    const hint = `${pointAt()} a cell for its exact value.${limit === null ? "" : ` Colour from ${formatSigned(-limit)} to ${formatSigned(limit, "+")}.`}`;
    const showCell = (cell) => { markedCell = cell; caption.textContent = cell ? describeCell(cell) : hint; mapView.draw(); };
    const mapView = pairMap(map, {
      width, size, sans, ratio: density(root), colour, label: `${map.title}: ${describeMap(map)}. Arrow keys go from cell to cell.`, focus: `map ${n}`,
      tint: (i, j) => (map.allowed[i][j] ? scale[Math.round(share(map.values[i][j]) * last)] : null),
      ring: () => markedCell,
      row: () => (map.follows && state.step <= map.queries.length ? state.step - 1 : -1),
      on: { point: showCell, take: showCell },
    });
    caption.textContent = hint;
    const sameKind = maps.slice(0, n).filter((other) => other.kind === map.kind).length; // the first map of a kind has the plain name
    mapView.canvas.labPoints = cellPoints(mapView.canvas, sameKind ? `${map.kind}.${sameKind + 1}` : map.kind, mapView.cellAt, mapView.boxOfCell);
    state.drawFunctions.push(mapView.draw);
    part.append(title, mapView.canvas, caption);
    return part;
  }
}

const formatSigned5 = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(5)}`;
