//! The rooms: one module per system, each with the same files.
//!
//! - `documents`: the stored documents
//! - `store`: every MongoDB call, one function per round trip
//! - `operations`: the rules
//! - `types`: the types of the schema
//! - `resolvers`: translation between schema and operations
//! - `sweep` and `invariants`: in rooms with flows
//!
//! Rooms call each other only through their operations, and only in these directions:
//! `orders → {carts, payments} → {inventory, transfers} → catalog → {categories, comments, people}`, and
//! `content → assets → {comments, identities}`; `hits` is independent.

pub mod assets;
pub mod carts;
pub mod catalog;
pub mod categories;
pub mod comments;
pub mod content;
pub mod hits;
pub mod identities;
pub mod inventory;
pub mod orders;
pub mod payments;
pub mod people;
pub mod transfers;

use std::pin::Pin;

use crate::{
    app::App,
    error::Error,
    invariants::Report,
    mongo::{Stored, indexes::Declared, lease::LeaseDocument},
};

/// The declaration of a collection and its indexes.
const fn declared<T: Stored>() -> Declared {
    (T::COLLECTION, T::INDEXES)
}

/// Every collection with its indexes.
pub const COLLECTIONS: &[Declared] = &[
    declared::<LeaseDocument>(),
    declared::<categories::CategoryDocument>(),
    declared::<people::PersonDocument>(),
    declared::<catalog::ProductDocument>(),
    declared::<comments::CommentDocument>(),
    declared::<comments::PageDocument>(),
    declared::<comments::AuthoredComment>(),
    declared::<inventory::StockDocument>(),
    declared::<inventory::ReceiptDocument>(),
    declared::<carts::CartDocument>(),
    declared::<orders::OrderDocument>(),
    declared::<transfers::AccountDocument>(),
    declared::<transfers::TransferDocument>(),
    declared::<content::NodeDocument>(),
    declared::<content::RevisionDocument>(),
    declared::<identities::IdentityDocument>(),
    declared::<assets::AssetDocument>(),
    declared::<assets::BlobDocument>(),
    declared::<assets::ChunkDocument>(),
    declared::<hits::DayDocument>(),
    declared::<hits::MonthDocument>(),
];

/// Checks the invariants of every room.
pub async fn check(app: &App) -> Result<Report, Error> {
    let mut report = Report::default();
    categories::invariants::check(app, &mut report).await?;
    people::invariants::check(app, &mut report).await?;
    catalog::invariants::check(app, &mut report).await?;
    comments::invariants::check(app, &mut report).await?;
    inventory::invariants::check(app, &mut report).await?;
    carts::invariants::check(app, &mut report).await?;
    orders::invariants::check(app, &mut report).await?;
    transfers::invariants::check(app, &mut report).await?;
    content::invariants::check(app, &mut report).await?;
    identities::invariants::check(app, &mut report).await?;
    assets::invariants::check(app, &mut report).await?;
    hits::invariants::check(app, &mut report).await?;
    Ok(report)
}

/// Corrects stored values that are derived from other documents. Returns where it corrected something.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    comments::repair::repair(app).await
}

/// A running sweep; it returns how many flows it finished.
type Sweep<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

/// The sweeps of every room: deciders before receivers.
pub fn sweeps(app: &App) -> Vec<(&'static str, Sweep<'_>)> {
    vec![
        ("orders", Box::pin(orders::sweep::sweep(app))),
        ("carts", Box::pin(carts::sweep::sweep(app))),
        ("transfers", Box::pin(transfers::sweep::sweep(app))),
        ("inventory", Box::pin(inventory::sweep::sweep(app))),
        // Products wait for the end of an interrupted deletion.
        ("categories", Box::pin(categories::sweep::sweep(app))),
        ("catalog", Box::pin(catalog::sweep::sweep(app))),
        ("comments", Box::pin(comments::sweep::sweep(app))),
        ("people", Box::pin(people::sweep::sweep(app))),
        ("content", Box::pin(content::sweep::sweep(app))),
        ("identities", Box::pin(identities::sweep::sweep(app))),
        ("assets", Box::pin(assets::sweep::sweep(app))),
    ]
}
