// Going from one address of the app to another, and back.

import { type AnchorHTMLAttributes, type MouseEvent, useEffect, useSyncExternalStore } from "react";
import { BASE, here, partsOf } from "./address";

const MOVED = "shop-moved";

/** One entry of the browser's history. */
interface Place {
  key: string;
  address: string;
  /** Whether the shopper went back or forward to it. */
  isReturn: boolean;
}

/** What a page looked like when it was left. */
interface Left {
  top: number;
  /** The link that was followed. */
  link?: string | null;
}

/** By the keys of their places. */
const left = new Map<string, Left>();

const newKey = () => String(Math.random());

/** The key of the present entry. One that the browser made has none: the first one, and that of a link within a page. */
function keyOf(): { key: string; isNew: boolean } {
  const known = (history.state as { key?: string } | null)?.key;
  if (known) return { key: known, isNew: false };
  const key = newKey();
  history.replaceState({ key }, "");
  return { key, isNew: true };
}

const first: Place = { key: keyOf().key, address: here(), isReturn: false };
let place = first;

function arrive(next: Place) {
  place = next;
  window.dispatchEvent(new Event(MOVED));
}

// Where the app is loaded anew, the browser knows the position.
window.addEventListener("pagehide", () => (history.scrollRestoration = "auto"));

window.addEventListener("scroll", () => left.set(place.key, { ...left.get(place.key), top: window.scrollY }), { passive: true });

window.addEventListener("popstate", () => {
  const { key, isNew } = keyOf();
  arrive({ key, address: here(), isReturn: !isNew });
});

/** Goes to an address of the app. */
export function go(to: string, replace = false) {
  left.set(place.key, { top: window.scrollY, link: document.activeElement?.getAttribute("href") });
  const key = newKey();
  // Otherwise the browser sets the position, before the page is shown.
  history.scrollRestoration = "manual";
  history[replace ? "replaceState" : "pushState"]({ key }, "", BASE + to);
  arrive({ key, address: here(), isReturn: false });
}

/** Whether the shopper went anywhere since the app was opened. */
export const hasMoved = () => place !== first;

/** Whether the page that is shown was left before. */
export const hasReturned = () => place.isReturn;

function listen(changed: () => void) {
  window.addEventListener(MOVED, changed);
  return () => window.removeEventListener(MOVED, changed);
}

/** The present address. A new page begins at its top; one that was left before is as it was, with the focus on the same link. */
export function useAddress() {
  const present = useSyncExternalStore(listen, () => place);
  const parts = partsOf(present.address);
  useEffect(() => {
    if (!present.isReturn) return;
    const { top, link } = left.get(present.key) ?? { top: 0 };
    window.scrollTo(0, top);
    if (link) document.querySelector<HTMLElement>(`main a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
  }, [present]);
  useEffect(() => {
    if (hasMoved() && !hasReturned()) window.scrollTo(0, 0);
  }, [parts.path]);
  return parts;
}

/** Whether a click is meant for this page, and not for a new tab. */
export const isPlain = (event: MouseEvent) =>
  !event.defaultPrevented &&
  event.button === 0 &&
  !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { to: string };

/** A link within the app. */
export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (!isPlain(event)) return;
    event.preventDefault();
    go(to);
  };
  return <a href={BASE + to} onClick={follow} {...rest} />;
}
