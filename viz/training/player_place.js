// Tells the slider where the server knows it to be, and which head is chosen; draws nothing. The slider's own element stays as it is, script
// and all, from step to step: so it is sent once.

import { PLACED, placeOfPlayer } from "./player_cache.js";

export default function ({ data }) {
  const { of, at, chosen } = data;
  placeOfPlayer({ of, at, chosen });
  document.dispatchEvent(new CustomEvent(PLACED));
}
