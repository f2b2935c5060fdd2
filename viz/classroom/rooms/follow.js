// The page of who follows a lecture: a code is asked for, or what its lecturer shows is shown. Nothing here makes markup from
// text: textContent only.

import { remember, remembered } from "../../kit/remember.js";
import { codeOf, labLink, placeOf, seen, standing, typedIn } from "./follow_parts.js";
import { bets } from "./follow_bet.js";
import { stage } from "./follow_stage.js";
import { follow } from "./follow_stream.js";

const find = (selector) => document.querySelector(selector);
const told = JSON.parse(document.body.dataset.told), typed = typedIn(location.pathname), code = codeOf(typed, told);
const WRONG = `A room’s code has ${told.length} letters and digits, as it stands on the screen; look again.`;
const AWAY = "The connection is away. What you see stays, and it comes back by itself.";
const LECTURER_AWAY = "The lecturer is not connected. You see what was shown last.";
const ENDED = "The lecture has ended.";
const LOST = "The lecture has ended, or the lab was started anew."; // a server that was knows no room of before
const ASK = " If the lecture goes on, its screen shows a new code.";
const LATE = 800; // ms after which a page that does not stand yet is said to be on its way
const NOT_SENT = "Your bet did not get through: try once more.";

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
    const asked = codeOf(input.value, told);
    if (!asked) { wrong.textContent = WRONG; input.select(); return; }
    const fault = await refused(asked);
    if (fault === "") location.assign(`/follow/${asked}`);
    else { wrong.textContent = fault; input.select(); }
  };
}

async function refused(asked) { // the server's sentence; none where the room is there
  try {
    const answer = await fetch(`/rooms/${asked}`, { cache: "no-store" });
    return answer.ok ? "" : (await answer.text()).slice(0, 300);
  } catch { return "The lab cannot be reached: look whether this device has a network, and try again."; }
}

// -- the room --------------------------------------------------------------------------------------------------------

function room() {
  const parts = Object.fromEntries(["dot", "state", "where", "explore", "own", "trouble", "waits", "back", "dark", "bet"].map((name) => [name, find(`.${name}`)]));
  let now = null, paused = false, stream = "joins", title = "", place = "step", answered = "", trouble = "", card = false, late = null;
  const shows = stage(find(".stage"), code, { shown: (text, at) => { title = text; place = at; parts.waits.hidden = true; clearTimeout(late); late = null; tell(); }, touched: () => { paused = true; tell(); } });
  const bet = bets(parts.bet, { vote, kept: own(`bets-${code}`), longest: told.longest, closed: () => { card = false; tell(); } });
  find(".room").hidden = false;
  document.title = `Room ${code} · Attention Lab`;
  parts.back.onclick = () => { paused = false; draw(); find(".stage").focus(); };
  ownWay();
  tell();
  follow(code, {
    told: (news) => { now = news; draw(); },
    stands: (state, sentence) => {
      if (state === "over") { over(sentence); return; }
      stream = state;
      trouble = state === "away" ? AWAY : sentence ?? "";
      shows.reachable(state === "live");
      tell();
    },
  });

  function draw() {
    const view = seen(now.address), revealed = now.question?.answer !== undefined;
    const onward = revealed && answered !== "" && answered !== view;
    card = bet.show(now.question, now.score, onward);
    answered = revealed ? answered || view : "";
    tell();
    if (paused) return;
    late ??= setTimeout(() => { parts.where.textContent = `${told.pages[placeOf(now.address).page] || "The next page"} is on its way …`; }, LATE);
    shows.show(now.address, now.pointer);
  }

  function tell() { // all that stands around the document
    const { page, query } = placeOf(now?.address ?? "/");
    const at = now ? [title || told.pages[page] || "", query.step && `${place} ${query.step}`, query.layer && `layer ${query.layer}${query.head ? `, head ${query.head}`.replace("head mean", "mean") : ""}`].filter(Boolean) : [];
    const state = standing({ stream, paused, away: now?.away });
    find(".room").dataset.state = state;
    parts.state.textContent = state;
    parts.trouble.textContent = trouble || (stream === "live" && now?.away ? LECTURER_AWAY : "");
    parts.where.textContent = (state === "paused" ? "the lecture: " : "") + at.join(" · ");
    parts.explore.href = labLink(now?.address ?? "/", code);
    parts.back.hidden = !paused || card;
    parts.dark.hidden = !now?.blank;
    find(".stage").inert = card || Boolean(now?.blank);
  }

  function ownWay() { // what somebody looked at on their own is found again
    try {
      const from = new URL(document.referrer);
      if (from.origin === location.origin && from.searchParams.get("room") === code) remember(`own-${code}`, from.pathname + from.search);
    } catch { /* nobody came from the lab */ }
    const own = remembered(`own-${code}`);
    if (!own?.startsWith("/") || own.startsWith("//")) return;
    parts.own.href = own;
    parts.own.hidden = false;
    parts.own.title = "What you looked at on your own";
  }

  function over(sentence) {
    find(".room").hidden = true;
    find(".over").hidden = false;
    const last = find(".last");
    find(".said").textContent = now ? (sentence ? LOST : ENDED) : sentence || ENDED;
    find(".more").textContent = now ? `The lab is open to you as it was shown last.${sentence ? ASK : ""}` : "";
    last.hidden = !now;
    if (now) last.href = labLink(now.address, code).replace(/[?&]room=\w+$/, "");
    find(".again").className = now ? "again" : "again main";
  }

  async function vote(number, word) {
    try {
      const body = JSON.stringify({ voter: voter(), number, word });
      const answer = await fetch(`/rooms/${code}/vote`, { method: "POST", headers: { "content-type": "application/json" }, body });
      return answer.ok ? "" : (await answer.text()).slice(0, 300);
    } catch { return NOT_SENT; }
  }
}

function own(name) { // what this browser has bet, and what of it was right: { number: [word, right] }
  let all = {};
  try { all = JSON.parse(remembered(name) ?? "{}"); } catch { /* somebody else wrote it */ }
  const keep = (number, word, right) => { all[number] = [word, right]; remember(name, JSON.stringify(all)); };
  return {
    get: (number) => all[number]?.[0] ?? "",
    set: (number, word) => keep(number, word, null),
    judged(number, right) {
      keep(number, all[number]?.[0] ?? "", right);
      const known = Object.values(all).map(([, was]) => was).filter((was) => was !== null);
      return { bets: known.length, right: known.filter(Boolean).length };
    },
  };
}

function voter() { // a random number of this browser: nobody's name
  const known = remembered("voter");
  if (known) return known;
  const made = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  remember("voter", made);
  return made;
}
