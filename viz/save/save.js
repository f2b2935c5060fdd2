// The panel of *Save*: selects a picture, its format and its look, and requests files from the server. All text is set as textContent.

import { button, element, mountComponent } from "../kit/mount.js";
import { copyLink, copyText } from "../kit/copy_link.js";
import { storePreference, readPreference } from "../kit/remember.js";
import { download, fileName, pngBlob, slug, svgText } from "./files.js";
import { renderPicture } from "./picture.js";
import { listPictures, statedHeads } from "./pictures.js";

const LOOKS = { light: "Light", dark: "Dark", transparent: "Transparent" };
const FORMATS = { png: "PNG", svg: "SVG" };

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".save", { pictures: null, hasRequest: false });
  state.data = data;
  state.request = (number) => { state.hasRequest = true; setTriggerValue("make", number); };
  if (first) build(root, state);
  showOffers(root, state);
  receive(root, state);
}

function build(root, state) {
  state.pictures = listPictures();
  const select = element("select", "picture"), fields = element("div", "fields");
  state.pictures.all.forEach(({ name }, n) => select.append(Object.assign(element("option", "", name), { value: n, selected: n === state.pictures.selected })));
  select.setAttribute("aria-label", "Picture");
  const formats = element("div", "formats");
  for (const kind in FORMATS) formats.append(button(kind, FORMATS[kind], () => save(root, state, kind)));
  fields.append(labelledField("Picture", select), lookField(state), captionField());
  const status = element("p", "status");
  status.setAttribute("role", "status");
  const copy = button("copy", "Copy link", () => copyLink(copy));
  copy.title = "The address of this view: sentence, step, head and edits";
  root.replaceChildren(copy, fields, formats, status, element("div", "offers"));
}

function labelledField(text, node) {
  const label = element("label", "field");
  label.append(element("span", "name", text), node);
  return label;
}

function lookField(state) {
  const group = element("fieldset", "looks"), preference = readPreference("look"), selected = preference in LOOKS ? preference : state.data.mode;
  group.append(element("legend", "name", "Look"));
  for (const look in LOOKS) {
    const label = element("label", "", ""), box = element("input");
    Object.assign(box, { type: "radio", name: "look", value: look, checked: look === selected });
    box.onchange = () => storePreference("look", look);
    label.append(box, element("span", "", LOOKS[look]));
    group.append(label);
  }
  return group;
}

function captionField() {
  const label = element("label", "caption"), box = element("input");
  Object.assign(box, { type: "checkbox", checked: readPreference("caption") !== "off" });
  box.onchange = () => storePreference("caption", box.checked ? "on" : "off");
  label.append(box, element("span", "", "With a caption: sentence, checkpoint, layer and head, step, edits"));
  return label;
}

async function save(root, state, kind) {
  const selected = state.pictures.all[Number(root.querySelector(".picture").value)], { data } = state, buttons = [...root.querySelectorAll("button")];
  if (!selected.node.isConnected) { Object.assign(selected, listPictures().all.find(({ name }) => name === selected.name)); }
  if (!selected.node.isConnected) { showStatus(root, "This picture is no longer on the page. Open Save again.", true); return; }
  const look = root.querySelector(".looks input:checked").value, hasCaption = root.querySelector(".caption input").checked;
  for (const each of buttons) each.disabled = true;
  showStatus(root, "Drawing…");
  try {
    await document.fonts.ready;
    const image = renderPicture(selected.node, { look, themes: data.themes, currentMode: data.mode, caption: hasCaption ? { title: selected.name, lines: captionLines(data.caption, statedHeads(selected.node)) } : null, title: selected.name });
    const [checkpoint, ...more] = data.names, pictureSlug = slug(selected.name), name = fileName([checkpoint, pictureSlug, ...more.filter((part) => !pictureSlug.split("-").includes(slug(part)))], kind);
    const blob = kind === "svg" ? new Blob([await svgText(image)], { type: "image/svg+xml" }) : await pngBlob(image);
    download(blob, name);
    showStatus(root, `Saved as ${name}`);
  } catch (error) { showStatus(root, error.message || "The picture could not be saved.", true); }
  for (const each of buttons) each.disabled = false;
}

// Returns the lines of the caption of a picture. Its heads are those that its parts state. Without a statement they are those of the
// page, if the page draws one kind of attention.
export function captionLines({ title, facts, hasSeveral }, stated) {
  const heads = [...new Set(stated)].join(", ") || (hasSeveral ? "" : facts.heads);
  return [title, Object.values({ ...facts, heads }).filter(Boolean).join(" · ")];
}

function showStatus(root, text, isError = false) {
  const status = root.querySelector(".status");
  status.textContent = text;
  status.classList.toggle("error", isError);
}

// -- files from the server -----------------------------------------------------------------------------------------

function showOffers(root, state) {
  const place = root.querySelector(".offers"), { offers: all } = state.data, groups = [...new Set(all.map((offer) => offer.group))];
  if (state.offersText === JSON.stringify(all)) return;
  state.offersText = JSON.stringify(all);
  place.replaceChildren(...groups.map((group) => {
    const part = element("section", "group"), row = element("div", "row");
    all.forEach((offer, n) => {
      if (offer.group === group) row.append(button("offer", offer.label, () => { showStatus(root, "Preparing the file…"); state.request(n); }));
    });
    part.append(element("h3", "name", group), row);
    return part;
  }));
}

// Saves the file from the server once, or shows why there is none. A file that was requested before the panel was closed is not saved,
// because an unexpected download would confuse the user.
async function receive(root, state) {
  const { file } = state.data, flags = document.documentElement.dataset;
  if (!file || file.number === flags.attentionLabSavedFile) return;
  flags.attentionLabSavedFile = file.number;
  if (!state.hasRequest) { showStatus(root, "The panel was closed before the file was ready. Request it again.", true); return; }
  if (file.fault) { showStatus(root, file.fault, true); return; }
  const bytes = Uint8Array.from(atob(file.bytes), (char) => char.charCodeAt(0));
  if (!file.copied) { download(new Blob([bytes], { type: file.mime }), file.name); showStatus(root, `Saved as ${file.name}`); return; }
  if (await copyText(new TextDecoder().decode(bytes))) showStatus(root, "Copied.");
  else { download(new Blob([bytes], { type: file.mime }), file.name); showStatus(root, `Saved as ${file.name}`); }
}
