//! What gateways state of the settings that must be the same in all gateways on a database: a digest of each.
//!
//! A statement is a lease that only its gateway takes, and takes again at intervals. A gateway that is stopped removes its
//! statement. The statement of a gateway that was killed runs out on the server's clock. Then the next gateway that states its
//! own settings removes it.

use std::{collections::BTreeMap, time::Duration};

use mongodb::bson::doc;

use super::lease::LeaseDocument;
use crate::{
    error::Error,
    mongo::{
        collection::{Collection, List},
        expression::{literal, millis, starts_with, stored},
    },
};

/// Digests of settings, by key.
pub type Digests = BTreeMap<String, String>;

/// What a gateway states.
#[derive(Debug)]
pub struct Statement {
    /// Name of the gateway.
    pub gateway: String,
    /// The digests of its settings.
    pub settings: Digests,
}

/// Beginning of the names of these leases.
const PREFIX: &str = "settings/";
/// Maximum number of statements that are read.
const MOST: i64 = 1_000;

/// States the settings of a gateway for a time, and removes statements that have run out. It may be repeated.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn state(
    leases: &Collection<LeaseDocument>,
    gateway: &str,
    settings: &Digests,
    lasts: Duration,
) -> Result<(), Error> {
    let fields = doc! {
        "holder": literal(gateway),
        "until": { "$add": ["$$NOW", millis(lasts)] },
        "settings": literal(stored(settings)),
        "v": 1,
    };
    let own = doc! { "_id": format!("{PREFIX}{gateway}") };
    leases.upsert_each(vec![(own, vec![doc! { "$set": fields }])]).await?;
    let is_over = doc! { "$lte": ["$until", "$$NOW"] };
    leases.remove_many(doc! { "_id": starts_with(PREFIX), "$expr": is_over }).await?;
    Ok(())
}

/// Withdraws what a gateway has stated, because it stops. It may be repeated.
///
/// # Errors
/// `Unavailable` or `Internal`; the statement may stay until it runs out.
pub async fn withdraw(leases: &Collection<LeaseDocument>, gateway: &str) -> Result<(), Error> {
    let own = doc! { "_id": format!("{PREFIX}{gateway}") };
    leases.remove(own).await.decided().map(|_removed| ())
}

/// The statements that haven't run out.
///
/// # Errors
/// `Unread` or `Internal`.
pub async fn stated(leases: &Collection<LeaseDocument>) -> Result<Vec<Statement>, Error> {
    let lasts = doc! { "$gt": ["$until", "$$NOW"] };
    let list = List {
        filter: doc! { "_id": starts_with(PREFIX), "$expr": lasts },
        sort: doc! { "_id": 1 },
        limit: MOST,
        ..List::default()
    };
    let found = leases.list(list).await?;
    let statement =
        |lease: LeaseDocument| Some(Statement { gateway: lease.holder, settings: lease.settings? });
    Ok(found.into_iter().filter_map(statement).collect())
}
