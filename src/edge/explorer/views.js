/** On a narrow screen one part of the page is visible at a time: `side`, `editor` or `response`. */

const buttons = () => document.querySelectorAll(".views button");

/** Shows a part, if there isn't room for all. */
export function showView(view) {
  document.body.dataset.view = view;
  for (const button of buttons()) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

/** Activates the buttons that choose the visible part. */
export function activateViews() {
  for (const button of buttons()) {
    button.addEventListener("click", () => showView(button.dataset.view));
  }
  showView("editor");
}
