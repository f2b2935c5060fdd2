// The lessons in their order, each a link to where it begins, with a tick where this browser has seen it solved.

import { element, mountComponent, pointAt } from "../kit/mount.js";
import { followed, solvedLessons } from "./progress_parts.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const { root } = mountComponent({ data, parentElement }, ".lesson-list"), solved = solvedLessons();
  const count = data.lessons.filter((lesson) => solved.has(lesson.name)).length, next = data.lessons.find((lesson) => !solved.has(lesson.name));
  const list = element("ol");
  root.classList.toggle("large", Boolean(data.large));
  list.replaceChildren(...data.lessons.map(entry));
  const total = element("p", "count", `${count} of ${data.lessons.length} solved`);
  total.title = "Only this browser remembers the solved lessons. Your own numbers check them.";
  root.replaceChildren(total, list);

  function entry(lesson, n) {
    const isSamePlace = n > 0 && data.lessons[n - 1].place === lesson.place; // named once
    const item = element("li"), link = element("a", "", lesson.question), done = solved.has(lesson.name);
    link.href = lesson.href;
    link.dataset.focus = lesson.name;
    const tick = element("span", done ? "tick done" : "tick", done ? "✓" : "");
    tick.setAttribute("role", "img");
    tick.setAttribute("aria-label", done ? "Solved" : "Not solved yet");
    const words = element("div", "words");
    const task = (pointAt() === "Tap" && lesson.touch) || lesson.task;
    words.append(followed(link, () => setTriggerValue("begin", lesson.name)));
    if (lesson === next || lesson.name === data.lesson) words.append(element("p", "", task));
    else link.title = task;
    item.append(tick, words, element("span", "place", isSamePlace ? "" : lesson.place));
    item.classList.toggle("on", lesson.name === data.lesson);
    if (lesson.name === data.lesson) link.setAttribute("aria-current", "step");
    return item;
  }
}
