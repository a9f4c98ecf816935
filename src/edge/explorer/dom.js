/**
 * Creates elements. Text always becomes a text node, so nothing from a server or a link is parsed as
 * markup.
 */

/**
 * An element with attributes and children. `on…` attributes are listeners, `true` sets an attribute
 * without a value, `false` and `undefined` omit it.
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

/**
 * A description as nodes. Descriptions are Markdown by convention; only code in backticks is supported,
 * because docgate's descriptions use nothing else.
 */
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

/** The element of the page with this id. */
export const byId = (id) => document.getElementById(id);

/** Activates a tab list: clicks, arrow keys, and one tab stop for the whole list. */
export function activateTabs(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const select = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
  };
  for (const tab of tabs) tab.addEventListener("click", () => select(tab));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    select(next);
    next.focus();
    event.preventDefault();
  });
  select(tabs.find((tab) => tab.getAttribute("aria-selected") === "true") ?? tabs[0]);
}
