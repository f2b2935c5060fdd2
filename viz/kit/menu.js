// A menu below its button: a popover that closes on Escape, and on a click beside it.

import { boxOf, zoomOf } from "./mount.js";

const MENU_MARGIN = 8; // px between a menu and the edge of the window

// Makes `menu` the menu of the button `opener`. The first element that matches `first` gets the focus, unless a redraw reopens the menu.
export function attachMenu(opener, menu, label, { width = 500, first = "button" } = {}) {
  menu.popover = "auto";
  menu.setAttribute("role", "dialog");
  menu.setAttribute("aria-label", label);
  menu.onkeydown = (event) => { if (event.key === "Escape") event.stopPropagation(); };
  menu.ontoggle = ({ newState }) => {
    const active = menu.getRootNode().activeElement;
    if (newState === "open") { if (!menu.labReopened) menu.querySelector(first)?.focus({ preventScroll: true }); }
    else if (!active || menu.contains(active)) opener.focus({ preventScroll: true });
    menu.labReopened = false;
  };
  menu.onbeforetoggle = () => placeMenu(opener, menu, width);
  opener.popoverTargetElement = menu;
}

// Opens the menu of a redrawn page again; the focus stays.
export function reopenMenu(menu) {
  menu.labReopened = true;
  menu.showPopover();
}

function placeMenu(opener, menu, most) { // below its button, within the window
  const { left, bottom } = boxOf(opener), zoom = zoomOf(opener), width = Math.min(most, innerWidth / zoom - 2 * MENU_MARGIN);
  Object.assign(menu.style, {
    width: `${width}px`,
    left: `${Math.max(MENU_MARGIN, Math.min(left, innerWidth / zoom - width - MENU_MARGIN))}px`,
    top: `${bottom + 4}px`,
    maxHeight: `${Math.max(160, innerHeight / zoom - bottom - 4 - MENU_MARGIN)}px`,
  });
}
