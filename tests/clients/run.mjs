// Runs suites by name, all of them when none is named: prints their counts, writes docs/CONFORMANCE.md, and
// exits with 1 when a check has failed, with 77 when a suite can't run here.
//
// tests/clients.rs starts this with CLIENTS_WORLD; see kit/world.mjs.

import { CannotRun, Checks } from "./kit/checks.mjs";
import { record, versions } from "./kit/conformance.mjs";

const SUITES = [
  "http",
  "websocket",
  "sse",
  "apollo",
  "upload",
  "urql",
  "relay",
  "codegen",
  "guides",
  "federation",
  "schema",
  "explorer",
  "graphiql",
  "storefront",
  "fuzz",
];

const [, , ...names] = process.argv;
let exit = 0;
for (const name of names.length > 0 ? names : SUITES) {
  const suite = await import(`./suites/${name}.mjs`);
  const checks = new Checks();
  try {
    await suite.run(checks);
  } catch (fault) {
    if (fault instanceof CannotRun) {
      console.error(`${name} can't run here: ${fault.message}`);
      exit ||= 77;
      continue;
    }
    await checks.check("the suite runs to its end", () => Promise.reject(fault));
  }
  record(name, suite, checks, SUITES);
  console.log(`${name}: ${checks.passed} passed, ${checks.failed} failed (${versions(suite.packages)})`);
  if (checks.failed > 0 || checks.passed === 0) exit = 1;
}
// A client that is still connected doesn't keep the run going.
process.exit(exit);
