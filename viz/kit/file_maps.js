// Shows patterns next to each other, with the row of the step outlined. All text is set as textContent.

import { element, followStep, mountComponent, nth, onResize, publishedStep, unmountComponent } from "./mount.js";
import { commonSize, describePattern, heatmap, rangeOf, sharesLabels, tintOf } from "./heatmap.js";
import { largestCell, readPattern } from "./patterns.js";
import { onStageResize, stageSize } from "./stage.js";

const GAP = 24, NARROW = 700; // px: a narrower component stacks the maps in one column
const COLUMNS = 3; // maps in a row
const TITLE_HEIGHT = 30, SENTENCE_HEIGHT = 28, MAX_ASPECT = 1.4; // in lecture mode: px of a title and of the sentence below the maps, largest width of a map relative to its height
const ROW_LABELS = 110; // px of a map's row labels in lecture mode

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".maps"), colour = (name) => data.style[`--lab-${name}`];
  const maps = data.maps.map(readPattern), published = publishedStep(), isLarge = Boolean(data.large);
  const player = globalThis.attentionLabRoots?.get("timeline"); // with a timeline, its step is the latest; without one, the server's step is
  const isFollowing = data.trace ? published?.trace === data.trace : player?.isConnected;
  state.step = (isFollowing && published?.step) || data.step;
  state.trace = data.trace;
  const sentence = element("p", "told");
  const build = () => {
    const { height } = stageSize(root), width = root.clientWidth;
    state.size = sizeKey();
    root.classList.toggle("narrow", !isLarge && width < NARROW);
    root.classList.toggle("large", isLarge);
    const rooms = isLarge ? largeRooms(width, height - TITLE_HEIGHT - SENTENCE_HEIGHT) : pageRooms(width);
    state.maps = maps.map((map, n) => mapSection(map, n, rooms[n]));
    root.replaceChildren(...state.maps.map(({ section }) => section), ...(isLarge ? [sentence] : []));
    showStep();
  };
  const sizeKey = () => `${root.clientWidth} ${isLarge ? stageSize(root).height : ""}`;
  Object.assign(state, { build, showStep, sizeKey });
  build();
  (isLarge ? onStageResize : onResize)(state, root, () => { if (state.sizeKey() !== state.size) state.build(); });
  if (first) state.unfollow = followStep(({ trace, step }) => {
    if (state.trace && trace !== state.trace) return;
    state.step = step;
    state.showStep();
  });
  return () => { state.unfollow(); unmountComponent(root); };

  function pageRooms(width) {
    const columns = width < NARROW ? 1 : Math.min(COLUMNS, Math.max(2, maps.length)), room = { width: (width - (columns - 1) * GAP) / columns, height: data.height ?? undefined };
    root.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    return maps.map(() => (data.alike ? { ...room, maxSize: commonSize(maps, root, room) } : room));
  }

  function largeRooms(width, height) { // as wide as the maps' columns need
    const labels = maps.map((map, n) => (sharesLabels(maps, n) ? 0 : ROW_LABELS)), sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
    const cell = (width - sum(labels) - (maps.length - 1) * GAP) / sum(maps.map((map) => map.keys.length));
    const rooms = maps.map((map, n) => ({ width: Math.min(labels[n] + cell * map.keys.length, MAX_ASPECT * height), height, large: true, rowLabels: !sharesLabels(maps, n) }));
    root.style.gridTemplateColumns = rooms.map((room) => `${Math.floor(room.width)}px`).join(" ");
    return rooms;
  }

  function showStep() {
    for (const { map } of state.maps) map.draw();
    const sentences = maps.filter((map) => hasRow(map) && map.scale === map.kind).map((map) => {
      const [i, j] = largestCell(map, state.step - 1);
      return `“${nth(map.keys, j)}” ${map.values[i][j].toFixed(2)} (${map.title})`;
    });
    const query = maps.find(hasRow)?.queries[state.step - 1];
    sentence.textContent = sentences.length ? `“${query}” looks most at ${sentences.join(", ")}` : "Each row shows where one token looks. Blank cells are masked.";
  }

  function hasRow(map) { return map.follows && state.step <= map.queries.length; }

  function mapSection(pattern, n, room) {
    const section = element("section", "map"), title = element("h2", "", pattern.title), scale = data.scales[pattern.scale];
    if (pattern.kind) { const hue = element("i", "hue"); hue.style.background = `var(--lab-${pattern.kind})`; title.prepend(hue); }
    if (pattern.most !== null) title.append(element("small", "", rangeOf(pattern)));
    const sameKind = maps.slice(0, n).filter((other) => other.kind === pattern.kind).length, name = sameKind ? `${pattern.kind}.${sameKind + 1}` : pattern.kind; // the first map of a kind has the plain name
    const map = heatmap(pattern, {
      root, room, colour, style: data.style, tint: tintOf(pattern, scale), focus: `map ${n}`,
      label: `${pattern.title}: ${describePattern(pattern)}. Arrow keys go from cell to cell.`,
      points: { cell: name, row: `${name} row`, column: `${name} column` },
      row: () => (hasRow(pattern) ? state.step - 1 : -1),
    });
    section.append(title, map.node);
    return { section, map };
  }
}
