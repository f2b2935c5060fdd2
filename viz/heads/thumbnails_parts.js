// Where the thumbnails' weights wait for the view of all heads: what the element that keeps them and the one that draws them share.

export const ARRIVED = "attention-lab-thumbnails";
export const store = () => (globalThis.attentionLabThumbnails ||= new Map());
