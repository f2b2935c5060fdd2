// The assignments: to solve, to edit, with notes and solutions for lecturers.

import { button, element, mountComponent } from "../kit/mount.js";

const MAX_FILE = 262144; // bytes, as viz/homework/assignment.py has it
const SOLVE = "Solve";

export default function ({ data, parentElement, setTriggerValue: report }) {
  const { root } = mountComponent({ data, parentElement }, ".assignment-list"), open = new Set([...root.querySelectorAll("details[open]")].map((each) => each.dataset.name));
  const list = element("ul"), row = element("div", "row"), file = Object.assign(element("input"), { type: "file", accept: ".json,application/json", hidden: true }), message = element("p", "message");
  root.classList.toggle("large", Boolean(data.large));
  list.replaceChildren(...data.assignments.map((each) => entry(each)));
  file.onchange = () => read(file);
  row.hidden = data.isStudent; // only the assignment that is solved, without its answers
  row.append(button("make", "Make an assignment", () => report("make", true)), button("open", "Open a file …", () => file.click()), file);
  message.setAttribute("role", "alert");
  message.textContent = data.message;
  root.replaceChildren(list, row, message);

  function entry({ name, title, about, minutes, count, notes, tasks }) {
    const item = element("li"), line = element("div", "line"), words = element("div", "grow"), isChosen = name === data.chosen;
    words.append(element("b", "", title), element("p", "about", about));
    const solve = button(isChosen && !data.author ? "" : "first", SOLVE, () => report("solve", name));
    line.append(words, element("span", "size", `${count} ${count === 1 ? "task" : "tasks"}${minutes ? `, ${minutes} min` : ""}`), solve);
    if (!data.isStudent) line.append(button("edit", name === "~" ? "Edit" : "Edit a copy", () => report("edit", name)));
    item.append(line);
    if (!data.isStudent && tasks.some(({ answer }) => answer)) item.append(forLecturers(name, notes, tasks));
    return item;
  }

  function forLecturers(name, notes, tasks) {
    const details = element("details"), steps = element("ol");
    details.dataset.name = name;
    details.open = open.has(name);
    steps.replaceChildren(...tasks.map((task) => {
      const item = element("li", "", task.question), answer = element("p");
      if (task.answer) answer.append("Answer: ", element("code", "", task.answer), " ");
      if (task.link) answer.append(Object.assign(element("a", "solution", "Solution"), { href: task.link, target: "_blank", rel: "noopener" }));
      item.append(answer);
      if (task.notes) item.append(element("p", "hint", task.notes));
      return item;
    }));
    details.append(element("summary", "", "For lecturers: notes and solutions"), ...notes.map((text) => element("p", "", text)), steps);
    return details;
  }

  async function read(input) {
    const [chosen] = input.files;
    input.value = "";
    if (!chosen) return;
    if (chosen.size > MAX_FILE) { message.textContent = `This file has ${chosen.size.toLocaleString("en")} bytes; expected at most ${MAX_FILE.toLocaleString("en")}.`; return; }
    report("open", await chosen.text());
  }
}
