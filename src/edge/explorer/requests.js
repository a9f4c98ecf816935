/** Communication with the gateway: requests with one response, and subscriptions. */

const ACCEPT = "application/graphql-response+json, application/json";
/** The sub-protocol: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md */
const SUB_PROTOCOL = "graphql-transport-ws";

/**
 * Sends a query or mutation. Returns `{status, statusText, milliseconds, bytes, text, body}`; `body` is
 * undefined if the text isn't JSON. Fails only if there is no response.
 */
export async function post(endpoint, request, token, signal) {
  const headers = { "content-type": "application/json", accept: ACCEPT };
  if (token) headers.authorization = `Bearer ${token}`;
  const began = performance.now();
  const response = await fetch(endpoint, {
    method: "POST",
    headers,
    body: JSON.stringify(request),
    signal,
  });
  const text = await response.text();
  const milliseconds = performance.now() - began;
  const bytes = new TextEncoder().encode(text).length;
  return {
    status: response.status,
    statusText: response.statusText,
    milliseconds,
    bytes,
    text,
    body: parsed(text),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A running subscription. It calls the listener's `onLive()`, `onEvent(result)` for each event, and
 * finally `onEnd({isFault, reason})` once, unless `stop` was called before.
 */
export class Subscription {
  constructor(endpoint, request, token, listener) {
    const address = new URL(endpoint);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.listener = listener;
    this.socket = new WebSocket(address, SUB_PROTOCOL);
    this.socket.addEventListener("open", () => {
      const payload = token ? { Authorization: `Bearer ${token}` } : {};
      this.#send({ type: "connection_init", payload });
    });
    this.socket.addEventListener("message", ({ data }) => this.#receive(parsed(data), request));
    this.socket.addEventListener("close", ({ code, reason }) => {
      this.#end(true, reason ? `${reason} (${code})` : `connection closed (${code})`);
    });
  }

  /** Ends the subscription without calling the listener. */
  stop() {
    this.listener = undefined;
    if (this.socket.readyState === WebSocket.OPEN) this.#send({ id: "1", type: "complete" });
    this.socket.close(1000);
  }

  #send(message) {
    this.socket.send(JSON.stringify(message));
  }

  #receive(message, request) {
    switch (message?.type) {
      case "connection_ack":
        this.#send({ id: "1", type: "subscribe", payload: request });
        this.listener?.onLive();
        break;
      case "next":
        this.failed = message.payload?.errors?.length > 0;
        this.listener?.onEvent(message.payload);
        break;
      case "error":
        this.listener?.onEvent({ errors: message.payload });
        this.#end(true, "refused");
        break;
      case "complete":
        if (this.failed) this.#end(true, "ended by an error");
        else this.#end(false, "complete");
        break;
      case "ping":
        this.#send({ type: "pong" });
        break;
      default:
        break;
    }
  }

  #end(isFault, reason) {
    this.listener?.onEnd({ isFault, reason });
    this.listener = undefined;
    this.socket.close(1000);
  }
}
