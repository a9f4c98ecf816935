//! Product catalog: one polymorphic collection, `products`, from which every read of a product or
//! of a list is one command.
//!
//! # What it copies
//!
//! A product carries copies of its categories and of the names of those who made it. Their records
//! are `categories` and `people`, and those rooms carry changes into the products themselves. What
//! they can't see is a product that *begins* to copy while they do. So every write that begins to
//! copy marks the product `copying`; then the records are read again, copies of a lower version
//! are corrected, a category that is gone is withdrawn, and the mark goes in the same update. The
//! mark has a token: a second write replaces it, and from then on only who looks at *that* state
//! may take it away. The sweep finishes leftovers. Withdrawn are only categories that the product has
//! `begun` to be in: one that it was in before is found by whoever wants to delete it, so if it
//! seems to be gone it is only marked for a deletion that will be refused.
//!
//! # What is copied from it
//!
//! A product is the record of who made it (`contributors`); `people.works` holds copies. Crediting,
//! a new title and deletion are decided on the product, by one update that also raises `version`
//! and writes into the `outbox` whose works are due:
//!
//! ```text
//!   creditPerson, uncreditPerson,    decide              give                     settle
//!   updateProduct, deleteProduct ──────────▶ outbox ─────────────▶ people.works ─────────▶ entry goes
//!                                 (version)   each written whole, where its version is lower
//! ```
//!
//! Each pass computes the works from the product as it stands then and writes before its run's
//! deadline; a work that is gone stays behind as a stone (see `people`). Two passes that meet agree:
//! the higher version wins, and whoever decided it has an entry of its own.
//!
//! # Deletion
//!
//! Whether a product may go is for its stock to say, so `deleteProduct` is the inventory's and its
//! decider is the stock document. Here the product is marked `deletedAt` (from then on nobody sees
//! it), its contributors and categories go and the works follow. The document itself goes two
//! bounds later, when no run is left that knew it; until then its SKU isn't free. A product that is
//! created under the SKU afterwards is another `incarnation`, and its `version` begins above all
//! earlier ones because it goes by the server's clock.
//!
//! # Invariants
//!
//! Savings, keys and coordinates follow from what they are made of; every work of a person is what
//! the product says, and the other way round.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;
mod view;

pub use documents::{Pricing, ProductDocument};
pub use import::ImportProduct;
pub use operations::Offer;
pub use view::StoredProduct;
