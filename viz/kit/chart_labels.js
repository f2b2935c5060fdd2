// Fits the labels of every chart to its current size: a narrow column omits some labels, the full screen enlarges them. The cursor
// shows the omitted labels. The change goes through Streamlit's state of the chart, as a Plotly relayout event.

import { fitLabels } from "./chart_labels_parts.js";

const MAX_SCALE = 2.2; // limit of the font size, relative to the size on the page
const AXIS = ["xaxis", "yaxis"];

let observer = null;
const watchedCharts = new WeakSet();
const pen = document.createElement("canvas").getContext("2d");

const plain = (text) => text.replace(/<\/?b>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function lengths(texts, family) {
  pen.font = `100px ${family}`;
  return texts.map((text) => pen.measureText(plain(text)).width / 100);
}

// Returns the size, margins and labels that the page gives a chart. The chart's layout stores them after the first call.
function originalLayout(gd) {
  const axes = {};
  for (const name of AXIS) {
    const axis = gd.layout[name], places = gd._fullLayout[name]?.tickvals ?? axis?.tickvals;
    if (!axis?.tickfont?.size) continue;
    const cells = axis.ticktext?.length > 0 && (!places?.length || Array.from(places).every((place, i) => place === i));
    axes[name] = { size: axis.tickfont.size, texts: cells ? [...axis.ticktext] : null };
  }
  return { height: gd.layout.meta?.height ?? gd.layout.height, margin: { ...gd.layout.margin }, axes };
}

function fit(gd) {
  const { layout } = gd, { width, height } = layout;
  if (!width || !height || !gd._fullLayout?.xaxis || gd._fullLayout.xaxis2) return;
  const original = layout.meta?.original ?? originalLayout(gd), { axes } = original;
  if (!AXIS.some((name) => axes[name]?.texts)) return;
  const maxScale = Math.min(MAX_SCALE, Math.max(1, Math.min(height / original.height, width / 320)));
  const base = Math.min(...AXIS.map((name) => axes[name]?.size ?? Infinity));
  const labelsOf = (name) => axes[name]?.texts
    && { lengths: lengths(axes[name].texts, layout[name].tickfont.family ?? layout.font?.family), above: layout[name].side === "top" };
  const sizes = { width, height, base, maxSize: base * maxScale, margin: original.margin, x: labelsOf("xaxis") || null, y: labelsOf("yaxis") || null };
  const labels = fitLabels(sizes);
  const changes = { meta: { ...layout.meta, original }, margin: labels.margin };
  for (const [name, axis] of Object.entries(axes)) {
    const fit = labels[name[0]], fontSize = Math.round((axis.size * labels.size * 10) / base) / 10;
    changes[name] = { ...layout[name], tickfont: { ...layout[name].tickfont, size: fontSize } };
    if (!axis.texts) continue;
    const visible = axis.texts.map((_, i) => i).filter((i) => fit && i % fit.every === 0);
    Object.assign(changes[name], {
      tickvals: visible, ticktext: visible.map((i) => axis.texts[i]), tickangle: fit?.angle ?? 0, showticklabels: Boolean(fit),
      ticklabeloverflow: "allow", // keeps a label at the edge that is a pixel too wide
      labelalias: Object.fromEntries(axis.texts.map((text, i) => [i, text])), // the cursor shows the omitted labels
    });
  }
  if (Object.keys(changes).every((name) => JSON.stringify(changes[name]) === JSON.stringify(layout[name]))) return;
  gd.layout = { ...layout, ...changes };
  gd.emit("plotly_relayout", {});
}

export function watchLabels() { // returns a function that stops the watch
  observer?.disconnect();
  const followNewCharts = () => {
    for (const gd of document.querySelectorAll(".js-plotly-plot")) {
      if (watchedCharts.has(gd) || !gd.on) continue;
      watchedCharts.add(gd);
      gd.on("plotly_afterplot", () => fit(gd));
      fit(gd);
    }
  };
  let frame = 0;
  observer = new MutationObserver(() => { frame ||= requestAnimationFrame(() => { frame = 0; followNewCharts(); }); });
  observer.observe(document.body, { childList: true, subtree: true });
  followNewCharts();
  return () => observer?.disconnect();
}
