// The panel behind *Save*: which picture, as what, in which look; and what the server makes. Nothing here makes markup from text.

import { button, element, mounted } from "../kit/mount.js";
import { copied } from "../kit/copy_link_parts.js";
import { remember, remembered } from "../kit/remember.js";
import { download, fileName, pngOf, slug, svgText } from "./files.js";
import { picture } from "./picture.js";
import { pictures } from "./pictures.js";

const LOOKS = { light: "Light", dark: "Dark", transparent: "Transparent" };
const FORMATS = { png: "PNG", svg: "SVG" };

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mounted({ data, parentElement }, ".save", { list: null, asked: false });
  state.data = data;
  state.ask = (number) => { state.asked = true; setTriggerValue("make", number); };
  if (first) build(root, state);
  offers(root, state);
  receive(root, state);
}

function build(root, state) {
  state.list = pictures();
  const which = element("select", "which"), fields = element("div", "fields");
  state.list.all.forEach(({ name }, n) => which.append(Object.assign(element("option", "", name), { value: n, selected: n === state.list.chosen })));
  which.setAttribute("aria-label", "Picture");
  const formats = element("div", "formats");
  for (const kind in FORMATS) formats.append(button(kind, FORMATS[kind], () => save(root, state, kind)));
  fields.append(labelled("Picture", which), looks(state), caption());
  const said = element("p", "told");
  said.setAttribute("role", "status");
  root.replaceChildren(fields, formats, said, element("div", "offers"));
}

function labelled(text, node) {
  const label = element("label", "field");
  label.append(element("span", "name", text), node);
  return label;
}

function looks(state) {
  const group = element("fieldset", "looks"), kept = remembered("look"), chosen = kept in LOOKS ? kept : state.data.mode;
  group.append(element("legend", "name", "Look"));
  for (const look in LOOKS) {
    const label = element("label", "", ""), box = element("input");
    Object.assign(box, { type: "radio", name: "look", value: look, checked: look === chosen });
    box.onchange = () => remember("look", look);
    label.append(box, element("span", "", LOOKS[look]));
    group.append(label);
  }
  return group;
}

function caption() {
  const label = element("label", "caption"), box = element("input");
  Object.assign(box, { type: "checkbox", checked: remembered("caption") !== "off" });
  box.onchange = () => remember("caption", box.checked ? "on" : "off");
  label.append(box, element("span", "", "With a caption: sentence, checkpoint, layer and head, step, edits"));
  return label;
}

async function save(root, state, kind) {
  const chosen = state.list.all[Number(root.querySelector(".which").value)], { data } = state, all = [...root.querySelectorAll("button")];
  if (!chosen.node.isConnected) { Object.assign(chosen, pictures().all.find(({ name }) => name === chosen.name)); }
  if (!chosen.node.isConnected) { tell(root, "This picture is no longer on the page: open Save again.", true); return; }
  const look = root.querySelector(".looks input:checked").value, on = root.querySelector(".caption input").checked;
  for (const each of all) each.disabled = true;
  tell(root, "Drawing…");
  try {
    await document.fonts.ready;
    const made = picture(chosen.node, { look, themes: data.themes, seen: data.mode, caption: on ? { title: chosen.name, lines: data.caption } : null, title: chosen.name });
    const [checkpoint, ...more] = data.names, own = slug(chosen.name), name = fileName([checkpoint, own, ...more.filter((part) => !own.split("-").includes(slug(part)))], kind);
    const blob = kind === "svg" ? new Blob([await svgText(made)], { type: "image/svg+xml" }) : await pngOf(made);
    download(blob, name);
    tell(root, `Saved as ${name}`);
  } catch (fault) { tell(root, fault.message || "The picture could not be made.", true); }
  for (const each of all) each.disabled = false;
}

function tell(root, text, wrong = false) {
  const said = root.querySelector(".told");
  said.textContent = text;
  said.classList.toggle("wrong", wrong);
}

// -- what the server makes -----------------------------------------------------------------------------------------

function offers(root, state) {
  const place = root.querySelector(".offers"), { offers: all } = state.data, groups = [...new Set(all.map((offer) => offer.group))];
  if (state.offered === JSON.stringify(all)) return;
  state.offered = JSON.stringify(all);
  place.replaceChildren(...groups.map((group) => {
    const part = element("section", "group"), row = element("div", "row");
    all.forEach((offer, n) => {
      if (offer.group === group) row.append(button("offer", offer.label, () => { tell(root, "Making it…"); state.ask(n); }));
    });
    part.append(element("h3", "name", group), row);
    return part;
  }));
}

// What the server has made since it was asked is saved, once; or it says why it could not. What was asked for before the panel
// was closed comes too late: a file that arrives by surprise is none that is looked for.
async function receive(root, state) {
  const { made } = state.data, flags = document.documentElement.dataset;
  if (!made || made.number === flags.attentionLabMade) return;
  flags.attentionLabMade = made.number;
  if (!state.asked) { tell(root, "The panel was closed before the file was ready: ask again.", true); return; }
  if (made.fault) { tell(root, made.fault, true); return; }
  const bytes = Uint8Array.from(atob(made.bytes), (char) => char.charCodeAt(0));
  if (!made.copied) { download(new Blob([bytes], { type: made.mime }), made.name); tell(root, `Saved as ${made.name}`); return; }
  if (await copied(new TextDecoder().decode(bytes))) tell(root, "Copied.");
  else { download(new Blob([bytes], { type: made.mime }), made.name); tell(root, `Saved as ${made.name}`); }
}
