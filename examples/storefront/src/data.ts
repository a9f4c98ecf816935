// Data of pages: one request or one subscription, kept while the next one is on its way.

import type { TadaDocumentNode } from "gql.tada";
import { useEffect, useState } from "react";
import { RequestError, bodyOf, request, subscribe } from "./graphql";
import { hasReturned } from "./router";

/** What is known of a request. `data` may be that of the variables before while `isLoading`. */
export interface Loaded<Result> {
  data: Result | null;
  error: string | null;
  /** Whether docgate takes no such variables. A page has them from its address, at which there is nothing then. */
  isInvalid?: boolean;
  isLoading: boolean;
}

/** What is known of a query, and how to send it again. */
export type Queried<Result> = Loaded<Result> & { again(): void };

/** Results for the way back to a page, by the body of their request. The newest come last. */
const kept = new Map<string, { data: unknown; at: number }>();

/** How many results are kept, and for how many milliseconds. */
const KEPT = 30;
const AGE = 600_000;

function keep(body: string, data: unknown) {
  kept.delete(body);
  kept.set(body, { data, at: Date.now() });
  const [oldest] = kept.keys();
  if (oldest !== undefined && kept.size > KEPT) kept.delete(oldest);
}

/** What a page showed when it was left, if the shopper went back to it. */
function recall<Result>(body: string): Loaded<Result> | null {
  const found = hasReturned() ? kept.get(body) : undefined;
  if (!found || Date.now() - found.at > AGE) return null;
  return { data: found.data as Result, error: null, isLoading: false };
}

/** The result of a query, asked again when its variables change. `isKept`: not if the shopper goes back to it. */
export function useQuery<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  { isKept = false } = {},
): Queried<Result> {
  const body = bodyOf(document, variables);
  const known = isKept ? recall<Result>(body) : null;
  // `of` is the body of the request by which it was loaded.
  const [{ of, ...loaded }, setLoaded] = useState<Loaded<Result> & { of: string }>(
    { of: body, data: null, error: null, isLoading: true, ...known },
  );
  const [attempt, setAttempt] = useState(1);
  const again = () => setAttempt(attempt + 1);
  useEffect(() => {
    const known = isKept ? recall<Result>(body) : null;
    if (known) return setLoaded({ of: body, ...known });
    const abort = new AbortController();
    setLoaded(({ data }) => ({ of: body, data, error: null, isLoading: true }));
    const { variables } = JSON.parse(body) as { variables: Variables };
    request(document, variables, abort.signal).then(
      (data) => {
        if (isKept) keep(body, data);
        setLoaded({ of: body, data, error: null, isLoading: false });
      },
      (fault: Error) => {
        const isInvalid = fault instanceof RequestError && fault.code === "BAD_USER_INPUT";
        if (!abort.signal.aborted) setLoaded({ of: body, data: null, error: fault.message, isInvalid, isLoading: false });
      },
    );
    return () => abort.abort();
  }, [document, body, isKept, attempt]);
  // Other variables are rendered before the effect asks for them.
  return { ...(of === body ? loaded : known ?? { data: loaded.data, error: null, isLoading: true }), again };
}

/** The newest result of a subscription. `hasEnded` without data: there is nothing to follow. */
export function useLive<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
): { data: Result | null; hasEnded: boolean } {
  const [data, setData] = useState<Result | null>(null);
  const [hasEnded, setEnded] = useState(false);
  const key = JSON.stringify(variables);
  useEffect(() => {
    setData(null);
    setEnded(false);
    return subscribe(document, JSON.parse(key) as Variables, setData, () => setEnded(true));
  }, [document, key]);
  return { data, hasEnded };
}
