//! One room per system, each with the same files: `documents` (what MongoDB sees), `store` (every
//! call, one function one round trip), `operations` (the rules), `types` (what clients see),
//! `resolvers` (translate), and where a room has flows `sweep` and `invariants`.
//!
//! Between rooms only operations call operations, downhill:
//! `orders → {carts, payments} → {inventory, transfers} → catalog → {categories, comments, people}`, and
//! `content → assets → {comments, identities}`; `hits` stands alone.

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
    mongo::{Stored, indexes::Declared, lease::LeaseDocument},
};

/// What a collection declares.
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

/// What `docgate check` found.
#[derive(Debug, Default)]
pub struct Report {
    /// The rules that were checked, each with what breaks it.
    pub rules: Vec<(String, Vec<String>)>,
}

impl Report {
    /// Begins a rule.
    pub fn rule(&mut self, rule: &str) {
        self.rules.push((rule.to_owned(), Vec::new()));
    }

    /// Something breaks the rule that was begun last.
    pub fn broken(&mut self, what: String) {
        if let Some((_, broken)) = self.rules.last_mut() {
            broken.push(what);
        }
    }

    /// Whether nothing is broken.
    pub fn is_clean(&self) -> bool {
        self.rules.iter().all(|(_, broken)| broken.is_empty())
    }
}

/// Checks the invariants of every room.
///
/// # Errors
/// `Unavailable` or `Internal`.
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

/// Puts right what follows from other documents and says something else. Answers where.
///
/// # Errors
/// `Unavailable` or `Internal`: repeat it.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    comments::repair::repair(app).await
}

/// A sweep under way: how many flows it finished.
type Sweep<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

/// The sweeps of every room, receivers after deciders.
pub fn sweeps(app: &App) -> Vec<(&'static str, Sweep<'_>)> {
    vec![
        ("orders", Box::pin(orders::sweep::sweep(app))),
        ("carts", Box::pin(carts::sweep::sweep(app))),
        ("transfers", Box::pin(transfers::sweep::sweep(app))),
        ("inventory", Box::pin(inventory::sweep::sweep(app))),
        // Products wait for the end of a deletion that was cut.
        ("categories", Box::pin(categories::sweep::sweep(app))),
        ("catalog", Box::pin(catalog::sweep::sweep(app))),
        ("comments", Box::pin(comments::sweep::sweep(app))),
        ("people", Box::pin(people::sweep::sweep(app))),
        ("content", Box::pin(content::sweep::sweep(app))),
        ("identities", Box::pin(identities::sweep::sweep(app))),
        ("assets", Box::pin(assets::sweep::sweep(app))),
    ]
}
