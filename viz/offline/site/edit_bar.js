// The edits: switches of the causal mask and of the chosen head, what is switched off now, and the translation without the edits.

import { button, element, nth } from "../../kit/mount.js";
import { nameOf, shared } from "./payloads.js";

export const SHORT = { encoder: "enc", decoder: "dec", cross: "cross" };
const CAUSAL = "causal-off";
const KINDS = { enc: "encoder", dec: "decoder", cross: "cross" };

export const headCode = ({ map, layer, head }) => `off_${SHORT[map]}.${layer + 1}${head === null ? "" : `.${head + 1}`}`;
export const cellCode = ({ map, layer, head }, { query, key }) => `block_${SHORT[map]}.${layer + 1}${head === null ? "" : `.${head + 1}`}_${query}-${key}`;

/** Returns whether an edit switches the chosen head off, or its layer. */
export function isOff(view) {
  const kind = SHORT[view.map], layer = `off_${kind}.${view.layer + 1}`;
  return [`off_${kind}`, layer, ...(view.head === null ? [] : [`${layer}.${view.head + 1}`])].some((code) => view.edits.includes(code));
}

/** Returns the words for an edit; a code without words is its own. */
export function describeEdit(code, { source, target, start }) {
  if (code === CAUSAL) return "causal mask off";
  const off = /^off_(enc|dec|cross)(?:\.(\d+))?(?:\.(\d+))?$/.exec(code);
  const block = /^block_(enc|dec|cross)(?:\.(\d+))?(?:\.(\d+))?_(\d+|all)-(\d+|all)$/.exec(code);
  const place = ([, kind, layer, head]) => (layer ? `${KINDS[kind]} ${layer}${head ? `.${head}` : ""}` : `all of ${KINDS[kind]}`);
  if (off) return `${place(off)} off`;
  if (!block) return code;
  const inputs = [start, ...target.labels.slice(0, -1)];
  const named = (labels, text) => (text === "all" ? "every token" : labels[text - 1] === undefined ? `token ${text}` : `“${nth(labels, text - 1)}”`);
  const [queries, keys] = [block[1] === "enc" ? source.labels : inputs, block[1] === "dec" ? inputs : source.labels];
  return `${named(queries, block[4])} on ${named(keys, block[5])}, ${place(block)}`;
}

/** Writes the edits into a node; `change` receives a function that makes the new list from the present one. */
export function drawEdits(node, { view, trace, baseline, change }) {
  const has = (code) => view.edits.includes(code);
  const toggle = (code) => change((edits) => (edits.includes(code) ? edits.filter((each) => each !== code) : [...edits, code]));
  const causal = button("switch", "", () => toggle(CAUSAL));
  causal.setAttribute("role", "switch");
  causal.setAttribute("aria-checked", String(!has(CAUSAL)));
  causal.append(element("i"), element("span", "", "Causal mask"));
  causal.title = "It hides later tokens from the decoder";
  causal.dataset.focus = "causal";
  const code = headCode(view);
  const name = nameOf(view.map, view.layer, view.head).replace(", mean over heads", "");
  const head = button("", has(code) ? `Switch ${name} on` : `Switch ${name} off`, () => toggle(code));
  head.title = view.head === null ? "All heads of this layer: their results are zeros" : "The result of this head is zeros";
  head.dataset.focus = "head";
  const chips = view.edits.map((each) => {
    const chip = button("edit", `${describeEdit(each, trace)} ×`, () => toggle(each));
    chip.setAttribute("aria-label", `Take back: ${describeEdit(each, trace)}`);
    return chip;
  });
  const bar = element("div", "edit-bar");
  bar.append(causal, head, ...chips, ...(view.edits.length > 1 ? [button("link", "Take all back", () => change(() => []))] : []));
  const focused = document.activeElement?.dataset?.focus;
  node.replaceChildren(bar, ...(baseline ? [without(trace, baseline)] : []));
  if (focused) node.querySelector(`[data-focus="${focused}"]`)?.focus({ preventScroll: true });
}

function without(trace, baseline) {
  const isSame = shared(trace, baseline) === trace.target.ids.length && trace.target.ids.length === baseline.target.ids.length;
  const text = baseline.target.segments.join("").trim();
  const line = element("p", "without", isSame ? "The translation does not change." : "Without the edits: ");
  line.setAttribute("role", "status");
  if (!isSame) line.append(element("q", "", text || "(empty: it ends at once)"));
  return line;
}
