// A picture as a file: its name, its bytes, and the way into the visitor's downloads.

import { drawing } from "../kit/mount.js";
import { fontRules } from "./fonts.js";

const LONGEST = 80; // letters of a file's name
const ZOOM = 2; // pixels of a PNG for one of the page
const MOST = 16000; // pixels of a PNG in a direction: beyond, browsers draw nothing

// A text as a part of a file's name: small letters of ASCII and digits, with - between.
export const slug = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f'’]/g, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

// The name of a file of some parts, the last of which gives way where all are too long.
export function fileName(parts, ending) {
  const whole = ["attention", ...parts].map(slug).filter(Boolean).join("-"), cut = whole.slice(0, LONGEST);
  return `${whole.length > LONGEST ? cut.slice(0, Math.max(cut.lastIndexOf("-"), LONGEST - 16)) : cut}.${ending}`;
}

// The text of an SVG, which carries its fonts.
export async function svgText({ svg, families }) {
  const rules = await fontRules(families);
  svg.querySelector("style")?.remove();
  if (rules) svg.querySelector("title").after(drawing("style", {}, rules)); // a title comes first
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}`;
}

export async function pngOf(made) {
  const { width, height } = made, zoom = Math.min(ZOOM, MOST / Math.max(width, height)), image = new Image();
  const address = URL.createObjectURL(new Blob([await svgText(made)], { type: "image/svg+xml" }));
  try {
    await new Promise((done, failed) => { image.onload = done; image.onerror = () => failed(new Error("The browser could not draw the picture.")); image.src = address; });
    await image.decode?.();
    const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * zoom), height: Math.round(height * zoom) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!blob) throw new Error("The picture is too large for a PNG: take the SVG.");
    return blob;
  } finally { URL.revokeObjectURL(address); }
}

export function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
