// Which text can be read over a colour.

const light = (hex) => [0.2126, 0.7152, 0.0722].reduce((sum, share, n) => sum + share * (parseInt(hex.slice(2 * n + 1, 2 * n + 3), 16) / 255) ** 2.2, 0.05);

export function clearer(background, style) { // "ink" or "page", whichever stands out more
  const ratio = (name) => { const [a, b] = [light(style[`--lab-${name}`]), light(background)]; return Math.max(a / b, b / a); };
  return ratio("ink") >= ratio("page") ? "ink" : "page";
}

export const readable = (background, style) => `var(--lab-${clearer(background, style)})`;
