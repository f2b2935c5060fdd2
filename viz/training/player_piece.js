// Keeps some recorded steps for the slider, which waits for them by their id; draws nothing.

import { ARRIVED, keepPiece, keptPieces } from "./player_cache.js";

export default function ({ data }) {
  const { id, maps, written, probabilities, losses } = data;
  if (keptPieces().has(id)) return;
  keepPiece(keptPieces(), { id, maps, written, probabilities, losses });
  document.dispatchEvent(new CustomEvent(ARRIVED, { detail: id }));
}
