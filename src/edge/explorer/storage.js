/**
 * Browser storage. It can be disabled, full, or hold data of another version, and the explorer has to
 * work without it: a failed read returns the fallback, and a failed write is ignored.
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
        // Ignored, see above.
      }
    },
  };
}

/** Persists after the tab is closed: draft, history, sizes. */
export const kept = area(() => localStorage);

/** Ends with the tab: the token. */
export const passing = area(() => sessionStorage);

/** The operation in the page's address (`#query=…&variables=…`), if there is one. */
export function operationOfAddress() {
  const held = new URLSearchParams(location.hash.slice(1));
  if (!held.has("query")) return undefined;
  return { query: held.get("query"), variables: held.get("variables") ?? "" };
}

/** Writes an operation into the page's address and returns the address. It never contains the token. */
export function shareOperation({ query, variables }) {
  const held = new URLSearchParams({ query });
  if (variables.trim()) held.set("variables", variables);
  // Changes the address without a new history entry and without a `hashchange` event.
  history.replaceState(null, "", `#${held}`);
  return location.href;
}
