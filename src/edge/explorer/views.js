/** On a narrow screen one part of a page is visible at a time: `side`, `editor` or `response`. */

const buttons = () => document.querySelectorAll(".views button");

/** Shows a part, where not all have room. */
export function showView(view) {
  document.body.dataset.view = view;
  for (const button of buttons()) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

/** Makes the buttons work that choose the part. */
export function activateViews() {
  for (const button of buttons()) {
    button.addEventListener("click", () => showView(button.dataset.view));
  }
  showView("editor");
}
