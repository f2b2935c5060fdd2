// Byte-level byte-pair encoding, as model/text/tokenizer.py reads tokenizer.json: text to ids and back.

const ENDING = "(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])";
const CONTRACTION = `['’]${ENDING}(?![\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}])`;
const PRE_TOKENS = [
  CONTRACTION,
  ` ?\\p{L}+(?!${CONTRACTION})['’](?=\\p{L})`,
  " ?[\\p{L}\\p{M}]+",
  " ?\\p{N}{1,3}",
  " ?[^\\p{White_Space}\\p{L}\\p{M}\\p{N}]+",
  "\\p{White_Space}+(?!\\P{White_Space})",
  "\\p{White_Space}+",
].join("|");
const SPACE = "Ġ"; // the sign of byte-level BPE for a space
const ELIDED = /^ ?\p{L}+['’]$/u;

/** Returns the printable character of each byte (the table of GPT-2). */
function charactersOfBytes() {
  const isPlain = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isPlain(byte) ? byte : 256 + others++));
}

export class Tokenizer {
  /** Reads the values of a tokenizer.json. */
  constructor({ model, added_tokens: added }) {
    this.ids = model.vocab;
    this.tokens = Object.entries(model.vocab).reduce((all, [token, id]) => { all[id] = token; return all; }, []);
    this.controls = new Map(added.map(({ id, content }) => [id, content]));
    this.ranks = new Map(model.merges.map((pair, rank) => [(Array.isArray(pair) ? pair : pair.split(" ")).join(" "), rank]));
    this.characters = charactersOfBytes();
    this.bytes = new Map(this.characters.map((character, byte) => [character, byte]));
    this.known = new Map(); // ids of pieces
  }

  /** Returns the ids of a text, without `<s>` and `</s>`. */
  encode(text) {
    const ids = [];
    let afterElision = false;
    for (const [piece] of text.normalize("NFC").matchAll(new RegExp(PRE_TOKENS, "gu"))) {
      const printable = [...new TextEncoder().encode(piece)].map((byte) => this.characters[byte]).join("");
      let own = this.merge(printable);
      if (afterElision) { // the word after an elision gets the tokens that it has after a space, unless these are more
        const spaced = this.merge(SPACE + printable);
        if (spaced.length <= own.length || printable.startsWith(SPACE)) own = spaced;
      }
      ids.push(...own);
      if (own.length) afterElision = this.isElided(own.at(-1));
    }
    return ids;
  }

  /** Returns the ids of a piece: its pair of the lowest rank is joined until no pair has a rank. */
  merge(printable) {
    if (this.known.has(printable)) return this.known.get(printable);
    let parts = [...printable];
    for (;;) {
      let [best, place] = [Infinity, -1];
      for (let n = 0; n + 1 < parts.length; n += 1) {
        const rank = this.ranks.get(`${parts[n]} ${parts[n + 1]}`) ?? Infinity;
        if (rank < best) [best, place] = [rank, n];
      }
      if (place < 0) break;
      parts = [...parts.slice(0, place), parts[place] + parts[place + 1], ...parts.slice(place + 2)];
    }
    const ids = parts.map((part) => this.ids[part]);
    this.known.set(printable, ids);
    return ids;
  }

  isElided(id) {
    return ELIDED.test(this.textOf([this.bytesOf(id)]));
  }

  /** Returns the bytes of a token; none for a control token. */
  bytesOf(id) {
    return this.controls.has(id) ? [] : [...this.tokens[id]].map((character) => this.bytes.get(character));
  }

  /** Returns the bytes of each token in a text: a word after an elision has no space. */
  bytesInText(ids) {
    return ids.map((id, n) => {
      const bytes = this.bytesOf(id);
      return n && bytes[0] === 32 && this.isElided(ids[n - 1]) ? bytes.slice(1) : bytes;
    });
  }

  textOf(parts) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(parts.flat()));
  }

  /** Returns the text of ids; control tokens have none. */
  decode(ids) {
    return this.segments(ids).join("");
  }

  /** Returns the text that each token adds; the last of the tokens that share a character adds it. */
  segments(ids) {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return this.bytesInText(ids).map((bytes, n) => decoder.decode(Uint8Array.from(bytes), { stream: n + 1 < ids.length }));
  }
}
