// Typed documents, and the few ways in which they are sent.

import type { TadaDocumentNode, initGraphQLTada } from "gql.tada";
import type { introspection } from "./generated/schema";

interface Setup {
  introspection: introspection;
  disableMasking: true;
  scalars: {
    CurrencyCode: string;
    Date: string;
    DateTime: string;
    LocaleTag: string;
    Long: number;
    Slug: string;
  };
}

/** A document at run time: its text and those of its fragments, each once. */
type Texts = readonly string[];

const texts = (text: string, fragments: readonly Texts[] = []): Texts => [
  ...new Set([...fragments.flat(), text]),
];

/** A document with the types of its variables and of its result. They come from schema.graphql at build time. */
export const graphql = texts as unknown as ReturnType<typeof initGraphQLTada<Setup>>;

export type { ResultOf } from "gql.tada";

type Document<Result, Variables> = TadaDocumentNode<Result, Variables>;

const textOf = (document: unknown) => (document as Texts).join("\n");

interface Answer<Result> {
  data?: Result | null;
  errors?: { message: string; extensions?: { code?: string; retryable?: boolean } }[];
}

/** Error of a request that docgate refused or didn't answer. */
export class RequestError extends Error {
  constructor(message: string, readonly code?: string) {
    super(message);
  }
}

const ATTEMPTS = 3;

/** What is sent for an operation. */
export const bodyOf = (document: unknown, variables: unknown) => JSON.stringify({ query: textOf(document), variables });

/** Answers to what was asked before the app was there, by the body of the request. Each is used once. */
const early = new Map<string, Promise<Answer<never> | null>>();

/** Sends a query whose result the app will `request` when it is there. */
export function askEarly<Result, Variables>(document: Document<Result, Variables>, variables: Variables) {
  const body = bodyOf(document, variables);
  early.set(body, post<never>(body));
}

/** The early answer to a request, if there is one. */
function takeEarly(body: string): Promise<Answer<never> | null> | undefined {
  const answer = early.get(body);
  early.delete(body);
  return answer;
}

/**
 * Sends an operation. It is repeated if docgate says that it may be, or if there was no answer. A mutation is recognised
 * by its idempotency key, so a repeat changes nothing twice; only `openCart` has none, and leaves another empty cart.
 */
export async function request<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> {
  const body = bodyOf(document, variables);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await (takeEarly(body) ?? post<Result>(body, signal));
    signal?.throwIfAborted();
    const { data, errors } = answer ?? {};
    if (data && !errors) return data;
    const isRetryable = !answer || errors?.some(({ extensions }) => extensions?.retryable);
    if (!isRetryable || attempt === ATTEMPTS) {
      const [error] = errors ?? [];
      throw new RequestError(error?.message ?? "The shop can't be reached. Please try again.", error?.extensions?.code);
    }
    await new Promise((resolve) => setTimeout(resolve, 200 * 2 ** attempt));
  }
}

/** The answer to a request; null if there is none. */
async function post<Result>(body: string, signal?: AbortSignal): Promise<Answer<Result> | null> {
  try {
    const response = await fetch("/graphql", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body,
      signal: signal ?? null,
    });
    return (await response.json()) as Answer<Result>;
  } catch (fault) {
    if (signal?.aborted) throw fault;
    return null;
  }
}

/** Pause before a subscription that was refused or has failed is sent again. */
const PAUSE = 2000;

/**
 * Follows a subscription by server-sent events. The browser connects again after an interruption; the first event is
 * the present state. Returns how to end it.
 */
export function subscribe<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  next: (data: Result) => void,
  ended?: () => void,
): () => void {
  const parameters = new URLSearchParams({ query: textOf(document), variables: JSON.stringify(variables) });
  let stop = () => {};
  const connect = () => {
    const source = new EventSource(`/graphql?${parameters}`);
    let isRetryable = false;
    const again = () => {
      source.close();
      const timer = setTimeout(connect, PAUSE);
      stop = () => clearTimeout(timer);
    };
    source.addEventListener("next", (event) => {
      const { data, errors } = JSON.parse(event.data) as Answer<Result>;
      isRetryable = errors?.some(({ extensions }) => extensions?.retryable) ?? false;
      if (data) next(data);
    });
    source.addEventListener("complete", () => {
      if (isRetryable) return again();
      source.close();
      ended?.();
    });
    source.addEventListener("error", () => {
      // The browser gives up if docgate is at its limit, and refuses the request.
      if (source.readyState === EventSource.CLOSED) again();
    });
    stop = () => source.close();
  };
  connect();
  return () => stop();
}

/** A key by which docgate recognises the repeat of a mutation. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
