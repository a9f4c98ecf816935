// What ids, names, prices, times and cursors look like to clients: the same as docgate's.
// Also the checks of arguments, with docgate's words.
import { createHash, createHmac, randomBytes } from "node:crypto";
import { GraphQLError, GraphQLScalarType, Kind } from "graphql";
import { BSON, Long } from "mongodb";

const SITE_LOCALE = "en";
// With docgate's own secret, cursors and idempotency keys are the same as docgate's.
const SECRET = process.env.SECRET ?? "";

export const badInput = (field, reason, code = "BAD_USER_INPUT") =>
  new GraphQLError(`${field}: ${reason}`, { extensions: { code, field } });

export const globalId = (kind, key) => Buffer.from(`${kind}:${key}`).toString("base64url");

const KEY = /^[A-Za-z0-9_~:-]{1,128}$/;
const SLUG = "[a-z0-9]+(?:-[a-z0-9]+)*";
const PATH = new RegExp(`^(?:/${SLUG})+$`);

export const isKey = (text) => KEY.test(text);
export const isPath = (text) => text?.length <= 2_000 && PATH.test(text);

/** The key behind a global id of that kind, or null. */
export function keyOf(kind, id) {
  const text = Buffer.from(id, "base64url").toString();
  const key = text.slice(kind.length + 1);
  return text.startsWith(`${kind}:`) && isKey(key) ? key : null;
}

/** The name that a reader of `locale` gets, of names by language. */
export function nameIn(names, locale) {
  for (const wanted of [locale, SITE_LOCALE]) {
    if (!wanted) continue;
    const language = wanted.split("-", 1)[0];
    const found = names[wanted] ?? names[language];
    if (found !== undefined) return found;
    const regional = Object.keys(names).find((tag) => tag.startsWith(`${language}-`));
    if (regional) return names[regional];
  }
  return Object.values(names)[0] ?? "";
}

const formats = new Map();

function format(locale, currency) {
  const key = `${locale} ${currency}`;
  let found = formats.get(key);
  if (!found) {
    const money = new Intl.NumberFormat("en", { style: "currency", currency });
    const digits = money.resolvedOptions().maximumFractionDigits;
    const number = new Intl.NumberFormat(locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    found = (minorUnits) => `${number.format(minorUnits / 10 ** digits)}\u00a0${currency}`;
    if (formats.size >= 1_000) formats.clear();
    formats.set(key, found);
  }
  return found;
}

export const formatted = ({ minorUnits, currency }, { locale }) =>
  format(locale, currency)(minorUnits);

const mac = (bytes, parts) => {
  const hmac = createHmac("sha256", SECRET);
  for (const part of parts) {
    const text = Buffer.from(part);
    const length = Buffer.alloc(8);
    length.writeUInt32LE(text.length);
    hmac.update(length).update(text);
  }
  return hmac.digest().subarray(0, bytes).toString("base64url");
};

export const randomId = () => randomBytes(16).toString("base64url");
export const derivedId = (...parts) => mac(16, parts);
export const digest = (input) =>
  createHash("sha256").update(JSON.stringify(input)).digest().subarray(0, 12).toString("base64url");

/** Which list a cursor belongs to. */
export const signature = (list) => mac(9, ["cursor", list]);

/** A cursor: the sort values of its document, and the signature of its list. */
export const encodeCursor = (signed, keys) =>
  Buffer.from(BSON.serialize({ list: signed, keys })).toString("base64url");

export function decodeCursor(list, cursor, count) {
  try {
    const found = BSON.deserialize(Buffer.from(cursor, "base64url"));
    const plain = (key) => typeof key === "string" || typeof key === "number";
    if (found.list === signature(list) && found.keys.length === count && found.keys.every(plain)) {
      return found.keys;
    }
  } catch {
    // Not BSON: refused like any other foreign cursor.
  }
  throw badInput("after", "isn't a cursor of this list");
}

const scalar = (name, parse, serialize = (value) => value) =>
  new GraphQLScalarType({
    name,
    serialize,
    parseValue: parse,
    parseLiteral: (node) => parse(node.kind === Kind.INT ? Number(node.value) : node.value),
  });

const text = (name, sound, reason) =>
  scalar(name, (value) => {
    if (typeof value === "string" && sound(value)) return value;
    throw new GraphQLError(reason);
  });

const wholeSlug = new RegExp(`^${SLUG}$`);

export const scalars = {
  CurrencyCode: text(
    "CurrencyCode",
    (code) => /^[A-Z]{3}$/.test(code),
    "an ISO 4217 currency code is expected",
  ),
  DateTime: scalar(
    "DateTime",
    (value) => new Date(value),
    (date) => date.toISOString(),
  ),
  LocaleTag: scalar("LocaleTag", (value) => {
    try {
      return Intl.getCanonicalLocales(value)[0];
    } catch {
      throw new GraphQLError("a BCP 47 language tag is expected");
    }
  }),
  Long: scalar(
    "Long",
    (value) => {
      const number = Number(value);
      if (Number.isSafeInteger(number)) return number;
      throw new GraphQLError("a 64-bit integer is expected");
    },
    (value) => (typeof value === "number" ? value : value.toString()),
  ),
  Slug: text(
    "Slug",
    (slug) => slug.length <= 64 && wholeSlug.test(slug),
    "lower-case letters, digits and single hyphens between them are expected",
  ),
};

/** Amounts and quantities are stored as 64-bit integers. */
export const long = (number) => Long.fromNumber(number);
