//! Product catalog: one polymorphic collection, `products`, from which every read of a product or of a list
//! is one command.
//!
//! # Copies in a product
//!
//! A product has copies of its categories and of its contributors' names. Their records are `categories` and
//! `people`, and those rooms write changes to the products themselves. They can miss a product that *begins*
//! to copy at the same time. So every write that begins to copy marks the product `copying`. Then the records
//! are read again. One update corrects copies of a lower version, withdraws categories that are gone, and
//! removes the mark. The mark has a token: a second write replaces it, and from then on only a check of
//! *that* write's copies may remove it. The sweep finishes interrupted checks. A check withdraws a missing
//! category only if the product was newly added to it. It keeps an older category, because that category can't be
//! deleted while the product is in it: its deletion finds the product and is refused.
//!
//! # Copies of a product
//!
//! A product is the record of its contributors (`contributors`); `people.works` has copies. Crediting, a new
//! title and deletion are committed on the product by one update. It also raises `version` and writes the
//! people whose works are due to the `outbox`:
//!
//! ```text
//!   creditPerson, uncreditPerson,    commit              apply                    settle
//!   updateProduct, deleteProduct ──────────▶ outbox ─────────────▶ people.works ─────────▶ entry removed
//!                                 (version)   each written whole, where its version is lower
//! ```
//!
//! Each attempt computes the works from the product as it reads it, and writes before its deadline. A work
//! that is gone leaves a tombstone (see `people`). Two concurrent attempts agree: the higher version wins,
//! and the commit of that version has an outbox entry of its own.
//!
//! # Deletion
//!
//! Whether a product may be deleted depends on its stock. So `deleteProduct` is an operation of the
//! inventory, and its decider is the stock document. Here the product is marked `deletedAt` (from then on no
//! client sees it), its contributors and categories are removed, and the works follow. The document itself is
//! removed two grace periods later, when no attempt is left that read the product. It also stays until the inventory has
//! closed the stock of variants that were added while the product was deleted. Until then its SKU isn't
//! free. A product that is created under the SKU afterwards is another generation (`incarnation`). Its
//! `version` begins above all earlier ones, because it follows the server's clock.
//!
//! # Slugs
//!
//! A product has a slug for its URL, and keeps its former ones. A cluster can't have a unique index of them, because it
//! divides products by SKU. So a slug is claimed first, by a document of its own (`productSlugs`), and the product gets it
//! afterwards:
//!
//! ```text
//!   setProductSlug ──▶ claim {slug, product, time} ──▶ product: slug, slugs ──sweep──▶ claim without the time
//!                                             (cut or refused) ──sweep──▶ claim removed
//! ```
//!
//! The product is written within the attempt. The sweep looks at claims that are older than any attempt, so it doesn't remove
//! one whose product is still to be written. A repeat makes its claim younger. The claims of a deleted product are removed
//! with it.
//!
//! # Variants
//!
//! The variants of a product are elements of its document, and each change of one is one update of it. The SKU of a variant
//! begins with that of its product and a dot, which no SKU of a product has. So it is unique without a claim, and the product
//! is found by its key. Stock, carts and orders know a variant by its SKU, as they know a product. A variant is deleted as a
//! product is: the inventory decides, and the variant is removed here. A product with variants isn't deleted.
//!
//! # Terms
//!
//! `suggest` finds a product by the words of its titles. Every write of titles also stores these words, in `search`.
//! Products of earlier versions have no such words and aren't found, until `docgate indexes apply` adds them; see
//! `docs/SEARCH.md`.
//!
//! # Invariants
//!
//! Every slug of a product is claimed by it. The SKU of a variant begins with that of its product. The variants of a product
//! differ in SKU and in the values of their options. Terms agree with the titles. Savings, keys and coordinates agree with
//! the fields from which they are derived. The works of people agree with the contributors of products, in both directions.

mod documents;
pub mod export;
pub mod import;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;
mod view;

use super::{
    Room,
    broadcasts::broadcasts,
    comments::Discussable,
    images::Illustrated,
    metadata::MetadataOwner,
    nodes::{Node, NodeType, ObjectType},
    room::documented,
};
use crate::{
    graphql::prelude::*,
    mongo::{Stored, condition::is_absent},
};
use documents::SlugDocument;
pub use documents::{Pricing, ProductDocument, Variant, is_variant, product_sku, product_sku_of};
pub use import::ImportProduct;
pub use operations::Offer;
use types::{Album, Book, Film, GenericProduct};
pub use types::{Product, ProductVariant};
pub use view::StoredProduct;

impl NodeKind {
    /// A product of any type. Its key is its SKU.
    pub const PRODUCT: Self = Self::new("product");
}

async fn node(cx: Cx<'_>, sku: &str) -> Result<Option<Node>> {
    let found = operations::product(&cx, sku).await?;
    Ok(found.map(|product| Node::of(Product::of(product, None))))
}

/// The discussions of products.
pub const DISCUSSED: Discussable = Discussable {
    kind: NodeKind::PRODUCT,
    collection: ProductDocument::COLLECTION,
    opened_by: Role::Merchant,
    is_read_whole: false,
    seen_by: |_requester| is_absent("deletedAt"),
};

/// The images of products.
const ILLUSTRATED: Illustrated = Illustrated {
    kind: NodeKind::PRODUCT,
    collection: ProductDocument::COLLECTION,
    exists: || is_absent("deletedAt"),
};

pub const ROOM: Room = Room {
    needs: &["categories", "comments", "people"],
    extends: &[("Work", "product")],
    nodes: &[NodeType {
        interface: Some("Product"),
        natural_key: Some(("sku", |cx, sku| Box::pin(node(cx, sku)))),
        ..NodeType::new(
            NodeKind::PRODUCT,
            &[
                ObjectType::of::<Album>(),
                ObjectType::of::<Book>(),
                ObjectType::of::<Film>(),
                ObjectType::of::<GenericProduct>(),
            ],
            |cx, id| {
                Box::pin(async move {
                    match input::id(NodeKind::PRODUCT, id) {
                        Ok(sku) => node(cx, &sku).await,
                        Err(_) => Ok(None),
                    }
                })
            },
        )
    }],
    discussed: &[DISCUSSED],
    illustrated: &[ILLUSTRATED],
    metadata: &[MetadataOwner::of::<ProductDocument>(NodeKind::PRODUCT, Role::Merchant, || {
        is_absent("deletedAt")
    })],
    documents: &[documented::<ProductDocument>(), documented::<SlugDocument>()],
    broadcasts: broadcasts! {
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
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("catalog")
};
