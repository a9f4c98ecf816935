// GraphQL over HTTP: https://graphql.github.io/graphql-over-http/draft/

import { serverAudits } from "graphql-http";

import { graphqlUrl } from "../kit/world.mjs";

export const title = "GraphQL over HTTP: every audit, MUST, SHOULD and MAY";
export const packages = ["graphql-http"];

export async function run(checks) {
  for (const { id, name, fn: audit } of serverAudits({ url: graphqlUrl })) {
    await checks.check(`${id} ${name}`, async () => {
      const { status, reason, response } = await audit();
      if (status === "ok") return;
      throw new Error(`${reason}: ${response.status} ${await bodyOf(response)}`);
    });
  }
}

/** What was answered, where the audit hasn't consumed it. */
const bodyOf = (response) => (response.bodyUsed ? "" : response.text());
