/**
 * A text editor: a `textarea` with transparent text over a highlighted copy of it. The copy determines
 * the size of both, and one element around them scrolls, so that they stay aligned. The browser's own
 * selection, undo, input methods and screen reader support keep working.
 */

import { element } from "./dom.js";

const INDENT = "  ";
const OPENING = /[{([]\s*$/;

export class Editor {
  /**
   * `highlight` turns the text into nodes, `onChange` is called on every change, `comment` is the start
   * of a comment in this language, if there is one.
   */
  constructor(root, { label, describedBy, placeholder, highlight, comment, onChange }) {
    this.highlight = highlight;
    this.comment = comment;
    this.onChange = onChange;
    /** Numbers of the lines with errors. */
    this.faultyLines = new Set();
    /** Whether the current change is made by a command rather than by typing. */
    this.isReplacing = false;
    /** Whether Tab moves the focus instead of indenting. */
    this.leavesByTab = false;
    this.root = root;
    this.numbers = element("div", { class: "editor-numbers", "aria-hidden": "true" });
    this.copy = element("pre", { class: "editor-copy", "aria-hidden": "true" });
    this.area = element("textarea", {
      "aria-label": label,
      "aria-describedby": describedBy,
      placeholder,
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      autocorrect: "off",
      wrap: "off",
      oninput: () => this.#changed(),
      onkeydown: (event) => this.#onKey(event),
      onblur: () => (this.leavesByTab = false),
    });
    root.append(this.numbers, element("div", { class: "editor-text" }, this.copy, this.area));
    this.#draw();
  }

  get text() {
    return this.area.value;
  }

  /** Replaces the whole text. */
  set text(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.root.scrollTo(0, 0);
    this.#changed();
  }

  get cursor() {
    return this.area.selectionStart;
  }

  focus() {
    this.area.focus();
  }

  /** Replaces the text between two offsets, so that undo works. */
  replace(from, to, text) {
    this.area.focus();
    this.area.setSelectionRange(from, to);
    this.isReplacing = true;
    // Deprecated, but the only way to add the change to the browser's undo history.
    const isDone = text
      ? document.execCommand("insertText", false, text)
      : from === to || document.execCommand("delete");
    this.isReplacing = false;
    if (isDone) return;
    this.area.setRangeText(text, from, to, "end");
    this.#changed();
  }

  /** Marks lines (counted from 1) until the next change. */
  markLines(lines) {
    this.faultyLines = new Set(lines);
    this.#drawNumbers();
  }

  /** Moves the cursor to a line and column, both counted from 1 as in GraphQL errors. */
  goTo({ line, column }) {
    const before = this.text.split("\n").slice(0, line - 1);
    const offset = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
    this.area.focus();
    this.area.setSelectionRange(offset, offset);
    const below = this.positionOf(offset).top - this.root.getBoundingClientRect().top;
    this.root.scrollBy({ top: below - this.root.clientHeight / 3 });
  }

  /** The position on the screen of the character at an offset. */
  positionOf(offset) {
    const walker = document.createTreeWalker(this.copy, NodeFilter.SHOW_TEXT);
    let rest = offset;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (rest <= node.length) {
        const range = document.createRange();
        range.setStart(node, rest);
        range.collapse(true);
        // At the end of a line some browsers have no rectangle for an empty range.
        return range.getClientRects()[0] ?? this.copy.getBoundingClientRect();
      }
      rest -= node.length;
    }
    return this.copy.getBoundingClientRect();
  }

  #changed() {
    const hadMarks = this.faultyLines.size > 0;
    this.faultyLines.clear();
    this.#draw();
    if (hadMarks) this.#drawNumbers();
    this.onChange?.();
  }

  #draw() {
    // In a `pre`, a line after a trailing newline has no height until it has content.
    this.copy.replaceChildren(this.highlight(this.text), "\n");
    if (this.#lineCount() !== this.numbers.childElementCount) this.#drawNumbers();
  }

  #lineCount() {
    return this.text.split("\n").length;
  }

  #drawNumbers() {
    const count = this.#lineCount();
    const numbers = Array.from({ length: count }, (_, index) =>
      element(
        "span",
        { class: this.faultyLines.has(index + 1) ? "faulty" : undefined },
        `${index + 1}`,
      ),
    );
    this.numbers.replaceChildren(...numbers);
  }

  #onKey(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key === "Escape") {
      this.leavesByTab = true;
      return;
    }
    if (event.key === "Tab" && !isCommand && !event.altKey) {
      if (this.leavesByTab) return;
      this.#indent(event.shiftKey);
    } else if (event.key === "/" && isCommand && this.comment) {
      this.#toggleComment();
    } else if (event.key === "Enter" && !isCommand && !event.shiftKey) {
      this.#breakLine();
    } else if (event.key === "}" && !isCommand) {
      if (!this.#closeBlock()) return;
    } else {
      if (event.key.length === 1) this.leavesByTab = false;
      return;
    }
    event.preventDefault();
  }

  /** The whole lines that the selection touches. */
  #selectedLines() {
    const { selectionStart, selectionEnd, value } = this.area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const last = Math.max(selectionStart, selectionEnd > selectionStart ? selectionEnd - 1 : 0);
    const end = value.indexOf("\n", last);
    const to = end < 0 ? value.length : end;
    return { from, to, lines: value.slice(from, to).split("\n") };
  }

  #replaceLines({ from, to }, lines) {
    const { selectionStart, selectionEnd } = this.area;
    const text = lines.join("\n");
    const grown = text.length - (to - from);
    this.replace(from, to, text);
    if (selectionStart === selectionEnd) {
      const cursor = Math.max(from, selectionStart + grown);
      this.area.setSelectionRange(cursor, cursor);
    } else {
      this.area.setSelectionRange(from, from + text.length);
    }
  }

  #indent(isBackwards) {
    const { selectionStart, selectionEnd } = this.area;
    const selected = this.#selectedLines();
    if (isBackwards) {
      this.#replaceLines(
        selected,
        selected.lines.map((line) => line.replace(/^ {1,2}|^\t/, "")),
      );
    } else if (selectionStart === selectionEnd) {
      this.replace(selectionStart, selectionEnd, INDENT);
    } else {
      this.#replaceLines(
        selected,
        selected.lines.map((line) => line && INDENT + line),
      );
    }
  }

  #toggleComment() {
    const selected = this.#selectedLines();
    const written = selected.lines.filter((line) => line.trim());
    const isCommented = (line) => line.trimStart().startsWith(this.comment);
    const change =
      written.length > 0 && written.every(isCommented)
        ? (line) => line.replace(new RegExp(`^(\\s*)${this.comment} ?`), "$1")
        : (line) =>
            line.trim() || selected.lines.length === 1
              ? line.replace(/^(\s*)/, `$1${this.comment} `)
              : line;
    this.#replaceLines(selected, selected.lines.map(change));
  }

  /** Indents a new line like the previous one, and one step deeper after an opening bracket. */
  #breakLine() {
    const { selectionStart, selectionEnd, value } = this.area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const indent = /^\s*/.exec(line)[0];
    const isOpening = OPENING.test(line);
    this.replace(selectionStart, selectionEnd, `\n${indent}${isOpening ? INDENT : ""}`);
    if (isOpening && /^[})\]]/.test(value.slice(selectionEnd))) {
      const cursor = this.cursor;
      this.replace(cursor, cursor, `\n${indent}`);
      this.area.setSelectionRange(cursor, cursor);
    }
  }

  /** Moves a closing brace that is the first on its line one step back. */
  #closeBlock() {
    const { selectionStart, selectionEnd, value } = this.area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const indent = value.slice(from, selectionStart);
    if (selectionStart !== selectionEnd || !indent.endsWith(INDENT) || indent.trim()) return false;
    this.replace(selectionStart - INDENT.length, selectionStart, "}");
    return true;
  }
}
