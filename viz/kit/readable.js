// Chooses a text colour that is legible on a background.

const luminance = (hex) => [0.2126, 0.7152, 0.0722].reduce((sum, share, n) => sum + share * (parseInt(hex.slice(2 * n + 1, 2 * n + 3), 16) / 255) ** 2.2, 0.05);

export function contrastName(background, style) { // "ink" or "page", the one with the higher contrast
  const ratio = (name) => { const [a, b] = [luminance(style[`--lab-${name}`]), luminance(background)]; return Math.max(a / b, b / a); };
  return ratio("ink") >= ratio("page") ? "ink" : "page";
}

export const contrastColour = (background, style) => `var(--lab-${contrastName(background, style)})`;
