// The reads: a product, lists of products, a category, a menu. Each sends one command to MongoDB,
// by the same index and in the same order as docgate.
import {
  badInput,
  decodeCursor,
  encodeCursor,
  formatted,
  globalId,
  isKey,
  isPath,
  keyOf,
  nameIn,
  signature,
} from "./values.js";

/** The fields of a product that this schema shows. */
export const PRODUCT = {
  type: 1,
  titleKey: 1,
  title: 1,
  description: 1,
  language: 1,
  pricing: 1,
  categories: 1,
  contributors: 1,
  "discussion.count": 1,
  "discussion.latest": 1,
  "discussion.rating": 1,
  deletedAt: 1,
};
const LINK = { _id: 1, slug: 1, path: 1, names: 1 };

const TYPES = { album: "Album", film: "Film", book: "Book" };

/** The filter of what comes behind the document with these values of the sort keys. */
function beyond(filter, keys, values) {
  // Each branch carries the whole filter, so that each is an index range of its own.
  const branches = keys.map(([field, direction], depth) => ({
    ...filter,
    $and: [
      ...keys.slice(0, depth).map(([equal], at) => ({ [equal]: values[at] })),
      { [field]: { [direction > 0 ? "$gt" : "$lt"]: values[depth] } },
    ],
  }));
  return branches.length === 1 ? branches[0] : { $or: branches };
}

/** A page of a list: `keys` are its sort keys, `position` gives a document's values of them. */
async function page(
  collection,
  { list, keys, position, filter, hint, projection },
  { first, after },
) {
  first ??= 20;
  if (first < 1 || first > 100) throw badInput("first", "must be between 1 and 100");
  const values = after == null ? null : decodeCursor(list, after, keys.length);
  // One more than asked for tells whether there is another page.
  const found = await collection
    .find(values ? beyond(filter, keys, values) : filter, {
      sort: keys,
      limit: first + 1,
      batchSize: first + 2,
      hint,
      projection,
    })
    .toArray();
  const hasNextPage = found.length > first;
  if (hasNextPage) found.pop();
  let signed;
  const cursor = (document) => encodeCursor((signed ??= signature(list)), position(document));
  return { nodes: found, cursor, hasNextPage, hasPreviousPage: values !== null };
}

const byTitle = {
  keys: [
    ["titleKey", 1],
    ["_id", 1],
  ],
  position: ({ titleKey, _id }) => [titleKey, _id],
};
const places = {
  exact: { name: "Exact", field: "categories.path", hint: "category" },
  children: { name: "Children", field: "categories.parentPath", hint: "category_children" },
  subtree: { name: "Subtree", field: "categories.within", hint: "category_subtree" },
};

/** One way to list products. */
function way({ discountAtLeast, category }) {
  if (discountAtLeast != null) {
    if (discountAtLeast < 1 || discountAtLeast > 100) {
      throw badInput("by.discountAtLeast", "must be between 1 and 100");
    }
    return {
      list: `products DiscountAtLeast(${discountAtLeast})`,
      keys: [
        ["pricing.pctSavings", -1],
        ["_id", 1],
      ],
      position: ({ pricing, _id }) => [pricing.pctSavings, _id],
      filter: { "pricing.pctSavings": { $gte: discountAtLeast } },
      hint: "discount",
    };
  }
  const [place, path] = Object.entries(category ?? {})[0] ?? [];
  if (!isPath(path)) throw badInput(`by.category.${place}`, "takes a path such as /music/jazz");
  const { name, field, hint } = places[place];
  return {
    ...byTitle,
    list: `products Category(${name}("${path}"))`,
    filter: { [field]: path },
    hint,
  };
}

/** The language that a list or field was asked in, for the names in it. */
const shown = (product, locale) => (locale ? { ...product, locale } : product);

const Query = {
  async product(_, { sku, locale }, { load }) {
    if (!isKey(sku)) throw badInput("sku", "takes 1 to 128 letters, digits, '-', '_', '~' or ':'");
    const product = await load("product", sku);
    return product && !product.deletedAt ? shown(product, locale) : null;
  },

  async products(_, { by, first, after, locale }, { collections }) {
    const { filter, ...rest } = way(by);
    const list = {
      ...rest,
      filter: { ...filter, deletedAt: { $exists: false } },
      projection: PRODUCT,
    };
    const found = await page(collections.products, list, { first, after });
    return locale
      ? { ...found, nodes: found.nodes.map((product) => shown(product, locale)) }
      : found;
  },

  category(_, { by: { id, path, slug } }, { load }) {
    if (slug != null) return load("categoryBySlug", slug);
    if (path != null) {
      if (!isPath(path)) throw badInput("by.path", "isn't a path such as /music/jazz");
      return load("categoryByPath", path);
    }
    const key = keyOf("category", id);
    if (!key) throw badInput("by.id", "isn't the id of any category");
    return load("category", key);
  },

  categories(_, { parentPath, first, after }, { collections }) {
    if (parentPath !== "/" && !isPath(parentPath)) {
      throw badInput("parentPath", "isn't a path such as /music/jazz");
    }
    const list = {
      list: `categories ${parentPath}`,
      keys: [["slug", 1]],
      position: ({ slug }) => [slug],
      filter: { parentPath },
      hint: "menu",
      projection: LINK,
    };
    return page(collections.categories, list, { first, after });
  },
};

const product = {
  id: ({ _id }) => globalId("product", _id),
  sku: ({ _id }) => _id,
  description: ({ description }) => description ?? "",
  categories: ({ categories = [], locale }) =>
    locale ? categories.map((category) => ({ ...category, locale })) : categories,
  contributors: ({ contributors }) => contributors ?? [],
};

const link = {
  id: ({ _id }) => globalId("category", _id),
  name: ({ names }, { locale }) => nameIn(names, locale),
  names: ({ names }) => Object.entries(names).map(([locale, name]) => ({ locale, name })),
};

const connection = {
  edges: ({ nodes, cursor }) => nodes.map((node) => ({ node, cursor })),
  pageInfo: (page) => page,
};
const edge = { cursor: ({ node, cursor }) => cursor(node) };

export const money = (minorUnits, currency) => ({ minorUnits, currency });

export const reads = {
  Query,
  Node: {
    __resolveType: ({ type, state }) =>
      type ? (TYPES[type] ?? "GenericProduct") : state ? "Cart" : "Category",
  },
  Product: { __resolveType: ({ type }) => TYPES[type] ?? "GenericProduct" },
  Album: product,
  Film: product,
  Book: product,
  GenericProduct: product,
  Pricing: {
    list: ({ list, currency }) => money(list, currency),
    retail: ({ retail, currency }) => money(retail, currency),
    savings: ({ savings, currency }) => money(savings, currency),
  },
  Money: { formatted },
  Contributor: { personId: ({ personId }) => globalId("person", personId) },
  ProductCategory: {
    id: link.id,
    name: ({ names, locale: asked }, { locale }) => nameIn(names, locale ?? asked),
  },
  Discussion: {
    commentCount: ({ count }) => count,
    latestComments: ({ latest }) => latest,
    rating: ({ rating }) => (rating?.count ? rating : null),
  },
  LatestComment: {
    author: ({ author, authorName }) => ({ id: author, name: authorName }),
    isCut: ({ isCut }) => isCut ?? false,
    postedAt: ({ at }) => at,
  },
  AverageRating: { average: ({ sum, count }) => sum / count },
  ProductConnection: connection,
  ProductEdge: edge,
  Category: {
    ...link,
    parentId: ({ parentId }) => parentId && globalId("category", parentId),
    breadcrumbs({ ancestors }) {
      let path = "";
      return ancestors.map((ancestor) => ({ ...ancestor, path: (path += `/${ancestor.slug}`) }));
    },
  },
  CategoryLink: link,
  CategoryLinkConnection: connection,
  CategoryLinkEdge: edge,
  PageInfo: {
    startCursor: ({ nodes, cursor }) => (nodes.length ? cursor(nodes[0]) : null),
    endCursor: ({ nodes, cursor }) => (nodes.length ? cursor(nodes.at(-1)) : null),
  },
};
