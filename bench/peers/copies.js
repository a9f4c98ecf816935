// Scenarios of direct.js in which one change reaches copies in other documents, and of assets by two pairs.
import { ObjectId } from "mongodb";

const ASSETS = 100;
const DISCUSSED = 1_000;
/** Comments that a document keeps. */
const SLICE = 64;

/** Categories to which languages are added and from which they are removed, and products of each. */
const GROWING = { parent: "growing", count: 256, each: 8 };
const SHRINKING = { parent: "shrinking", count: 10_000, each: 1 };
/** Languages that one run can remove from a category. */
const REMOVED = 2;

const letters = [..."abcdefghijklmnopqrstuvwxyz"];
/** Tags of languages that no category has from the start. */
const languages = letters
  .flatMap((one) => letters.map((other) => one + other))
  .filter((tag) => tag !== "en");

/** The numbers below `count`. */
const numbers = (count) => Array.from({ length: count }, (_, at) => at);
const key = (kind, at) => `${kind}-${at}`;

/**
 * Their data, for so many runs, and the scenarios of the run with that number. `fill` puts documents in,
 * `below` draws numbers, `product` makes a product.
 */
export function copies({ collection, fill, product, below, runs, number }) {
  const assets = collection("assets");
  const discussed = collection("discussed");
  const categories = collection("named");
  const products = collection("placed");

  async function setup() {
    const pairs = (at) => [
      { key: "first", value: `value ${at}` },
      { key: "second", value: `other ${at}` },
    ];
    const asset = (at) => ({ _id: key("asset", at), metadata: pairs(at) });
    await fill(assets, numbers(ASSETS).map(asset), [{ "metadata.key": 1, "metadata.value": 1 }]);
    const about = (at) => ({ _id: key("about", at), ...product(at), comments: [] });
    await fill(discussed, numbers(DISCUSSED).map(about));

    const spoken = { [GROWING.parent]: [], [SHRINKING.parent]: languages.slice(0, REMOVED * runs) };
    const named = [GROWING, SHRINKING].flatMap(({ parent, count, each }) => {
      const names = Object.fromEntries(["en", ...spoken[parent]].map((tag) => [tag, `Name in ${tag}`]));
      return numbers(count).map((at) => ({ _id: key(parent, at), path: `/${parent}/${at}`, names, each }));
    });
    await fill(
      categories,
      named.map(({ each, ...category }) => category),
    );
    const placed = named.flatMap(({ each, ...category }) =>
      numbers(each).map((at) => ({ _id: `${category._id}-${at}`, ...product(at), categories: [category] })),
    );
    await fill(products, placed, [{ "categories._id": 1 }]);
  }

  function metadata() {
    const at = below(ASSETS);
    const has = (key, value) => ({ $elemMatch: { key, value } });
    const metadata = { $all: [has("first", `value ${at}`), has("second", `other ${at}`)] };
    return assets.find({ metadata }).limit(20).toArray();
  }

  function sliceCache() {
    const text = "What one hears at once is not what stays.";
    const comment = { _id: new ObjectId(), author: "bench", text, at: new Date() };
    const comments = { $each: [comment], $slice: -SLICE };
    return discussed.updateOne({ _id: key("about", below(DISCUSSED)) }, { $push: { comments } });
  }

  /** The category, then the copies in its products. */
  async function change(_id, operator, tag, name) {
    const { modifiedCount } = await categories.updateOne({ _id }, { [operator]: { [`names.${tag}`]: name } });
    if (modifiedCount !== 1) throw new Error(`${_id} wasn't changed`);
    const copies = { [operator]: { [`categories.$.names.${tag}`]: name } };
    await products.updateMany({ "categories._id": _id }, copies);
  }

  function addLanguage() {
    const category = key(GROWING.parent, below(GROWING.count));
    return change(category, "$set", languages[below(99)], new ObjectId().toHexString());
  }

  /** Each language of each category, once. */
  let removable;
  function removeLanguage() {
    removable ??= languages
      .slice(number * REMOVED, (number + 1) * REMOVED)
      .flatMap((tag) => numbers(SHRINKING.count).map((at) => [key(SHRINKING.parent, at), tag]));
    const place = below(removable.length);
    const [id, tag] = removable[place];
    removable[place] = removable.at(-1);
    removable.pop();
    return change(id, "$unset", tag, "");
  }

  return {
    setup,
    scenarios: {
      metadata,
      "slice-cache": sliceCache,
      "add-language": addLanguage,
      "remove-language": removeLanguage,
    },
  };
}
