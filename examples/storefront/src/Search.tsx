// Search while somebody types: suggestions, then a list of results.

import { type FormEvent, type KeyboardEvent, useEffect, useId, useState } from "react";
import { searchPath, worksPath } from "./address";
import { type ResultOf, request } from "./graphql";
import { Suggest } from "./operations";
import { go } from "./router";
import { capital, productPath } from "./ui";

/** Suggestions, and the text that they are for. */
type Found = ResultOf<typeof Suggest>["suggest"] & { text: string };

/** Pause after a key before docgate is asked, in milliseconds. */
const PAUSE = 120;

interface Choice {
  key: string;
  text: string;
  kind: string;
  to: string;
}

const wordsOf = (text: string) =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** Whether a title has the beginnings of all the words. Otherwise the title of a track has them. */
function hasWords(title: string, text: string): boolean {
  const own = wordsOf(title);
  return wordsOf(text).every((word) => own.some((one) => one.startsWith(word)));
}

function choices(found: Found | null): Choice[] {
  const people = found?.people.map(({ personId, name }) => ({
    key: personId,
    text: name,
    kind: "Person",
    to: worksPath(personId),
  }));
  const products = found?.products.map((product) => ({
    key: product.sku,
    text: product.title,
    kind: capital(product.type) + (hasWords(product.title, product.correctedText ?? found.text) ? "" : ", by a track"),
    to: productPath(product),
  }));
  return [...(products ?? []), ...(people ?? [])];
}

export function Search() {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const id = useId();

  useEffect(() => {
    setAt(-1);
    if (text.trim().length < 2) return setFound(null);
    const abort = new AbortController();
    const timer = setTimeout(() => {
      request(Suggest, { text: text.trim() }, abort.signal).then(
        ({ suggest }) => {
          setFound({ ...suggest, text });
          setAt(-1);
        },
        // A suggestion that fails isn't missed.
        () => undefined,
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const list = choices(found);
  const isShown = isOpen && list.length > 0;
  const corrected = [...(found?.products ?? []), ...(found?.people ?? [])].find((one) => one.correctedText);

  const leave = (to: string) => {
    setAt(-1);
    setOpen(false);
    (document.activeElement as HTMLElement | null)?.blur();
    go(to);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const chosen = isShown ? list[at] : undefined;
    if (chosen) leave(chosen.to);
    else if (text.trim()) leave(searchPath(text.trim()));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape" && isShown) {
      // A second one empties the field, as browsers do.
      event.preventDefault();
      return setOpen(false);
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || list.length === 0) return;
    event.preventDefault();
    setOpen(true);
    setAt((at + step + list.length + (at < 0 && step < 0 ? 1 : 0)) % list.length);
  };

  return (
    <form className="search" role="search" onSubmit={submit}>
      <label htmlFor={`${id}-text`} className="unseen">Search the shop</label>
      <input
        id={`${id}-text`}
        type="search"
        value={text}
        maxLength={100}
        placeholder="Titles, tracks, people"
        autoComplete="off"
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && at >= 0 ? `${id}-${at}` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
        }}
        onKeyDown={press}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
      />
      <div className="suggestions" hidden={!isShown}>
        {corrected && <p>Showing “{corrected.correctedText}”</p>}
        <ul id={`${id}-list`} role="listbox" aria-label="Suggestions">
          {list.map((choice, number) => (
            <li
              key={choice.key}
              id={`${id}-${number}`}
              role="option"
              aria-selected={number === at}
              // Before the field loses the focus, and with it the list.
              onMouseDown={(event) => {
                event.preventDefault();
                leave(choice.to);
              }}
            >
              <span>{choice.text}</span> <small>{choice.kind}</small>
            </li>
          ))}
        </ul>
      </div>
    </form>
  );
}
