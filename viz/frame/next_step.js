// The next step of a page: a button in its head, until the visitor dismisses it for good in this browser.

import { button } from "../kit/mount.js";
import { readPreference, storePreference } from "../kit/remember.js";

export function mountNextStep({ data, setTriggerValue }) {
  const place = document.querySelector(".lab-next"), name = `next_${data.nextPage.replace("-", "_")}`;
  if (!place) return () => {};
  if (!data.nextStep || readPreference(name) === "dismissed") { place.replaceChildren(); return () => {}; }
  const dismiss = button("dismiss", "×", () => { storePreference(name, "dismissed"); place.replaceChildren(); });
  dismiss.title = "Do not show this again";
  dismiss.setAttribute("aria-label", dismiss.title);
  place.replaceChildren(button("go", `Next: ${data.nextStep}`, () => setTriggerValue("next", true)), dismiss);
  return () => {};
}
