// Peer: Fastify and Mercurius, whose queries are compiled at their second execution.
// Settings: see shared.js.
import "./production.js";
import Fastify from "fastify";
import mercurius from "mercurius";
import { KEEP_ALIVE_MILLIS, context, listening, ready, schema } from "./shared.js";

const app = Fastify({
  logger: false,
  keepAliveTimeout: KEEP_ALIVE_MILLIS,
  forceCloseConnections: true,
});
app.register(mercurius, { schema, context, jit: 1 });
await app.listen(listening);
ready(() => app.close());
