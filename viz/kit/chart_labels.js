// The labels of every chart follow the size that it really has: in a narrow column some are left out, over the full screen they
// grow. What is left out is read at the cursor. Plotly is asked for it through the state that Streamlit keeps of the chart.

import { fitLabels } from "./chart_labels_parts.js";

const MAX_SCALE = 2.2; // at most so many times the size that the page gives
const UNLABELLED_SCALE = 1.6; // a map without labels gets them where it is so many times as high as on the page
const AXIS = ["xaxis", "yaxis"];

let charts = null;
const followed = new WeakSet();
const pen = document.createElement("canvas").getContext("2d");

const plain = (text) => text.replace(/<\/?b>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function lengths(texts, family) {
  pen.font = `100px ${family}`;
  return texts.map((text) => pen.measureText(plain(text)).width / 100);
}

// What a chart is on the page: noted once, kept with its layout.
function bornAs(gd) {
  const axes = {};
  for (const name of AXIS) {
    const axis = gd.layout[name], places = gd._fullLayout[name]?.tickvals ?? axis?.tickvals;
    if (!axis?.tickfont?.size) continue;
    const cells = axis.ticktext?.length > 0 && (!places?.length || Array.from(places).every((at, i) => at === i));
    axes[name] = { size: axis.tickfont.size, texts: cells ? [...axis.ticktext] : null };
  }
  return { height: gd.layout.meta?.height ?? gd.layout.height, margin: { ...gd.layout.margin }, axes };
}

function fit(gd) {
  const { layout } = gd, { width, height } = layout;
  if (!width || !height || !gd._fullLayout?.xaxis || gd._fullLayout.xaxis2) return;
  const born = layout.meta?.born ?? bornAs(gd), { axes } = born;
  if (!AXIS.some((name) => axes[name]?.texts)) return;
  const unlabelled = layout.meta?.bare && height < UNLABELLED_SCALE * born.height;
  const maxScale = Math.min(MAX_SCALE, Math.max(1, Math.min(height / born.height, width / 320)));
  const base = Math.min(...AXIS.map((name) => axes[name]?.size ?? Infinity));
  const read = (name) => !unlabelled && axes[name]?.texts
    && { lengths: lengths(axes[name].texts, layout[name].tickfont.family ?? layout.font?.family), above: layout[name].side === "top" };
  const sizes = { width, height, base, most: base * maxScale, margin: born.margin, x: read("xaxis") || null, y: read("yaxis") || null };
  const labels = unlabelled ? { size: base, margin: born.margin } : fitLabels(sizes);
  const changed = { meta: { ...layout.meta, born }, margin: labels.margin };
  for (const [name, axis] of Object.entries(axes)) {
    const own = labels[name[0]], grown = Math.round((axis.size * labels.size * 10) / base) / 10;
    changed[name] = { ...layout[name], tickfont: { ...layout[name].tickfont, size: grown } };
    if (!axis.texts) continue;
    const visible = axis.texts.map((_, i) => i).filter((i) => own && i % own.every === 0);
    Object.assign(changed[name], {
      tickvals: visible, ticktext: visible.map((i) => axis.texts[i]), tickangle: own?.angle ?? 0, showticklabels: Boolean(own),
      ticklabeloverflow: "allow", // a label at the edge that is a pixel too wide is better than none
      labelalias: Object.fromEntries(axis.texts.map((text, i) => [i, text])), // by which what is left out is read at the cursor
    });
  }
  if (Object.keys(changed).every((name) => JSON.stringify(changed[name]) === JSON.stringify(layout[name]))) return;
  gd.layout = { ...layout, ...changed };
  gd.emit("plotly_relayout", {});
}

export function watchLabels() { // returns what ends it
  charts?.disconnect();
  const look = () => {
    for (const gd of document.querySelectorAll(".js-plotly-plot")) {
      if (followed.has(gd) || !gd.on) continue;
      followed.add(gd);
      gd.on("plotly_afterplot", () => fit(gd));
      fit(gd);
    }
  };
  let frame = 0;
  charts = new MutationObserver(() => { frame ||= requestAnimationFrame(() => { frame = 0; look(); }); });
  charts.observe(document.body, { childList: true, subtree: true });
  look();
  return () => charts?.disconnect();
}
