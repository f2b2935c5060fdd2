// Where the recorded steps wait for the slider: what the elements that bring them and the one that draws them share.

export const ARRIVED = "attention-lab-recorded-steps";
const MOST = 24e6; // characters of what is kept, as long as the page of the browser stands

export const PLACED = "attention-lab-recorded-place";

// Where the slider is, as the server has said it last: `of` are the pieces that it was said of.
export const placeOfPlayer = (place) => { if (place) globalThis.attentionLabRecordedPlace = place; return globalThis.attentionLabRecordedPlace; };

export const keptPieces = () => (globalThis.attentionLabRecordedSteps ||= new Map());

export const weightOfPiece = ({ maps }) => maps.reduce((sum, text) => sum + text.length, 0);

// Keeps a piece by its id. It is spared, with what was asked for last, until other pieces are asked for.
export function keepPiece(kept, piece, most = MOST) {
  kept.delete(piece.id);
  kept.set(piece.id, piece);
  kept.spared = new Set([...kept.spared ?? [], piece.id]);
  letGo(kept, most);
}

// The pieces of some ids in their order, which are now those that were asked for last; null where one has not come yet.
export function piecesOf(kept, ids, most = MOST) {
  if (!ids.every((id) => kept.has(id))) return null;
  const found = ids.map((id) => {
    const piece = kept.get(id);
    kept.delete(id);
    kept.set(id, piece);
    return piece;
  });
  kept.spared = new Set(ids);
  letGo(kept, most);
  return found;
}

// What was asked for the longest ago goes first, while there is too much.
function letGo(kept, most) {
  let sum = [...kept.values()].reduce((all, each) => all + weightOfPiece(each), 0);
  for (const [id, each] of kept) {
    if (sum <= most) return;
    if (kept.spared.has(id)) continue;
    kept.delete(id);
    sum -= weightOfPiece(each);
  }
}
