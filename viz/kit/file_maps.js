// Shows patterns next to each other, with the row of the step outlined. All text is set as textContent.

import { element, followStep, mountComponent, nth, onResize, publishedStep, unmountComponent, writeProbabilities } from "./mount.js";
import { describePattern, heatmap, rangeOf, roomsInRows, tintOf } from "./heatmap.js";
import { largestCell, readPattern } from "./patterns.js";
import { markPicture, stateHeads } from "./pen.js";
import { onStageResize, stageSize } from "./stage.js";

const GAP = 24, NARROW_GAP = 10, LARGE_GAP = 28; // px between two maps
const COLUMNS = 3, NARROW = 700; // maps in a row that are not alike; px: a narrower component stacks them
const MIN_ROW_CELL = 7; // px: with smaller cells, fewer maps are next to each other
const TITLE_HEIGHT = 30, SENTENCE_HEIGHT = 28, RANGE_HEIGHT = 18, NOTE_HEIGHT = 50; // px in lecture mode, of a title, of the sentence below the maps, of a range and of a note

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".maps"), colour = (name) => data.style[`--lab-${name}`];
  const maps = data.maps.map(readPattern), published = publishedStep(), isLarge = Boolean(data.large);
  const player = globalThis.attentionLabRoots?.get("timeline"); // with a timeline, its step is the latest; without one, the server's step is
  const isFollowing = data.trace ? published?.trace === data.trace : player?.isConnected;
  state.step = (isFollowing && published?.step) || data.step;
  state.trace = data.trace;
  const sentence = element("p", "told"), hasSentence = isLarge && maps.some(({ follows }) => follows);
  const build = () => {
    const { height } = stageSize(root), width = root.clientWidth;
    state.size = sizeKey();
    root.classList.toggle("large", isLarge);
    root.style.columnGap = `${LARGE_GAP}px`;
    const rooms = isLarge ? roomsInRows(maps, root, { width, height: height - TITLE_HEIGHT - (hasSentence ? SENTENCE_HEIGHT : 0) - (maps.some(({ most }) => most !== null) ? RANGE_HEIGHT : 0) - (maps.some(({ note }) => note) ? NOTE_HEIGHT : 0), gap: LARGE_GAP, perRow: maps.length, large: true }).rooms : pageRooms(width);
    state.maps = maps.map((map, n) => mapSection(map, n, rooms[n]));
    root.replaceChildren(...state.maps.map(({ section }) => section), ...(hasSentence ? [sentence] : []));
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
    const gap = width < NARROW ? NARROW_GAP : GAP;
    root.style.columnGap = `${gap}px`;
    if (!data.alike) {
      const columns = width < NARROW ? 1 : COLUMNS;
      return maps.map(() => ({ width: (width - (columns - 1) * GAP) / columns }));
    }
    for (let perRow = maps.length; ; perRow--) {
      const { rooms, size } = roomsInRows(maps, root, { width, gap, perRow });
      if (perRow === 1) return rooms.map((room) => ({ ...room, width }));
      if (size >= MIN_ROW_CELL) return rooms;
    }
  }

  function showStep() {
    for (const { map } of state.maps) map.draw();
    const sentences = maps.filter((map) => hasRow(map) && map.scale === map.kind).map((map) => {
      const [i, j] = largestCell(map, state.step - 1);
      return (form) => `“${nth(map.keys, j)}” ${form(map.values[i][j])} (${map.title})`;
    });
    const query = maps.find(hasRow)?.queries[state.step - 1];
    writeProbabilities(sentence, (form) => sentences.length ? `“${query}” looks most at ${sentences.map((text) => text(form)).join(", ")}` : "Each row shows where one token looks. Blank cells are masked.");
  }

  function hasRow(map) { return map.follows && state.step <= map.queries.length; }

  function mapSection(pattern, n, room) {
    const section = element("section", "map"), title = element("h2", "", pattern.title), scale = data.scales[pattern.scale];
    if (pattern.kind) { const hue = element("i", "hue"); hue.style.background = `var(--lab-${pattern.kind})`; title.prepend(hue); }
    const sameKind = maps.slice(0, n).filter((other) => other.kind === pattern.kind).length, name = sameKind ? `${pattern.kind}.${sameKind + 1}` : pattern.kind; // the first map of a kind has the plain name
    const map = heatmap(pattern, {
      root, room, colour, style: data.style, tint: tintOf(pattern, scale), focus: `map ${n}`,
      label: `${pattern.title}: ${describePattern(pattern)}. Arrow keys go from cell to cell.`,
      points: { cell: name, row: `${name} row`, column: `${name} column` },
      row: () => (hasRow(pattern) ? state.step - 1 : -1), cells: pattern.rings ?? [], table: { valueName: pattern.kind && pattern.most === null ? "Weight" : "Value" },
    });
    if (pattern.picture) markPicture(section, pattern.picture, { colours: scale, low: pattern.most === null ? 0 : -pattern.most, high: pattern.most ?? 1 });
    if (pattern.heads) stateHeads(section, pattern.heads);
    section.style.width = `${data.alike || isLarge ? map.layout.width : room.width}px`;
    section.append(title, ...(pattern.note ? [element("p", "note", pattern.note)] : []), map.node, ...(pattern.most === null ? [] : [element("p", "range", rangeOf(pattern))]));
    return { section, map };
  }
}
