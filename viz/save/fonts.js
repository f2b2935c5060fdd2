// Embeds fonts in a file, so that its texts look the same on every computer.

const ruleCache = new Map(); // font family -> promise of its rule

function fontFaceRules() {
  return [...document.styleSheets].flatMap((sheet) => { try { return [...sheet.cssRules]; } catch { return []; } }).filter((rule) => rule instanceof CSSFontFaceRule);
}

const hasFamily = (rule, name) => rule.style.getPropertyValue("font-family").replace(/["']/g, "") === name && (rule.style.getPropertyValue("font-style") || "normal") === "normal";

function base64(bytes) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 32768) text += String.fromCharCode(...bytes.subarray(start, start + 32768));
  return btoa(text);
}

async function fontFaceOf(name) {
  const rule = fontFaceRules().find((each) => hasFamily(each, name)), address = /url\(["']?([^"')]+)/.exec(rule?.style.getPropertyValue("src"))?.[1];
  if (!address) return "";
  const response = await fetch(new URL(address, rule.parentStyleSheet?.href || document.baseURI));
  if (!response.ok) return "";
  const bytes = new Uint8Array(await response.arrayBuffer()), weight = rule.style.getPropertyValue("font-weight") || "200 900";
  return `@font-face{font-family:"${name}";font-style:normal;font-weight:${weight};src:url(data:font/woff2;base64,${base64(bytes)}) format("woff2")}`;
}

// Returns a stylesheet with the rules of the given families. Families that cannot be loaded are omitted.
export async function fontRules(names) {
  const fontFaces = await Promise.all([...names].map((name) => {
    if (!ruleCache.has(name)) ruleCache.set(name, fontFaceOf(name).catch(() => ""));
    return ruleCache.get(name);
  }));
  return fontFaces.join("");
}
