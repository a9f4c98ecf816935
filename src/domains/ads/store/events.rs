//! MongoDB access of clicks, conversions and views.

use super::super::documents::EventDocument;
use crate::{app::App, error::Result, mongo::prelude::*};

pub(in super::super) fn events(app: &App) -> Collection<EventDocument> {
    app.collection()
}

/// Notes that the campaign has counted an event.
pub(in super::super) fn settle(app: &App, id: &str, cost: i64) -> Guarded<EventDocument> {
    let guard = doc! { "_id": id, "due": { "$exists": true } };
    events(app).set(guard, doc! { "due": "$$REMOVE", "settledAt": "$$NOW", "cost": cost })
}

/// Removes the events whose tokens have expired before `before`. Those that may not be counted stay.
pub(in super::super) async fn remove_expired(app: &App, before: DateTime) -> Result<u64> {
    let expired = doc! { "expiresAt": { "$lt": before }, "due": { "$exists": false } };
    events(app).remove_many(expired).await
}
