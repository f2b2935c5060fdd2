import assert from "node:assert/strict";
import test from "node:test";
import { placed, ringed } from "../../../viz/frame/tour_parts.js";

const WINDOWS = [[390, 764], [1280, 720], [1920, 1080]], CARD = { width: 320, height: 160 };
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

test("wherever a part of the page stands, the card stays in the window and never covers the ring", () => {
  for (const [width, height] of WINDOWS) {
    for (let left = -200; left < width; left += 70) for (let top = -200; top < height; top += 60) {
      for (const [wide, tall] of [[60, 30], [320, 300], [760, 240], [1200, 900], [390, 2000]]) {
        const box = { left, top, right: left + wide, bottom: top + tall };
        if (box.right <= 0 || box.bottom <= 0) continue;
        const at = placed(box, CARD, { width, height });
        const card = { ...at, right: at.left + CARD.width, bottom: at.top + CARD.height };
        assert.ok(at.left >= 8 && card.right <= width - 8 && at.top >= 8 && card.bottom <= height - 8, JSON.stringify({ width, box, at }));
        const ring = ringed(box, { ...at, ...CARD }, { width, height });
        const seen = ring.bottom - ring.top > 6 && ring.right - ring.left > 6;
        if (seen && box.top < at.top) assert.ok(!meet(ring, card), JSON.stringify({ width, box, at, ring }));
        assert.ok(ring.left >= 2 && ring.right <= width - 2 && ring.top >= 2 && ring.bottom <= height - 2);
      }
    }
  }
});

test("below where there is room, else above", () => {
  const room = { width: 1280, height: 720 };
  assert.equal(placed({ left: 300, top: 100, right: 500, bottom: 140 }, CARD, room).top, 152);
  assert.equal(placed({ left: 300, top: 600, right: 500, bottom: 640 }, CARD, room).top, 428);
});
