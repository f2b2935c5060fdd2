// The second script of the site: the views that the first picture does not need. second_script.js loads it.

import beamTree from "../../decoding_steps/beam_tree.js";
import route from "../../why/route.js";
import { drawLesson, drawLessons } from "./lesson_list.js";
import { drawRoute } from "./route_view.js";

/** Hands the views to the page, with the styles of their components and their constants. */
export function main({ css, site }) {
  globalThis.attentionLabViews = { components: { beam_tree: beamTree, route }, css, site, drawLesson, drawLessons, drawRoute };
}
