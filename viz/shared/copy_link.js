// A button that copies the page's address, which holds the whole view.
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  for (const name in data.style) parentElement.querySelector(".copy").style.setProperty(name, data.style[name]);
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(window.location.href);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy it from the address bar";
    }
    setTimeout(() => { button.textContent = "Copy link"; }, 1500);
  };
}
