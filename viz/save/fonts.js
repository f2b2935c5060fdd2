// The fonts that a file carries, so that its texts look the same wherever it is opened.

const loaded = new Map(); // address -> its rule, once it is there

function rules() {
  return [...document.styleSheets].flatMap((sheet) => { try { return [...sheet.cssRules]; } catch { return []; } }).filter((rule) => rule instanceof CSSFontFaceRule);
}

const named = (rule, name) => rule.style.getPropertyValue("font-family").replace(/["']/g, "") === name && (rule.style.getPropertyValue("font-style") || "normal") === "normal";

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

async function ruleOf(name) {
  const rule = rules().find((each) => named(each, name)), address = /url\(["']?([^"')]+)/.exec(rule?.style.getPropertyValue("src"))?.[1];
  if (!address) return "";
  const answer = await fetch(new URL(address, rule.parentStyleSheet?.href || document.baseURI));
  if (!answer.ok) return "";
  const bytes = new Uint8Array(await answer.arrayBuffer()), weight = rule.style.getPropertyValue("font-weight") || "200 900";
  return `@font-face{font-family:"${name}";font-style:normal;font-weight:${weight};src:url(data:font/woff2;base64,${base64(bytes)}) format("woff2")}`;
}

// The rules of some families, as a stylesheet for a file; without those that cannot be had.
export async function fontRules(names) {
  const found = await Promise.all([...names].map((name) => {
    if (!loaded.has(name)) loaded.set(name, ruleOf(name).catch(() => ""));
    return loaded.get(name);
  }));
  return found.join("");
}
