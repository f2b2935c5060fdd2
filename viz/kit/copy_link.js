// A button that copies the page's address, which holds the whole view.

import { mounted } from "./mount.js";
import { copyLink } from "./copy_link_parts.js";

export default function ({ data, parentElement }) {
  const { root } = mounted({ data, parentElement }, ".copy"), node = root.querySelector("button");
  node.onclick = () => copyLink(node);
}
