// The work queue of direct.js: the commands that docgate's takes, each by itself.
import { Int32, ObjectId } from "mongodb";

const QUEUE = "bench";
const LEASE_MILLIS = 60_000;
const BATCH = 5_000;
/** Those of docgate's collection. */
const INDEXES = [
  [{ "ready.queue": 1, "ready.rank": 1, _id: 1 }, "ready.queue"],
  [{ queue: 1, due: 1, state: 1 }, "due"],
  [{ unique: 1 }, "unique", true],
  [{ "claim.slot": 1 }, "claim.slot", true],
  [{ queue: 1, deadAt: 1, _id: 1 }, "deadAt"],
  [{ doneAt: 1 }, "doneAt"],
];

const job = (now) => ({
  _id: new ObjectId().toHexString(),
  queue: QUEUE,
  payload: '{"order": 4711}',
  priority: new Int32(0),
  attempts: new Int32(0),
  maxAttempts: new Int32(5),
  by: "w",
  input: "",
  at: now,
  v: new Int32(1),
});

/** Puts finished jobs into a collection, docgate's or this script's. */
export async function finish(jobs, count) {
  for (let at = 0; at < count; at += BATCH) {
    const now = new Date();
    const claim = { token: "done", by: "w", end: "DONE" };
    const done = () => ({ ...job(now), state: "DONE", claim, attempts: new Int32(1), doneAt: now });
    const batch = Array.from({ length: Math.min(BATCH, count - at) }, done);
    await jobs.insertMany(batch, { ordered: false, writeConcern: { w: 1 } });
  }
}

export function queue(jobs) {
  async function setup() {
    await jobs.drop();
    for (const [keys, field, unique = false] of INDEXES) {
      await jobs.createIndex(keys, { unique, partialFilterExpression: { [field]: { $exists: true } } });
    }
  }

  /** A job is enqueued, the next one claimed and completed. */
  async function once() {
    const now = new Date();
    await jobs.insertOne({ ...job(now), state: "READY", ready: { queue: QUEUE, rank: now } });
    const token = new ObjectId().toHexString();
    const due = new Date(now.getTime() + LEASE_MILLIS);
    const claim = { $set: { state: "CLAIMED", claim: { token, by: "w" }, due }, $unset: { ready: "" } };
    const claimed = await jobs.findOneAndUpdate(
      { "ready.queue": QUEUE },
      { ...claim, $inc: { attempts: 1 } },
      { sort: { "ready.queue": 1, "ready.rank": 1, _id: 1 }, returnDocument: "after" },
    );
    if (!claimed) throw new Error("no job was ready");
    const guard = { _id: claimed._id, state: "CLAIMED", "claim.token": token, due: { $gt: new Date() } };
    const end = {
      $set: { state: "DONE", doneAt: new Date(), "claim.end": "DONE" },
      $unset: { due: "" },
    };
    const completed = await jobs.findOneAndUpdate(guard, end, { returnDocument: "after" });
    if (!completed) throw new Error("the claim was lost");
  }

  return { setup, scenarios: { jobs: once, "jobs-many": once } };
}
