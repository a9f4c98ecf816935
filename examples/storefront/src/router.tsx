// Going from one address of the app to another.

import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";
import { BASE, here, partsOf } from "./address";

const MOVED = "shop-moved";

/** Goes to an address of the app. */
export function go(to: string, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", BASE + to);
  window.dispatchEvent(new Event(MOVED));
}

function listen(changed: () => void) {
  window.addEventListener("popstate", changed);
  window.addEventListener(MOVED, changed);
  return () => {
    window.removeEventListener("popstate", changed);
    window.removeEventListener(MOVED, changed);
  };
}

/** The present address; a page that uses it is shown again when it changes. */
export const useAddress = () => partsOf(useSyncExternalStore(listen, here));

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
