// A button that copies the page's address. The address stores the whole view.

import { mountComponent } from "./mount.js";
import { copyLink } from "./copy_link_parts.js";

export default function ({ data, parentElement }) {
  const { root } = mountComponent({ data, parentElement }, ".copy"), node = root.querySelector("button");
  node.onclick = () => copyLink(node);
}
