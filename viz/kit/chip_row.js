// A row of chips in a place that may be too small for it: an end fades where more chips are, and the chosen chip is in view.

const FADE = 28; // px of an end

// Returns the mask of a row that scrolls along one axis: `before` and `after` say whether it goes on at that end.
export function endMask(axis, before, after) {
  if (!before && !after) return "none";
  const stops = [before ? `transparent, #000 ${FADE}px` : "#000 0", after ? `#000 calc(100% - ${FADE}px), transparent` : "#000 100%"];
  return `linear-gradient(to ${axis === "x" ? "right" : "bottom"}, ${stops.join(", ")})`;
}

// Fades the ends of a row while more of it is beyond them.
export function fadeEnds(row) {
  const mark = () => {
    const isWide = row.scrollWidth > row.clientWidth + 1;
    const [at, seen, all] = isWide ? [row.scrollLeft, row.clientWidth, row.scrollWidth] : [row.scrollTop, row.clientHeight, row.scrollHeight];
    row.style.maskImage = endMask(isWide ? "x" : "y", at > 1, at + seen < all - 1);
  };
  row.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(row); // also when it gets its first size
  return row;
}

// Scrolls a row until a chip is in its middle. The page does not scroll.
export function centreChip(row, chip) {
  if (chip) row.scrollTo(chip.offsetLeft - row.offsetLeft - (row.clientWidth - chip.offsetWidth) / 2, chip.offsetTop - row.offsetTop - (row.clientHeight - chip.offsetHeight) / 2);
}
