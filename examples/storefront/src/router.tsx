// Addresses of the app, below the folder that it is served from.

import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

const BASE = "/shop";
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

const here = () => location.pathname.slice(BASE.length).replace(/\/$/, "") + location.search;

/** The present address: its path, which begins with a slash, and its parameters. */
export function useAddress(): { path: string; parameters: URLSearchParams } {
  const [path = "", search] = useSyncExternalStore(listen, here).split("?");
  return { path: decodeURI(path) || "/", parameters: new URLSearchParams(search) };
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
