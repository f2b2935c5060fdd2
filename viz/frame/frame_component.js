// What every page needs in the browser: the next step, the terms, the glosses, the facts, the lecture keys, the room, the key of the visit, and the watchers of theme, popovers, history and connection.

import { loadGlosses } from "../kit/glosses.js";
import { mountComponent } from "../kit/mount.js";
import { mountKeys } from "../classroom/lecture.js";
import { mountRoom } from "../classroom/room.js";
import { mountNextStep } from "./next_step.js";
import { mountReference } from "./reference.js";
import { mountVisit } from "./visit.js";
import { watchPage } from "./watch.js";

export default function (args) {
  const { state } = mountComponent(args, ".frame");
  loadGlosses(args.data.glosses);
  state.ends = [mountNextStep, mountReference, watchPage, mountKeys, mountRoom, mountVisit].map((mountPart) => mountPart({ ...args, data: { ...args.data } }));
  return () => { for (const end of state.ends) end?.(); };
}
