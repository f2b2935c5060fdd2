// Where the tour's card stands, and how far its ring reaches: boxes in pixels of the window.

const MIN_SIZE = 6; // of the ring, where nearly nothing is seen
const GAP = 12, EDGE = 8, AROUND = 5;

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// The card beside a box: below it, above, to its right or left, wherever there is room; else at the foot of the window.
export function placed(box, card, room) {
  const left = clamp(box.left, EDGE, room.width - card.width - EDGE), top = clamp(box.top, EDGE, room.height - card.height - EDGE);
  const ways = [
    { left, top: box.bottom + GAP },
    { left, top: box.top - GAP - card.height },
    { left: box.right + GAP, top },
    { left: box.left - GAP - card.width, top },
  ];
  const fits = (at) => at.left >= EDGE && at.top >= EDGE && at.left + card.width <= room.width - EDGE && at.top + card.height <= room.height - EDGE;
  return ways.find(fits) ?? { left, top: room.height - EDGE - card.height };
}

// The ring round what is seen of a box, short of the card where that has found no room beside it.
export function ringed(box, card, room) {
  const ring = {
    left: clamp(box.left - AROUND, 2, room.width - 2), right: clamp(box.right + AROUND, 2, room.width - 2),
    top: clamp(box.top - AROUND, 2, room.height - 2), bottom: clamp(box.bottom + AROUND, 2, room.height - 2),
  };
  const aside = card.left >= ring.right || card.left + card.width <= ring.left || card.top >= ring.bottom || card.top + card.height <= ring.top;
  if (!aside) ring.bottom = Math.max(ring.top + MIN_SIZE, card.top - GAP);
  return ring;
}
