// The gateway that the suites talk to, and further ones of their own.

import { spawn, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { eventually } from "./checks.mjs";

/** Folder of the clients' tests. */
export const here = dirname(dirname(fileURLToPath(import.meta.url)));
/** Root of the repository. */
export const root = dirname(dirname(here));

/**
 * What tests/clients.rs has started: `url` of a demo's gateway, its `tokens` of a shopper, a
 * merchant and an admin, `mongodb` where its database is, the `binary`, and a `scratch` folder.
 */
export const world = JSON.parse(readFileSync(process.env.CLIENTS_WORLD, "utf8"));

export const graphqlUrl = `${world.url}/graphql`;
export const socketUrl = graphqlUrl.replace("http", "ws");

/** Headers of whoever holds this token. */
export const bearer = (token) => (token ? { authorization: `Bearer ${token}` } : {});

/** The whole answer to an operation. */
export async function ask(query, variables = {}, token = undefined, url = graphqlUrl) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(token) },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

/** The one root field of an operation that has to succeed. */
export async function field(query, variables = {}, token = undefined, url = graphqlUrl) {
  const answer = await ask(query, variables, token, url);
  const found = Object.values(answer.data ?? {})[0];
  if (answer.errors || found === null || found?.code) {
    throw new Error(`${query}: ${JSON.stringify(answer)}`);
  }
  return found;
}

const KEY = "tests of clients: thirty-two bytes at the very least";

/** A gateway of a suite's own on the demo's database, with keys of its own; it can be ended and begun again. */
export class OwnGateway {
  #listen = "127.0.0.1:0";
  #process;
  url;

  constructor(settings = {}) {
    this.settings = settings;
  }

  async begin() {
    const child = spawn(world.binary, ["serve"], { env: this.#environment() });
    this.#process = child;
    let said = "";
    const hear = (text) => (said += text);
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const address = () => {
      if (child.exitCode !== null) throw new Error(`the gateway ended: ${said}`);
      return /serving on http:\/\/(\S+)/.exec(said)?.[1];
    };
    this.#listen = await eventually(address);
    this.url = `http://${this.#listen}`;
  }

  /** Ends it; resolves with its exit code, null when the signal ended it. */
  end(signal = "SIGTERM") {
    const child = this.#process;
    return new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve(child.exitCode);
      child.once("exit", resolve);
      child.kill(signal);
    });
  }

  /** A token that it accepts for so long, such as `5s`. */
  token(subject, roles = [], ttl = "1h") {
    const more = roles.length > 0 ? ["--roles", roles.join(",")] : [];
    const options = ["token", "--sub", subject, "--ttl", ttl, ...more];
    return execFileSync(world.binary, options, { env: this.#environment() }).toString().trim();
  }

  #environment() {
    return {
      ...ordinaryEnvironment(),
      DOCGATE_LISTEN: this.#listen,
      DOCGATE_MONGODB_URI: world.mongodb,
      DOCGATE_DATABASE: "docgate_demo",
      DOCGATE_SECRET: KEY,
      DOCGATE_AUTH_HS256_SECRET: KEY,
      DOCGATE_AUTH_LEEWAY_SECONDS: "0",
      DOCGATE_BACKGROUND: "false",
      ...this.settings,
    };
  }
}

/** The environment without what it may say to docgate. */
export function ordinaryEnvironment() {
  const own = ([key]) => !key.startsWith("DOCGATE_");
  return Object.fromEntries(Object.entries(process.env).filter(own));
}
