// Page of a follower: the form of the code, or the lecturer's page. Texts go through textContent only.

import { headName } from "../../kit/mount.js";
import { storePreference, readPreference } from "../../kit/remember.js";
import { codeOf, labLink, placeOf, viewKey, standing, timeOf, typedIn } from "./follow_parts.js";
import { bets } from "./follow_bet.js";
import { stage } from "./follow_stage.js";
import { follow } from "./follow_stream.js";

const find = (selector) => document.querySelector(selector);
const config = JSON.parse(document.body.dataset.settings), typed = typedIn(location.pathname), code = codeOf(typed, config);
const WRONG = `A code has ${config.length} letters and digits. Check the screen.`;
const AWAY = (time) => `The lab has not answered since ${time}. Trying again.`;
const LECTURER_AWAY = (time) => `The lecturer has been away since ${time}. You see the last page.`;
const ENDED = "The lecture has ended.";
const LOST = "The lecture has ended, or the lab was restarted."; // a restarted server knows no old room
const ASK = " If the lecture continues, its screen shows a new code.";
const LATE = 800; // ms before "loading" is shown
const NOT_SENT = "Your answer was not sent. Try again.";

if (code) room();
else door();

// -- the code --------------------------------------------------------------------------------------------------------

function door(sentence = "") {
  const form = find(".door form"), input = find("#code"), wrong = find("#wrong");
  find(".door").hidden = false;
  input.value = typed;
  wrong.textContent = sentence || (typed ? WRONG : "");
  input.focus();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const entered = codeOf(input.value, config);
    if (!entered) { wrong.textContent = WRONG; input.select(); return; }
    const fault = await refused(entered);
    if (fault === "") location.assign(`/follow/${entered}`);
    else { wrong.textContent = fault; input.select(); }
  };
}

async function refused(entered) { // the server's message; empty if the room exists
  try {
    const answer = await fetch(`/rooms/${entered}`, { cache: "no-store" });
    return answer.ok ? "" : (await answer.text()).slice(0, 300);
  } catch { return "The lab cannot be reached. Check your network and try again."; }
}

// -- the room --------------------------------------------------------------------------------------------------------

function room() {
  const parts = Object.fromEntries(["dot", "state", "where", "explore", "own", "trouble", "waits", "back", "dark", "bet"].map((name) => [name, find(`.${name}`)]));
  let now = null, exploring = false, lostAt = 0, stream = "joins", title = "", place = "step", revealedView = "", trouble = "", card = false, late = null;
  const stageView = stage(find(".stage"), code, { onShown: (text, unit) => { title = text; place = unit; parts.waits.hidden = true; clearTimeout(late); late = null; showTexts(); }, onTouched: () => { exploring = true; showTexts(); } });
  const bet = bets(parts.bet, { vote, storedBets: storedBets(`bets-${code}`), longest: config.longest, onClose: () => { card = false; showTexts(); }, onVote: () => showTexts() });
  find(".room").hidden = false;
  document.title = `Room ${code} · Attention Lab`;
  parts.back.onclick = () => { exploring = false; draw(); find(".stage").focus(); };
  ownWay();
  showTexts();
  follow(code, {
    onState: (news) => { now = news; draw(); },
    onConnection: (state, sentence, lastSeen) => {
      if (state === "over") { over(sentence); return; }
      stream = state;
      lostAt = lastSeen;
      trouble = state === "away" ? AWAY(timeOf(lostAt)) : sentence ?? "";
      stageView.reachable(state === "live");
      showTexts();
    },
  });

  function draw() {
    const view = viewKey(now.address), revealed = now.question?.answer !== undefined;
    const onward = revealed && revealedView !== "" && revealedView !== view;
    card = bet.show(now.question, now.score, onward);
    revealedView = revealed ? revealedView || view : "";
    showTexts();
    if (exploring) return;
    late ??= setTimeout(() => { parts.where.textContent = `Loading: ${config.pages[placeOf(now.address).page] || "next page"} …`; }, LATE);
    stageView.show(now.address, now.pointer);
  }

  function headOf(page, { kind = config.kinds[page], layer, head }) { // pages without a kind show the head of all kinds
    return kind && head ? headName(kind, layer, head === "mean" ? null : head) : `layer ${layer}`;
  }

  function showTexts() { // all texts around the document
    const { page, query } = placeOf(now?.address ?? "/");
    const description = now ? [title || config.pages[page] || "", query.step && `${place} ${query.step}`, query.layer && headOf(page, query)].filter(Boolean) : [];
    const state = standing({ stream, exploring, away: now?.away }), since = timeOf(stream === "live" ? 1000 * (now?.since ?? 0) : lostAt);
    find(".room").dataset.state = state;
    parts.state.textContent = state === "paused" ? `paused ${since}` : state;
    parts.trouble.textContent = trouble || (stream === "live" && now?.away ? LECTURER_AWAY(since) : "");
    parts.where.textContent = (state === "your view" ? "the lecture: " : "") + description.join(" · ");
    parts.explore.href = labLink(now?.address ?? "/", code);
    parts.explore.hidden = card && !bet.isUnlocked(); // the lab shows the answer
    parts.own.classList.toggle("locked", parts.explore.hidden);
    parts.back.hidden = !exploring || card;
    parts.dark.hidden = !now?.blank;
    find(".stage").inert = card || Boolean(now?.blank);
  }

  function ownWay() { // link to the follower's own last view
    try {
      const from = new URL(document.referrer);
      if (from.origin === location.origin && from.searchParams.get("room") === code) storePreference(`own-${code}`, from.pathname + from.search);
    } catch { /* no referrer */ }
    const own = readPreference(`own-${code}`);
    if (!own?.startsWith("/") || own.startsWith("//")) return;
    parts.own.href = own;
    parts.own.hidden = false;
    parts.own.title = "Your own last view";
  }

  function over(sentence) {
    find(".room").hidden = true;
    find(".over").hidden = false;
    const last = find(".last");
    find(".message").textContent = now ? (sentence ? LOST : ENDED) : sentence || ENDED;
    find(".more").textContent = now ? `You can open the last page in the lab.${sentence ? ASK : ""}` : "";
    last.hidden = !now;
    if (now) last.href = labLink(now.address, code).replace(/[?&]room=\w+$/, "");
    find(".again").className = now ? "again" : "again main";
  }

  async function vote(number, word, sure) {
    try {
      const body = JSON.stringify({ voter: voter(), number, word, sure });
      const answer = await fetch(`/rooms/${code}/vote`, { method: "POST", headers: { "content-type": "application/json" }, body });
      return answer.ok ? "" : (await answer.text()).slice(0, 300);
    } catch { return NOT_SENT; }
  }
}

function storedBets(name) { // the answers of this browser: { number: [word, right, sure] }
  let all = {};
  try { all = JSON.parse(readPreference(name) ?? "{}"); } catch { /* invalid value */ }
  const keep = (number, value) => { all[number] = value; storePreference(name, JSON.stringify(all)); };
  return {
    get: (number) => ({ word: all[number]?.[0] ?? "", sure: all[number]?.[2] ?? 0 }),
    set: (number, word, sure) => keep(number, [word, null, sure]),
    judged(number, right) {
      keep(number, [all[number]?.[0] ?? "", right, all[number]?.[2] ?? 0]);
      const results = Object.values(all).map(([, was]) => was).filter((was) => was !== null);
      return { bets: results.length, right: results.filter(Boolean).length };
    },
  };
}

function voter() { // a random number instead of a name
  const stored = readPreference("voter");
  if (stored) return stored;
  const voter = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  storePreference("voter", voter);
  return voter;
}
