// The second script of the site: the views that the first picture does not need. second_script.js loads it.

import studentStrip from "../../homework/student_strip.js";
import beamTree from "../../decoding_steps/beam_tree.js";
import route from "../../why/route.js";
import { drawHomework } from "./homework.js";
import { drawLesson, drawLessons } from "./lesson_list.js";
import { drawRoute } from "./route_view.js";

/** Hands the views to the page, with the styles of their components and their constants. */
export function main({ css, site }) {
  globalThis.attentionLabViews = { components: { beam_tree: beamTree, route, student_strip: studentStrip }, css, site, drawHomework, drawLesson, drawLessons, drawRoute };
}
