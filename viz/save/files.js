// Turns a picture into a file: its name, its bytes and its download.

import { svgElement } from "../kit/mount.js";
import { fontRules } from "./fonts.js";

const MAX_NAME = 80; // characters of a file name
const ZOOM = 2; // PNG pixels per page pixel
const MAX_PIXELS = 16000; // width or height of a PNG: browsers draw nothing on a larger canvas

// Returns a text as a part of a file name: lower-case ASCII letters and digits, with - between.
export const slug = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f'’]/g, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

// Joins parts into a file name. If the name is too long, its end is cut off, usually in the last part.
export function fileName(parts, ending) {
  const fullName = ["attention", ...parts].map(slug).filter(Boolean).join("-"), start = fullName.slice(0, MAX_NAME);
  return `${fullName.length > MAX_NAME ? start.slice(0, Math.max(start.lastIndexOf("-"), MAX_NAME - 16)) : start}.${ending}`;
}

// Returns the text of an SVG with its fonts embedded.
export async function svgText({ svg, families }) {
  const rules = await fontRules(families);
  svg.querySelector("style")?.remove();
  if (rules) svg.querySelector("title").after(svgElement("style", {}, rules)); // the title must be the first element
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}`;
}

export async function pngBlob(image) {
  const { width, height } = image, zoom = Math.min(ZOOM, MAX_PIXELS / Math.max(width, height)), bitmap = new Image();
  const address = URL.createObjectURL(new Blob([await svgText(image)], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => { bitmap.onload = resolve; bitmap.onerror = () => reject(new Error("The browser could not draw the picture.")); bitmap.src = address; });
    await bitmap.decode?.();
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * zoom), height: Math.round(height * zoom) });
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("The picture is too large for a PNG. Save it as SVG.");
    return blob;
  } finally { URL.revokeObjectURL(address); }
}

export function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
