// The tour: a ring round a part of the page, and a card beside it. The page stays usable; nothing in it moves but its scroll.

import { button, element, mountComponent } from "../kit/mount.js";
import { placed, ringed } from "./tour_parts.js";
import { readPreference, storePreference } from "../kit/remember.js";

const FIRST_PAGE_MS = 60_000; // for the first page, where the tour begins on another

export function mountTour({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".tour", { at: -1 });
  Object.assign(state, { data, setTriggerValue });
  if (first) {
    state.opener = button("begin", "Tour", () => beginTour(state));
    root.replaceChildren(state.opener);
  }
  invite(state, first);
  if (!data.onFirstPage && state.at >= 0 && !state.waiting) endTour(state); // the visitor has gone to another page
  return () => {
    endTour(state);
  };
}

// Offers the tour in one line of the first page, in one visit of the browser, until it is answered.
function invite(state, first) {
  if (first && readPreference("tour") === null) {
    storePreference("tour", "offered");
    state.invites = true;
  }
  const place = document.querySelector(".lab-invitation");
  if (!place || !state.invites || place.firstChild) return;
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", "New here?");
  place.append(button("take", "Take the tour", () => beginTour(state)), button("skip", "Skip", () => closeInvitation(state)));
}

function closeInvitation(state) {
  state.invites = false;
  document.querySelector(".lab-invitation")?.replaceChildren();
}

function isVisible(node) { // to the side of the window nothing can be scrolled to
  const { left, right, width } = node.getBoundingClientRect();
  return width > 0 && right > 0 && left < innerWidth && node.checkVisibility?.({ visibilityProperty: true }) !== false;
}

function target(stop) {
  for (const selector of stop.at) for (const node of document.querySelectorAll(selector)) if (isVisible(node)) return node;
  return null;
}

function beginTour(state) {
  endTour(state);
  closeInvitation(state);
  storePreference("tour", "taken");
  state.back = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
  if (innerWidth <= 760) document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click(); // it covers the page
  if (!state.data.onFirstPage) state.setTriggerValue("tour", true);
  state.waiting = performance.now();
  state.at = 0;
  followStop(state);
}

function endTour(state) {
  cancelAnimationFrame(state.frame);
  window.removeEventListener("keydown", state.pressed, true);
  const hadFocus = state.card?.contains(document.activeElement);
  state.card?.remove();
  state.ring?.remove();
  Object.assign(state, { at: -1, card: null, ring: null, waiting: 0 });
  if (hadFocus) (state.back?.isConnected && state.back !== document.body ? state.back : state.opener).focus({ preventScroll: true });
}

// Once a frame while the tour is on: whatever the page does, ring and card stay at their part of it.
function followStop(state) {
  if (state.at < 0) return;
  state.frame = requestAnimationFrame(() => followStop(state));
  const { tourStops } = state.data;
  if (state.waiting) {
    if (!target(tourStops[0])) { if (performance.now() - state.waiting > FIRST_PAGE_MS) endTour(state); return; }
    state.waiting = 0;
    openCard(state);
    go(state, 0);
  }
  const node = target(state.stops[state.at]);
  for (const each of [state.card, state.ring]) each.style.visibility = node ? "visible" : "hidden";
  if (node) arrange(state, node);
}

function openCard(state) {
  state.stops = state.data.tourStops.filter(target);
  state.ring = element("div", "lab-tour-ring");
  state.ring.setAttribute("aria-hidden", "true");
  state.card = element("section", "lab-tour");
  state.card.setAttribute("role", "dialog");
  state.card.setAttribute("aria-label", "Tour");
  const words = element("div", "words"), row = element("div", "row");
  words.setAttribute("aria-live", "polite");
  state.number = element("span", "number");
  state.words = words;
  state.leave = button("leave", "End tour", () => endTour(state));
  state.previous = button("previous", "Back", () => go(state, state.at - 1));
  state.next = button("next", "", () => go(state, state.at + 1));
  state.lesson = button("lesson", "First lesson", () => { endTour(state); state.setTriggerValue("lesson", true); });
  row.append(state.number, state.leave, state.previous, state.next, state.lesson);
  state.card.append(words, row);
  state.pressed = (event) => {
    if (!state.card.contains(document.activeElement) || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") endTour(state);
    else if (step) go(state, state.at + step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener("keydown", state.pressed, true); // before the player of the page, which takes the arrows too
  document.body.append(state.ring, state.card);
}

function go(state, at) {
  if (at < 0) return;
  if (at >= state.stops.length) { endTour(state); return; }
  const stop = state.stops[at], last = at === state.stops.length - 1;
  state.at = at;
  state.number.textContent = `${at + 1} of ${state.stops.length}`;
  state.words.replaceChildren(element("h2", "", stop.title), element("p", "", stop.text));
  state.previous.hidden = at === 0;
  state.leave.hidden = last;
  state.next.textContent = last ? "Done" : "Next";
  state.next.classList.toggle("next", !last); // at the end the way on is the lesson
  state.lesson.hidden = !last;
  const node = target(stop), box = node?.getBoundingClientRect();
  if (box && (box.top < 0 || box.bottom > innerHeight)) node.scrollIntoView({ block: "center" });
  (last ? state.lesson : state.next).focus({ preventScroll: true });
}

function arrange(state, node) {
  const narrow = innerWidth <= 760, height = innerHeight - (narrow ? 80 : 0); // there the player stands below
  const box = node.getBoundingClientRect(), { offsetWidth: width, offsetHeight: tall } = state.card;
  const at = placed(box, { width, height: tall }, { width: innerWidth, height });
  Object.assign(state.card.style, { left: `${at.left}px`, top: `${at.top}px` });
  const ring = ringed(box, { ...at, width, height: tall }, { width: innerWidth, height: innerHeight });
  Object.assign(state.ring.style, { left: `${ring.left}px`, top: `${ring.top}px`, width: `${ring.right - ring.left}px`, height: `${ring.bottom - ring.top}px` });
}
