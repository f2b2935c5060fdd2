// Shared by the scripts of HTML files without a server: data, roots of components, theme and print. Texts go through textContent only.

const THEME = "attention-lab-theme"; // key of the chosen theme in the browser's storage
const STEPS = 1e5; // of a rounded number
const SETTLES = 4; // frames until the page to print is drawn
const TOO_OLD = "This browser is too old. Use Firefox 113, Chrome 80, Safari 16.4 or later.";

export async function inflated(id) {
  const text = document.getElementById(id).textContent.trim(), bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

// Numbers from byte planes.
export function numbersOf(planes, from, count) {
  const quarter = planes.length / 4;
  return Array.from({ length: count }, (_, n) => {
    const index = from + n;
    return (planes[index] | (planes[quarter + index] << 8) | (planes[2 * quarter + index] << 16) | (planes[3 * quarter + index] << 24)) / STEPS;
  });
}

// Numbers as the components read them: float32, base64.
export function packedNumbers(numbers) {
  let text = "";
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  for (let n = 0; n < bytes.length; n += 8192) text += String.fromCharCode(...bytes.subarray(n, n + 8192));
  return btoa(text);
}

// Returns whether the browser lacks what a file needs, and says so.
export function isTooOld() {
  const isOld = !globalThis.DecompressionStream || !("adoptedStyleSheets" in document);
  if (isOld) document.getElementById("status").textContent = TOO_OLD;
  return isOld;
}

// Returns the place of a part, and its root with the markup and style of its component.
export function rootOf(name, component) {
  const box = document.querySelector(`.part-${name}`);
  return { box, root: shadowRoot(box, component, document.getElementById(`style-${component}`).textContent) };
}

// Returns the shadow root of a box with the markup of a component and its style.
export function shadowRoot(box, component, style) {
  const root = box.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
  sheet.replaceSync(`${style}\nbutton:disabled { cursor: default !important; } button:is(.row, .bar):disabled:hover { background: none; }`);
  root.adoptedStyleSheets = [sheet];
  root.append(document.getElementById(`markup-${component}`).content.cloneNode(true));
  return root;
}

// Shows the buttons for theme and print, and calls `draw` with "light" or "dark", now and after each change.
export function onTheme(draw) {
  const theme = document.getElementById("theme"), print = document.getElementById("print"), system = matchMedia("(prefers-color-scheme: dark)");
  let mode, own = false, kept = null;
  try { kept = localStorage.getItem(THEME); } catch { /* the storage is refused */ }
  const turn = (to) => { mode = to; theme.textContent = mode === "dark" ? "Light" : "Dark"; theme.setAttribute("aria-label", `${theme.textContent} theme`); draw(mode); };
  const frame = () => new Promise((resolve) => { requestAnimationFrame(() => setTimeout(resolve)); });
  theme.hidden = print.hidden = false;
  theme.onclick = () => {
    own = true;
    turn(mode === "dark" ? "light" : "dark");
    try { localStorage.setItem(THEME, mode); } catch { /* it lasts until the page is closed */ }
  };
  system.onchange = () => { if (!own) turn(system.matches ? "dark" : "light"); };
  print.onclick = async () => { // light theme, width of the paper
    const screenMode = mode, page = document.documentElement;
    page.classList.add("printing");
    turn("light");
    for (let n = 0; n < SETTLES; n += 1) await frame(); // canvases draw after layout
    globalThis.print();
    page.classList.remove("printing");
    turn(screenMode);
  };
  own = ["light", "dark"].includes(kept);
  turn(own ? kept : system.matches ? "dark" : "light");
}
