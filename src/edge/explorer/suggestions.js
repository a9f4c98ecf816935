/** The list of completions at the cursor of an editor. */

import { element, withCode } from "./dom.js";

const MOST_SHOWN = 60;
const LIST_ID = "suggestions";

export class Suggestions {
  /** `complete(text, offset)` returns `{from, to, offers}`, see `completionsAt`. */
  constructor(editor, complete) {
    this.editor = editor;
    this.complete = complete;
    this.list = element("ul", {
      class: "suggestions",
      id: LIST_ID,
      role: "listbox",
      "aria-label": "Completions",
      hidden: true,
    });
    document.querySelector("main").append(this.list);
    const { area } = editor;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", LIST_ID);
    // In the capturing phase, so that an open list receives Enter and Tab before the editor.
    editor.root.addEventListener("keydown", (event) => this.#onKey(event), true);
    area.addEventListener("input", (event) => this.#onInput(event));
    area.addEventListener("blur", () => this.close());
    area.addEventListener("pointerdown", () => this.close());
    editor.root.addEventListener("scroll", () => this.close());
    addEventListener("resize", () => this.close());
  }

  get isOpen() {
    return !this.list.hidden;
  }

  close() {
    this.list.hidden = true;
    this.editor.area.removeAttribute("aria-activedescendant");
  }

  open() {
    const { from, to, offers } = this.complete(this.editor.text, this.editor.cursor);
    const word = this.editor.text.slice(from, to);
    if (offers.length === 0 || (offers.length === 1 && offers[0].text === word))
      return this.close();
    this.range = { from, to };
    this.offers = offers.slice(0, MOST_SHOWN);
    this.list.replaceChildren(...this.offers.map((each, index) => this.#row(each, index)));
    this.list.hidden = false;
    this.#choose(0);
    this.#place(from);
  }

  #row(offer, index) {
    const name = element(
      "span",
      { class: offer.isDeprecated ? "name deprecated" : "name" },
      offer.text,
    );
    return element(
      "li",
      {
        role: "option",
        id: `${LIST_ID}-${index}`,
        // Not `click`, because by then the editor has lost the focus and the list has closed.
        onpointerdown: (event) => {
          event.preventDefault();
          this.#choose(index);
          this.#accept();
        },
      },
      name,
      element("span", { class: "detail" }, offer.detail),
      element("span", { class: "about" }, ...withCode(offer.description.split("\n")[0])),
    );
  }

  #choose(index) {
    this.chosen = (index + this.offers.length) % this.offers.length;
    [...this.list.children].forEach((row, place) =>
      row.setAttribute("aria-selected", String(place === this.chosen)),
    );
    this.list.children[this.chosen].scrollIntoView({ block: "nearest" });
    this.editor.area.setAttribute("aria-activedescendant", `${LIST_ID}-${this.chosen}`);
  }

  /** Places the list below the word, or above it if there is more room, within the window. */
  #place(offset) {
    const word = this.editor.positionOf(offset);
    const { offsetWidth: width, offsetHeight: height } = this.list;
    const below = innerHeight - word.bottom;
    const top = below > height + 8 || below > word.top ? word.bottom + 4 : word.top - height - 4;
    this.list.style.top = `${Math.max(4, top)}px`;
    this.list.style.left = `${Math.max(4, Math.min(word.left - 8, innerWidth - width - 4))}px`;
  }

  #accept() {
    const { insert } = this.offers[this.chosen];
    this.close();
    this.editor.replace(this.range.from, this.range.to, insert);
  }

  #onInput(event) {
    if (event.isComposing) return;
    // Text that a command of the editor inserts isn't typed.
    if (this.editor.isReplacing) return this.close();
    const typed = event.data ?? "";
    if (event.inputType === "insertText" && /^[\w$@]$/.test(typed)) this.open();
    else if (this.isOpen && event.inputType?.startsWith("delete")) this.open();
    else this.close();
  }

  #onKey(event) {
    if (event.key === " " && event.ctrlKey) {
      this.open();
    } else if (!this.isOpen) {
      return;
    } else if (event.key === "ArrowDown") {
      this.#choose(this.chosen + 1);
    } else if (event.key === "ArrowUp") {
      this.#choose(this.chosen - 1);
    } else if (event.key === "Escape") {
      this.close();
    } else if ((event.key === "Enter" || event.key === "Tab") && !event.ctrlKey && !event.metaKey) {
      const { from, to } = this.range;
      const isWritten = this.editor.text.slice(from, to) === this.offers[this.chosen].insert;
      // After a complete word, Enter means a new line rather than the offer.
      if (isWritten) return this.close();
      this.#accept();
    } else {
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key))
        this.close();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
