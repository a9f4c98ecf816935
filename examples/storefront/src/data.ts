// Data of pages: one request or one subscription, kept while the next one is on its way.

import type { TadaDocumentNode } from "gql.tada";
import { useEffect, useState } from "react";
import { request, subscribe } from "./graphql";

/** What is known of a request. `data` may be that of the variables before while `isLoading`. */
export interface Loaded<Result> {
  data: Result | null;
  error: string | null;
  isLoading: boolean;
}

/** The result of a query, asked again when its variables change. */
export function useQuery<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
): Loaded<Result> {
  const key = JSON.stringify(variables);
  // `of` is the key of the variables for which it was loaded.
  const [{ of, ...loaded }, setLoaded] = useState<Loaded<Result> & { of: string }>(
    { of: key, data: null, error: null, isLoading: true },
  );
  useEffect(() => {
    const abort = new AbortController();
    setLoaded(({ data }) => ({ of: key, data, error: null, isLoading: true }));
    request(document, JSON.parse(key) as Variables, abort.signal).then(
      (data) => setLoaded({ of: key, data, error: null, isLoading: false }),
      (fault: Error) => {
        if (!abort.signal.aborted) setLoaded({ of: key, data: null, error: fault.message, isLoading: false });
      },
    );
    return () => abort.abort();
  }, [document, key]);
  // Other variables are rendered before the effect asks for them.
  return of === key ? loaded : { data: loaded.data, error: null, isLoading: true };
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
