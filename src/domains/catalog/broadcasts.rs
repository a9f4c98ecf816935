//! The commands of this room that don't name the shard key, with the reason of each. A router sends such a command to
//! all shards.

use crate::domains::broadcasts::broadcasts;

broadcasts! {
    "products" {
        find "pricing.pctSavings" = "list: products by discount",
        find "details.genres" = "list: products of a genre",
        find "issued" = "list: all products, newest first",
        find "type" = "list: products of a type",
        find "contributors" = "list: products of a person",
        find "titleKey" = "list: products by the beginning of their title",
        aggregate "$text" = "list: products by words",
        find "search.words" = "list: suggestions for words",
        find "search.typos" = "list: suggestions for words with a typing error",
        find "slugs" = "list: the product with a slug",
        find "categories.path" = "list: products of a category",
        find "categories.parentPath" = "list: products of a category's children",
        find "categories.within" = "list: products below a category",
        find "discussion.rating.score" = "list: products by rating",
        find "properties" = "list: products with properties",
        find "meta.pairs" = "list: products with a pair of metadata",
        find "numbers" = "list: products with numbers of ranges",
        find "pricing.currency" = "list: products by price, or by price and weight",
        aggregate "categories._id" = "search: whether a category has products",
        update "categories._id" = "copies: a category changed, whose copies are in many products",
        update "contributors.personId" = "copies: a person's name changed, which is in many products",
        update "" = "walk: `docgate indexes apply` follows the site's language by ranges of `_id`",
        find "copying.at" = "sweep: products whose copies weren't looked at again",
        find "outbox.at" = "sweep: works that are still to be written",
        find "facets.at" = "sweep: changes that facets haven't followed",
        aggregate "categories.within" = "sweep: counts the products of a category for its facets; check: whether it has any",
        find "deletedAt" = "sweep: deleted products",
        find "discussion.touchedAt" = "sweep: discussions in which something is left to be done",
    }
    "productSlugs" {
        find "claimedAt" = "sweep: claims of slugs that were cut",
    }
}
