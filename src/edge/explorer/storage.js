/**
 * What the browser remembers. Storage can be switched off, full, or hold what another version
 * wrote, and the explorer has to work without it: a failed read gives the fallback, a failed write
 * is forgotten.
 */

const PREFIX = "docgate.explorer.";

function area(open) {
  return {
    read(key, fallback) {
      try {
        const text = open().getItem(PREFIX + key);
        return text === null ? fallback : JSON.parse(text);
      } catch {
        return fallback;
      }
    },
    write(key, value) {
      try {
        open().setItem(PREFIX + key, JSON.stringify(value));
      } catch {
        // See above.
      }
    },
  };
}

/** Outlives the tab: draft, history, sizes. */
export const kept = area(() => localStorage);

/** Ends with the tab: the token. */
export const passing = area(() => sessionStorage);

/** The operation that the page's address holds (`#query=…&variables=…`), if any. */
export function operationOfAddress() {
  const held = new URLSearchParams(location.hash.slice(1));
  if (!held.has("query")) return undefined;
  return { query: held.get("query"), variables: held.get("variables") ?? "" };
}

/** Writes an operation into the page's address and returns it. The token never goes there. */
export function shareOperation({ query, variables }) {
  const held = new URLSearchParams({ query });
  if (variables.trim()) held.set("variables", variables);
  // A new address without a new entry in the browser's history, and without a `hashchange`.
  history.replaceState(null, "", `#${held}`);
  return location.href;
}
