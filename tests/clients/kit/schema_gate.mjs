// What of a change of the schema would break clients.

import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

/** The changes after which an operation that worked may not work any more, each as a sentence. */
export async function breakingChanges(before, after) {
  const changes = await diff(buildSchema(before), buildSchema(after));
  const breaking = changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking);
  return breaking.map(({ message }) => message).sort();
}
