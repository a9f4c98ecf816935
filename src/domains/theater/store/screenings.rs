//! Lists of screenings, and the writes that cancel them.

use super::{super::documents::ScreeningDocument, screenings};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// The screenings of a theater that begin at or after `from` and before `to`, in the order of their beginning.
pub(in super::super) async fn list_screenings(
    app: &App,
    theater: &str,
    (from, to): (DateTime, DateTime),
    page: &Page,
) -> Result<Vec<ScreeningDocument>> {
    let filter = doc! { "theaterId": theater, "startsAt": { "$gte": from, "$lt": to } };
    screenings(app).list(List { hint: Some("theater_starts"), ..page.list(filter) }).await
}

/// Why a screening isn't cancelled.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum NotCancelled {
    /// It was cancelled before.
    Already,
    /// It has begun.
    Begun,
}

/// Cancels a screening. Its seats are still to be given back.
pub(in super::super) fn cancel(id: &str) -> Change<NotCancelled> {
    let rules = [
        (is_absent("cancelledAt"), NotCancelled::Already),
        (is_past("startsAt").negated(), NotCancelled::Begun),
    ];
    Change::ruled(id, rules, doc! { "cancelledAt": "$$NOW", "cancellingAt": "$$NOW" })
}

/// Notes that nobody has a seat of a cancelled screening any more. Refused if somebody has.
pub(in super::super) fn settle_cancelled(app: &App, id: &str) -> Guarded<ScreeningDocument> {
    let nobody_has_any = doc! {
        "_id": id, "cancellingAt": { "$exists": true }, "holds": [], "sold": [],
    };
    screenings(app).set(nobody_has_any, doc! { "cancellingAt": "$$REMOVE" })
}
