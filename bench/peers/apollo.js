// Peer: Apollo Server on Express, without the parts that watch each field.
// Settings: see shared.js.
import "./production.js";
import { createServer } from "node:http";
import { ApolloServer } from "@apollo/server";
import { expressMiddleware } from "@as-integrations/express5";
import { ApolloServerPluginCacheControlDisabled } from "@apollo/server/plugin/disabled";
import express from "express";
import { KEEP_ALIVE_MILLIS, context, listening, ready, schema } from "./shared.js";

const apollo = new ApolloServer({
  schema,
  persistedQueries: false,
  stopOnTerminationSignals: false,
  plugins: [ApolloServerPluginCacheControlDisabled()],
});
await apollo.start();

const app = express().disable("x-powered-by").disable("etag");
app.use("/graphql", express.json(), expressMiddleware(apollo, { context: async () => context() }));
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLIS }, app);
await new Promise((resolve) => server.listen(listening, resolve));
ready(async () => {
  server.close();
  server.closeAllConnections();
  await apollo.stop();
});
