/** The response pane: one response, or the events of a subscription as they arrive. */

import { element } from "./dom.js";
import { excerpt } from "./excerpt.js";
import { highlightJson } from "./highlight.js";

/** Older events are removed, because a busy subscription would fill the browser's memory. */
const MOST_EVENTS = 200;

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function sizeText(bytes) {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
}

function durationText(milliseconds) {
  const isShort = milliseconds < 10 && !Number.isInteger(milliseconds);
  return `${isShort ? milliseconds.toFixed(1) : Math.round(milliseconds).toLocaleString("en")} ms`;
}

export class ResponseView {
  /** `onLocation({line, column})` is called for the position in the operation that an error names. */
  constructor({ status, body, copy, onLocation }) {
    this.status = status;
    this.body = body;
    this.copy = copy;
    this.onLocation = onLocation;
    /** Number of the last event on the page. */
    this.drawn = 0;
    copy.addEventListener("click", () => this.#copyText());
    this.showWelcome();
  }

  showWelcome() {
    this.#clear();
    this.#say(badge("idle", "Ready"));
    const keys = (...names) =>
      names.flatMap((name, index) => [index ? " " : "", element("kbd", {}, name)]);
    const command = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
    const row = (names, meaning) => [
      element("dt", {}, ...keys(...names)),
      element("dd", {}, meaning),
    ];
    this.body.append(
      element(
        "div",
        { class: "welcome" },
        element(
          "p",
          {},
          "Choose an example or write an operation, then run it. The answer appears here.",
        ),
        element(
          "dl",
          {},
          ...row([command, "Enter"], "run"),
          ...row(["Ctrl", "Space"], "complete"),
          ...row([command, "/"], "comment lines"),
          ...row(["Tab"], "indent; after Esc, leave the editor"),
        ),
      ),
    );
  }

  showWaiting(text) {
    this.#clear();
    this.#say(badge("waiting", text));
  }

  /** Shows why a request failed without a response. */
  showFailure(text) {
    this.#clear();
    this.#say(badge("fault", "No answer"));
    this.body.append(element("p", { class: "failure" }, text));
  }

  /** Shows a response from `post` to the text of an operation; `note` adds a remark. */
  showAnswer({ status, statusText, milliseconds, bytes, text, body }, { operation, note }) {
    this.#clear();
    this.operation = operation;
    const isFault = status >= 400;
    const count = body?.errors?.length ?? 0;
    this.#say(
      badge(isFault ? "fault" : "good", `${status} ${statusText}`.trim()),
      count > 0 ? badge("fault", plural(count, "error")) : undefined,
      element("span", {}, durationText(milliseconds)),
      element("span", {}, sizeText(bytes)),
    );
    if (note) this.body.append(element("p", { class: "failure" }, note));
    this.#showResult(this.body, body, text);
    this.text = () => (body === undefined ? text : pretty(body));
    this.copy.hidden = false;
  }

  startEvents({ operation }) {
    this.#clear();
    this.operation = operation;
    this.events = [];
    this.count = 0;
    this.began = performance.now();
    this.#say(badge("waiting", "Connecting…"));
  }

  showLive() {
    this.#sayCount(badge("live", "Live"));
    const tab = element("a", { href: "./", target: "_blank", rel: "opener" }, "another tab");
    const [before, after] = ["Connected. Events appear here as they happen. Use ", " to cause some."];
    this.body.replaceChildren(element("p", { class: "hint" }, before, tab, after));
  }

  /** Collects an event. Events may arrive faster than the page is laid out, so they are drawn per frame. */
  addEvent(result) {
    this.count += 1;
    this.events.push({
      number: this.count,
      at: new Date(),
      after: performance.now() - this.began,
      result,
    });
    this.events.splice(0, this.events.length - MOST_EVENTS);
    this.frame ??= requestAnimationFrame(() => {
      this.#drawEvents();
      this.#sayCount(badge("live", "Live"));
    });
  }

  endEvents({ isFault, reason }) {
    this.#drawEvents();
    this.#sayCount(badge(isFault ? "fault" : "good", reason));
    if (this.count > 0) return;
    this.body.replaceChildren(hint("No event arrived."));
  }

  #sayCount(state) {
    this.#say(state, element("span", {}, plural(this.count, "event")));
  }

  #drawEvents() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    const isAtEnd = this.body.scrollHeight - this.body.scrollTop - this.body.clientHeight < 40;
    this.body.querySelector(".hint")?.remove();
    const drawn = this.drawn;
    const fresh = this.events.filter(({ number }) => number > drawn);
    this.drawn = this.count;
    this.body.append(...fresh.map((event) => this.#eventBlock(event)));
    while (this.body.childElementCount > MOST_EVENTS) this.body.firstElementChild.remove();
    if (isAtEnd) this.body.scrollTop = this.body.scrollHeight;
    this.text = () => pretty(this.events.map(({ result }) => result));
    this.copy.hidden = this.count === 0;
  }

  #eventBlock({ number, at, after, result }) {
    const head = element(
      "header",
      {},
      element("strong", {}, `#${number}`),
      element("time", {}, at.toLocaleTimeString()),
      element("span", {}, `after ${(after / 1000).toFixed(1)} s`),
    );
    const block = element("article", { class: "event" }, head);
    this.#showResult(block, result);
    return block;
  }

  #clear() {
    this.body.replaceChildren();
    this.body.scrollTo(0, 0);
    this.copy.hidden = true;
    this.drawn = 0;
  }

  #say(...parts) {
    this.status.replaceChildren(...parts.filter(Boolean));
  }

  #showResult(parent, body, text) {
    if (body === undefined) {
      parent.append(hint("The answer isn't JSON."), element("pre", { class: "json" }, text));
      return;
    }
    if (body?.errors?.length > 0) parent.append(this.#errorList(body.errors));
    const commands = body?.extensions?.docgate?.commands;
    if (Array.isArray(commands)) parent.append(commandList(commands));
    parent.append(element("pre", { class: "json" }, highlightJson(pretty(body))));
  }

  #errorList(errors) {
    const rows = errors.map(({ message, path, locations, extensions }) => {
      const place = locations?.[0];
      // The error of a field at run time is identified by its path; the text of the operation is correct.
      const isOfText = place && !path?.length && this.operation;
      return element(
        "li",
        {},
        extensions?.code ? element("span", { class: "code" }, extensions.code) : undefined,
        element("span", { class: "message" }, message ?? "no message"),
        path?.length > 0
          ? element("code", { title: "Where in the response" }, path.join("."))
          : undefined,
        place
          ? element(
              "button",
              { type: "button", class: "link", onclick: () => this.onLocation(place) },
              `line ${place.line}, column ${place.column}`,
            )
          : undefined,
        extensions?.retryable
          ? element("span", { class: "retryable" }, "can be retried")
          : undefined,
        isOfText ? excerpt(this.operation, place) : undefined,
      );
    });
    return element("ul", { class: "error-list", "aria-label": "Errors" }, ...rows);
  }

  async #copyText() {
    try {
      await navigator.clipboard.writeText(this.text());
      this.copy.textContent = "Copied";
    } catch {
      this.copy.textContent = "Not allowed";
    }
    setTimeout(() => (this.copy.textContent = "Copy"), 1500);
  }
}

const hint = (text) => element("p", { class: "hint" }, text);

const pretty = (value) => JSON.stringify(value, null, 2);

const badge = (kind, text) => element("span", { class: `badge ${kind}` }, text);

/** The database commands of a request, from `extensions.docgate`. */
function commandList(commands) {
  const rows = commands.map(({ collection, command, keysExamined, docsExamined, millis }) => {
    const counts = [
      keysExamined === undefined || keysExamined === null ? undefined : plural(keysExamined, "key"),
      docsExamined === undefined || docsExamined === null
        ? undefined
        : plural(docsExamined, "document"),
      millis === undefined || millis === null ? undefined : durationText(millis),
    ];
    return element(
      "li",
      {},
      element("b", {}, `${command ?? "command"} ${collection ?? ""}`),
      counts.filter(Boolean).join(" · "),
    );
  });
  const head = element("span", {}, `MongoDB: ${plural(commands.length, "command")}`);
  return element("div", { class: "commands" }, head, element("ul", {}, ...rows));
}
