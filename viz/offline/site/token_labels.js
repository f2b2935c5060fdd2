// Labels of tokens and the numbers of their words, as `pieces` and `word_numbers` of model/text/tokenizer.py.

const IN_WORD = /[\p{L}\p{N}\p{M}'’\ufffd-]/u;

/** Returns a label of a token: a leading space as `·`, bytes of a divided character as `⟨E2⟩`. */
export const pieceOf = (tokenizer, id) => tokenizer.controls.get(id) ?? visible(tokenizer.bytesOf(id));

/** Returns one label for each token, without the space before a word. */
export function labelsOf(tokenizer, ids) {
  return ids.map((id) => {
    const bytes = tokenizer.bytesOf(id), piece = pieceOf(tokenizer, id);
    return bytes.length > 1 && bytes[0] === 32 ? piece.slice(1) : piece;
  });
}

/** Returns the number of the word of each token; punctuation and control tokens are words of their own. */
export function wordNumbers(tokenizer, ids) {
  const numbers = [];
  let [endsInWord, isSpace] = [false, false];
  for (const bytes of tokenizer.bytesInText(ids)) {
    const text = tokenizer.textOf([bytes]);
    const isNew = !text || !(isSpace || (endsInWord && IN_WORD.test([...text][0])));
    numbers.push(numbers.length ? numbers.at(-1) + Number(isNew) : 0);
    [endsInWord, isSpace] = [text !== "" && IN_WORD.test([...text].at(-1)), text === " "];
  }
  return numbers;
}

/** Returns bytes as visible text; those that are no character become ⟨E2⟩. */
function visible(bytes) {
  let text = "";
  for (let n = 0; n < bytes.length;) {
    const length = [1, 2, 3, 4].find((count) => isCharacter(bytes.slice(n, n + count)));
    const character = length ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes.slice(n, n + length))) : "";
    text += character ? shown(character) : `⟨${bytes[n].toString(16).toUpperCase().padStart(2, "0")}⟩`;
    n += length ?? 1;
  }
  return text;
}

function isCharacter(bytes) {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  return [...text].length === 1 && (text !== "\ufffd" || String(bytes) === "239,191,189");
}

function shown(character) {
  if (character === " ") return "·";
  const isHidden = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Cn}\p{Co}]/u.test(character);
  return isHidden ? `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩` : character;
}
