// A list of products: all of them, those of a category with its facets, or those that match a search.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { ORDERS, hasOrders, listVariables, searchPath } from "../address";
import { type ResultOf, request } from "../graphql";
import { List, Suggest } from "../operations";
import { useQuery } from "../data";
import { Link, go } from "../router";
import { Cards, Heading, State, capital } from "../ui";

type Result = ResultOf<typeof List>;
type Category = NonNullable<Result["category"]>;
type Facets = Category["facets"];

/** Parameters of the address that narrow a list. */
const FILTERS = ["type", "price", "by", "property"] as const;

export function ListPage({ category, parameters }: { category: string | null; parameters: URLSearchParams }) {
  const variables = listVariables(category, parameters);
  const { data, error, isInvalid, isLoading, again } = useQuery(List, variables, { isKept: true });
  const found = data?.category;
  const words = parameters.get("q");
  const person = data?.person;
  const isOfPerson = !category && variables.hasPerson;
  if (isInvalid) return <Missing />;
  if (data && !isLoading && ((category && !found) || (isOfPerson && !person))) return <Missing />;
  const whole = isOfPerson ? (person && `Works of ${person.name}`) : category ? found?.name : "New in the shop";
  const title = words ? `Results for ${words}` : (whole ?? (error ? "Not available" : undefined));
  const isNarrowed = FILTERS.some((name) => parameters.has(name)) || parameters.get("sort") === "RATING";
  const total = isNarrowed ? null : data?.products.totalCount;
  return (
    <>
      {found && <Breadcrumbs of={found} />}
      <div className="head">
        <Heading text={title}>
          {words ? <>Results for “{words}”</> : title}
        </Heading>
        {total != null && <p className="count">{total.toLocaleString("en")} products</p>}
      </div>
      {!category && !words && !isOfPerson && <p className="lead">Albums, films, books and instruments, from people who use them.</p>}
      <div className={found ? "browse" : undefined}>
        {found && <Narrow category={found} parameters={parameters} />}
        <section aria-label="Products" aria-busy={isLoading}>
          {hasOrders(category, parameters) && <Sort parameters={parameters} />}
          <State error={error} isLoading={isLoading && !data} what="products" again={again} />
          {data && <Results key={JSON.stringify(variables.where)} first={data.products} variables={variables} words={words} isOld={isLoading} />}
        </section>
      </div>
    </>
  );
}

interface ResultsOf {
  first: Result["products"];
  variables: { where: object } & Record<string, unknown>;
  /** What was searched. */
  words: string | null;
  /** Whether the products are those of the conditions before. */
  isOld: boolean;
}

/** The pages of a list that were loaded, by the first one. So who returns to the list finds them. */
const loaded = new WeakMap<Result["products"], Result["products"][]>();

/** Products, and a button for more of them. */
function Results({ first, variables, words, isOld }: ResultsOf) {
  const pages = loaded.get(first) ?? [first];
  const [state, setState] = useState({ isLoading: false, error: null as string | null, newest: 0 });
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Keys go on with the first one that came.
    if (state.newest > 0) list.current?.querySelectorAll<HTMLElement>(".card")[state.newest]?.focus({ preventScroll: true });
  }, [state.newest]);
  const all = pages.flatMap(({ nodes }) => nodes);
  const end = pages.at(-1)?.pageInfo;
  const isBusy = isOld || state.isLoading;
  const more = async () => {
    if (isBusy) return;
    setState({ isLoading: true, error: null, newest: 0 });
    try {
      const next = { ...variables, hasCategory: false, hasPerson: false, after: end?.endCursor } as never;
      const { products } = await request(List, next);
      loaded.set(first, [...pages, products]);
      setState({ isLoading: false, error: null, newest: all.length });
    } catch (fault) {
      setState({ isLoading: false, error: (fault as Error).message, newest: 0 });
    }
  };
  if (all.length === 0) return <Nothing words={words} />;
  return (
    <>
      <div ref={list}><Cards of={all} /></div>
      <State error={state.error} isLoading={state.isLoading} what="more" />
      {end?.hasNextPage && (
        <button type="button" className="more" onClick={more} aria-disabled={isBusy}>Show more</button>
      )}
    </>
  );
}

/** Says that nothing was found, and what may help. */
function Nothing({ words }: { words: string | null }) {
  return <p className="notice" role="status">Nothing matches. {words ? <Correction words={words} /> : ADVICE}</p>;
}

const ADVICE = "Try fewer conditions or other words.";

/** The words without typing errors, if titles or names have such words. */
function Correction({ words }: { words: string }) {
  const { data, isLoading } = useQuery(Suggest, { text: words });
  if (isLoading) return null;
  const all = [...(data?.suggest.products ?? []), ...(data?.suggest.people ?? [])];
  const corrected = all.find((one) => one.correctedText)?.correctedText;
  if (!corrected) return ADVICE;
  return <>Did you mean <Link to={searchPath(corrected)}>{corrected}</Link>?</>;
}

function Breadcrumbs({ of: { breadcrumbs, name, path } }: { of: Category }) {
  return (
    <nav className="crumbs" aria-label="Breadcrumbs">
      <ol>
        <li><Link to="/">Shop</Link></li>
        {breadcrumbs.filter((above) => above.path !== path).map((above) => (
          <li key={above.path}><Link to={`/c${above.path}`}>{above.name}</Link></li>
        ))}
        <li aria-current="page">{name}</li>
      </ol>
    </nav>
  );
}

/** The present address with one parameter changed, or without it. */
function withParameter(parameters: URLSearchParams, name: string, value: string | null): string {
  const next = new URLSearchParams(parameters);
  if (value === null) next.delete(name);
  else next.set(name, value);
  const text = next.toString();
  return location.pathname.replace(/^\/shop/, "") + (text && `?${text}`);
}

function Sort({ parameters }: { parameters: URLSearchParams }) {
  return (
    <label className="sort">
      Sort{" "}
      <select
        value={parameters.get("sort") ?? "NEWEST"}
        onChange={(event) => go(withParameter(parameters, "sort", event.target.value))}
      >
        {Object.entries(ORDERS).map(([order, name]) => <option key={order} value={order}>{name}</option>)}
      </select>
    </label>
  );
}

const MONEY = new Intl.NumberFormat("en", { style: "currency", currency: "EUR", minimumFractionDigits: 0 });
const euros = (minorUnits: number) => MONEY.format(Math.round(minorUnits / 100));

function band({ min, max }: Facets["prices"][number]): string {
  if (max === null) return `From ${euros(min)}`;
  return min === 0 ? `Under ${euros(max + 1)}` : `${euros(min)} to ${euros(max + 1)}`;
}

/** Subcategories and facets: open beside the list, and closed above it on a phone. */
function Narrow({ category: { children, facets }, parameters }: { category: Category; parameters: URLSearchParams }) {
  const isWide = useIsWide();
  const chosen = FILTERS.filter((name) => parameters.has(name)).length;
  const values = <T,>(name: (typeof FILTERS)[number], all: readonly T[], shown: (one: T) => [string, string, number]) =>
    all.map((one) => {
      const [value, text, count] = shown(one);
      const isChosen = parameters.get(name) === value;
      return (
        <li key={value}>
          <Link to={withParameter(parameters, name, isChosen ? null : value)} aria-current={isChosen || undefined}>
            <span>{text}</span> <small aria-label={`${count} products`}>{count.toLocaleString("en")}</small>
          </Link>
        </li>
      );
    });
  return (
    <details className="narrow" open={isWide || undefined}>
      <summary>Narrow down{chosen > 0 && ` (${chosen})`}</summary>
      {children.nodes.length > 0 && (
        <Facet title="Categories">
          {children.nodes.map(({ path, name }) => <li key={path}><Link to={`/c${path}`}>{name}</Link></li>)}
        </Facet>
      )}
      {facets.types.length > 1 && (
        <Facet title="Kind">{values("type", facets.types, ({ value, count }) => [value, capital(value), count])}</Facet>
      )}
      {facets.prices.length > 1 && (
        <Facet title="Price">
          {values("price", facets.prices, (price) => [`${price.min}-${price.max ?? ""}`, band(price), price.count])}
        </Facet>
      )}
      {facets.contributors.length > 1 && (
        <Facet title="By">
          {values("by", facets.contributors.slice(0, 8), ({ personId, name, count }) => [personId, name, count])}
        </Facet>
      )}
      {facets.properties.slice(0, 4).map(({ key, values: all }) => (
        <Facet key={key} title={capital(key)}>
          {values("property", all.slice(0, 8), ({ value, count }) => [`${key}=${value}`, capital(value), count])}
        </Facet>
      ))}
    </details>
  );
}

function Facet({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="facet">
      <h2>{title}</h2>
      <ul>{children}</ul>
    </section>
  );
}

const WIDE = window.matchMedia("(min-width: 800px)");

function useIsWide(): boolean {
  const [isWide, setWide] = useState(WIDE.matches);
  useEffect(() => {
    const changed = () => setWide(WIDE.matches);
    WIDE.addEventListener("change", changed);
    return () => WIDE.removeEventListener("change", changed);
  }, []);
  return isWide;
}

export function Missing() {
  return (
    <>
      <Heading text="Not found" />
      <p>There is nothing at this address. <Link to="/">To the shop</Link></p>
    </>
  );
}
