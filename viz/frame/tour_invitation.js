// One line for who is new here. It is shown in one visit alone, and goes when it is answered.

import { button, mountComponent } from "../kit/mount.js";
import { storePreference, readPreference } from "../kit/remember.js";

const ANSWERED = "answered";

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".tour-invitation", {}), flags = document.documentElement.dataset;
  if (first && readPreference("tour") === null) {
    storePreference("tour", "offered");
    flags.attentionLabInvited = "open";
  }
  if (flags.attentionLabInvited !== "open") { root.replaceChildren(); return; }
  if (state.drawn) return;
  state.drawn = true;
  const close = () => { flags.attentionLabInvited = ANSWERED; state.drawn = false; root.replaceChildren(); };
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "New here?");
  root.replaceChildren(
    button("take", "Take the tour", () => { close(); document.dispatchEvent(new CustomEvent("attention-lab-tour")); }),
    button("skip", "Skip", close));
}
