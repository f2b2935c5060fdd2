// Edits and masks: what a query may attend to, and what is changed. Codes as in a link; positions count from 0 here.

const KINDS = { enc: "encoder", dec: "decoder", cross: "cross" };
const PLACE = String.raw`(enc|dec|cross)(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?`;
const cell = ([query, key]) => ({ query: index(query), key: index(key) });
const index = (text) => (text === undefined || text === "all" || text === "uniform" ? null : Number(text) - 1);

// By kind: the pattern of its codes, and the fields of an edit from the groups of the match.
const FORMS = {
  off: [`off_${PLACE}`, () => ({})],
  scale: [String.raw`scale_${PLACE}_(\d{1,3}(?:\.\d{1,3})?)`, ([factor]) => ({ factor: Number(factor) })],
  block: [String.raw`block_${PLACE}_(\d{1,4}|all)-(\d{1,4}|all)`, cell],
  row: [String.raw`row_${PLACE}_(\d{1,4})-(\d{1,4}|uniform)`, cell],
};
const SKIP = /^skip_(enc|dec)\.(\d{1,3})\.(self|cross|ff)$/;
const POSITIONS = /^(source|target)-positions_(?:(off)|shifted-(\d{1,4}))$/;
const SWITCHES = { "causal-off": { causal: false }, "padding-off": { padding: false }, "scaling-off": { scaling: false } };

/** Returns the edits of codes. Throws an Error, one sentence, for a code that this engine does not know. */
export function parseEdits(codes) {
  const edits = { causal: true, padding: true, scaling: true, window: null, list: [] };
  for (const code of codes) {
    const window = /^window-(\d{1,3})$/.exec(code);
    if (window) edits.window = Number(window[1]);
    else if (SWITCHES[code]) Object.assign(edits, SWITCHES[code]);
    else edits.list.push(parseEdit(code));
  }
  return edits;
}

function parseEdit(code) {
  for (const [type, [pattern, fields]] of Object.entries(FORMS)) {
    const match = new RegExp(`^${pattern}$`).exec(code);
    if (match) {
      const [, kind, layer, head, ...rest] = match;
      return { type, kind: KINDS[kind], layer: index(layer), head: index(head), ...fields(rest) };
    }
  }
  const skip = SKIP.exec(code);
  if (skip) return { type: "skip", stack: KINDS[skip[1]], layer: index(skip[2]), part: skip[3] };
  const positions = POSITIONS.exec(code);
  if (positions) return { type: "positions", side: positions[1], shift: positions[2] ? null : Number(positions[3]) };
  throw new Error(`The edit “${code.slice(0, 40)}” is unknown here. The lab itself has more kinds.`);
}

/** Returns the edits of a kind that act on a head. */
export function at(edits, type, { kind, layer }, head) {
  return edits.list.filter((edit) => edit.type === type && edit.kind === kind
    && (edit.layer === null || edit.layer === layer) && (edit.head === null || edit.head === head));
}

/** Returns 0 for a sub-layer that is skipped, else 1. */
export function factorOf(edits, stack, layer, part) {
  const isSkipped = (edit) => edit.type === "skip" && edit.stack === stack && edit.layer === layer && edit.part === part;
  return edits.list.some(isSkipped) ? 0 : 1;
}

/** Returns the position of a token, or null where positions are off. */
export function positionOf(edits, side, position) {
  const edit = edits.list.find((each) => each.type === "positions" && each.side === side);
  if (!edit) return position;
  return edit.shift === null ? null : position + edit.shift;
}

/** Returns a function of query and key: true where a head of a site may attend. `isPad` tells the padding of the keys. */
export function mask(config, edits, site, head, isPad) {
  const blocks = at(edits, "block", site, head);
  const isCausal = site.kind === "decoder" && edits.causal && config.causal;
  const widths = [config.window, edits.window].filter((width) => width !== null && site.kind !== "cross");
  const width = Math.min(Infinity, ...widths);
  const isBlocked = (block, query, key) => [null, query].includes(block.query) && [null, key].includes(block.key);
  return (query, key) => !(edits.padding && isPad(key)) && !(isCausal && key > query) && Math.abs(query - key) < width
    && !blocks.some((block) => isBlocked(block, query, key));
}
