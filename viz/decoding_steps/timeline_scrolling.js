// Rows wider than the window: how many tokens lie beyond each end, with a way there. Nothing here makes markup from text.

import { button } from "../kit/mount.js";
import { excludeFromPicture } from "../kit/pen.js";

const AIR = 24; // px beside what shall be in sight

// How far to scroll so that both of two places are in sight, where they fit; else the first, as near to the other as may be, or
// in the middle.
export function scrolledTo([left, right], [from, to], width, middle = false) {
  const both = [Math.min(left, from) - AIR, Math.max(right, to) + AIR];
  if (both[1] - both[0] <= width) return Math.max(0, (both[0] + both[1] - width) / 2);
  if (middle) return Math.max(0, (left + right - width) / 2);
  return Math.max(0, from < left ? right + AIR - width : left - AIR);
}

// The same of a text that is read at once: from its beginning, as long as the place is in sight there.
export const scrolledOnce = ([left, right], width) => (right + AIR <= width ? 0 : Math.max(0, (left + right - width) / 2));

export function scrolling(frame, scroll) {
  const ends = [-1, 1].map((way) => {
    const end = button(`more ${way < 0 ? "before" : "after"}`, "", () => scroll.scrollBy({ left: way * 0.8 * scroll.clientWidth, behavior: "smooth" }));
    end.tabIndex = -1; // the tokens are walked with the keys
    end.hidden = true;
    frame.append(excludeFromPicture(end, true)); // a picture shows them all
    return end;
  });
  const count = () => {
    const box = scroll.getBoundingClientRect(), chips = [...scroll.querySelectorAll(".source .chip")].map((chip) => chip.getBoundingClientRect());
    const beyond = [chips.filter(({ left }) => left < box.left - 1).length, chips.filter(({ right }) => right > box.right + 1).length];
    ends.forEach((end, n) => {
      end.hidden = !beyond[n] || !box.width; // on a phone the rows are wrapped, and no box is left to scroll
      end.textContent = n ? `${beyond[n]} ›` : `‹ ${beyond[n]}`;
      end.setAttribute("aria-label", `${beyond[n]} more source tokens ${n ? "to the right" : "to the left"}`);
    });
  };
  scroll.onscroll = count;
  frame.countBeyond = count;
}
