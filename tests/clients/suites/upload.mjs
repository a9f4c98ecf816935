// Files through apollo-upload-client, and as a browser's own `FormData` and `fetch` send and get them
// (https://github.com/jaydenseric/graphql-multipart-request-spec).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";

import { ApolloClient, InMemoryCache, gql } from "@apollo/client";
import UploadHttpLink from "apollo-upload-client/UploadHttpLink.mjs";

import { bearer, graphqlUrl, world } from "../kit/world.mjs";

export const title = "Files: apollo-upload-client, FormData and fetch";
export const packages = ["apollo-upload-client", "@apollo/client"];

const { admin } = world.tokens;
const UPLOAD = gql`
  mutation Upload($input: UploadAssetInput!) {
    uploadAsset(input: $input) {
      __typename
      ... on Asset { id url path length sha256 mediaType fileName }
      ... on UserError { code message }
    }
  }
`;
const TWO = gql`
  mutation Two($one: UploadAssetInput!, $two: UploadAssetInput!) {
    one: uploadAsset(input: $one) { ... on Asset { length } ... on UserError { code message } }
    two: uploadAsset(input: $two) { ... on Asset { length } ... on UserError { code message } }
  }
`;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const noise = (length) => Uint8Array.from({ length }, (_, at) => (at * 2_654_435_761) >>> 24);

function client(headers) {
  const link = new UploadHttpLink({ uri: graphqlUrl, headers });
  return new ApolloClient({ link, cache: new InMemoryCache() });
}

export async function run(checks) {
  const apollo = client(bearer(admin));
  const upload = async (input) => (await apollo.mutate({ mutation: UPLOAD, variables: { input } })).data.uploadAsset;

  await checks.check("a File that apollo-upload-client sends is got back whole", async () => {
    const bytes = noise(1_000_003);
    const file = new File([bytes], "Noise über alles.bin", { type: "application/x-noise" });
    const asset = await upload({ file, slug: slug() });
    assert.equal(asset.__typename, "Asset", asset.message);
    assert.equal(asset.length, bytes.length);
    assert.equal(asset.sha256, sha256(bytes));
    assert.equal(asset.fileName, "Noise über alles.bin");
    const answer = await fetch(world.url + asset.url);
    assert.equal(answer.headers.get("etag"), `"${asset.sha256}"`);
    assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), bytes);
    const part = await fetch(world.url + asset.url, { headers: { range: "bytes=261119-261121" } });
    assert.equal(part.status, 206);
    assert.deepEqual(new Uint8Array(await part.arrayBuffer()), bytes.slice(261_119, 261_122));
  });
  await checks.check("a Blob is a file too", async () => {
    const asset = await upload({ file: new Blob(["a,b\n1,2\n"], { type: "text/csv" }), slug: slug() });
    assert.equal(asset.mediaType, "text/csv", asset.message);
  });
  await checks.check("two files go with one operation", async () => {
    const one = { file: new File([noise(300_000)], "one"), slug: slug() };
    const two = { file: new File([noise(7)], "two"), slug: slug() };
    const { data } = await apollo.mutate({ mutation: TWO, variables: { one, two } });
    assert.deepEqual([data.one.length, data.two.length], [300_000, 7]);
  });
  await checks.check("a request without files goes as JSON", async () => {
    const query = gql`query { assets(by: {tag: "picture"}, first: 2) { nodes { id width } } }`;
    const { data } = await apollo.query({ query });
    assert.equal(data.assets.nodes.length, 2);
    assert.ok(data.assets.nodes.every(({ width }) => width > 0));
  });
  await checks.check("without a token a form needs one of Apollo's headers, and then a role", async () => {
    const variables = { input: { file: new File(["x"], "x") } };
    const code = async (headers) => {
      const answer = client(headers).mutate({ mutation: UPLOAD, variables });
      return answer.then(() => "none", (error) => error.errors[0].extensions.code);
    };
    assert.equal(await code({}), "BAD_USER_INPUT");
    assert.equal(await code({ "apollo-require-preflight": "true" }), "UNAUTHENTICATED");
  });
  await checks.check("fetch puts a stream, and replaces it where it is still the same", async () => {
    const url = `${world.url}/assets/${slug()}`;
    const put = (body, headers) =>
      fetch(url, { method: "PUT", body, duplex: "half", headers: { ...bearer(admin), ...headers } });
    const pieces = async function* () {
      for (let at = 0; at < 20; at += 1) yield noise(50_000);
    };
    const made = await put(ReadableStream.from(pieces()), { "if-none-match": "*" });
    assert.equal(made.status, 201);
    assert.equal((await made.json()).length, 1_000_000);
    const stale = await put("x", { "if-match": '"other"' });
    assert.equal(stale.status, 412);
    const replaced = await put("x", { "if-match": made.headers.get("etag") });
    assert.equal(replaced.status, 200);
    assert.equal(await (await fetch(url)).text(), "x");
  });
}

/** One that nothing else has. */
function slug() {
  return `file-${Math.random().toString(36).slice(2)}`;
}
