// Peer: GraphQL Yoga on Node's own server, with its default caches of parsed and validated queries.
// Settings: see shared.js.
import "./production.js";
import { createServer } from "node:http";
import { createYoga } from "graphql-yoga";
import { KEEP_ALIVE_MILLIS, context, listening, ready, schema } from "./shared.js";

const yoga = createYoga({
  schema,
  context,
  logging: false,
  graphiql: false,
  landingPage: false,
  cors: false,
  multipart: false,
});
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLIS }, yoga);
await new Promise((resolve) => server.listen(listening, resolve));
ready(() => {
  server.close();
  server.closeAllConnections();
});
