//! The sweep of theaters finishes or aborts interrupted flows, and expires idle bookings. It touches nothing that changed
//! within the last two grace periods, so no earlier attempt is still running. The room's `mod.rs` has the rule for holds.

use std::collections::HashSet;

use mongodb::bson::DateTime;

use super::{
    documents::{
        BookingDocument, Hold, ReceiptDocument, SWEEP_AT, ScreeningDocument, SweptScreening,
    },
    operations::{self, SaleOfSeats},
    store::{self, bookings, receipts, screenings},
};
use crate::{
    app::App,
    domains::{
        baskets::{self, Basket as _},
        checkout,
    },
    error::Error,
    flow::Sweep,
    mongo::collection::List,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes interrupted flows, and expires idle bookings.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    checkout::sweep_checkouts::<SaleOfSeats>(app, sweep).await;
    checkout::sweep_holds::<SaleOfSeats>(app, sweep).await;
    checkout::sweep_authorisations::<SaleOfSeats>(app, sweep).await;
    baskets::sweep::<BookingDocument>(app, sweep).await;
    sweep_screenings(app, sweep).await;
    sweep_cancelled(app, sweep).await;
    sweep_receipts(app, sweep).await;
}

/// Looks at the holds of each screening that it hasn't looked at before, and removes old marks of refunds.
async fn sweep_screenings(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let (all, by) = (app.collection::<SweptScreening>(), (SWEEP_AT, "sweep_at"));
    let list = |from, limit| all.list_between(by, from, before, limit);
    let look = |screening: SweptScreening| async move { look_at(app, &screening, before).await };
    sweep.each_page("holds", BATCH, list, look).await;
}

/// What becomes of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its booking has it.
    Kept,
    /// Nobody will sell it.
    Lost,
    /// It was never committed, but a repeat of the call could commit it.
    Uncommitted,
    /// A flow is running or was interrupted. Its end decides.
    Open,
}

/// The fate of a hold from before `before`, by its booking as it was read after the hold.
fn fate(hold: &Hold, booking: Option<&BookingDocument>, before: DateTime) -> Fate {
    let Some(booking) = booking else { return Fate::Lost };
    if booking.state().is_final() {
        // The sale of a booking that is COMPLETE has removed its holds, so this one came later.
        return if booking.modified_at < before { Fate::Lost } else { Fate::Open };
    }
    if booking.holds.iter().any(|own| own.tag == hold.tag) {
        return Fate::Kept;
    }
    if booking.outbox.iter().any(|due| due.tag == hold.tag) || booking.modified_at >= before {
        return Fate::Open;
    }
    let is_recorded = booking.ops.iter().any(|record| record.tag == hold.tag);
    if is_recorded { Fate::Lost } else { Fate::Uncommitted }
}

/// Decides on the old holds of a screening. Returns whether anything was changed.
async fn look_at(app: &App, screening: &SweptScreening, before: DateTime) -> Result<bool, Error> {
    let old = screening.holds.iter().filter(|hold| !hold.kept && hold.at < before);
    let old: Vec<&Hold> = old.collect();
    let ids: HashSet<&str> = old.iter().map(|hold| hold.booking_id.as_str()).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let found = if ids.is_empty() { Vec::new() } else { read_all(app, &ids).await? };
    let (mut kept, mut freed) = (Vec::new(), false);
    for hold in old {
        let booking = found.iter().find(|booking| booking.id == hold.booking_id);
        let is_lost = match fate(hold, booking, before) {
            Fate::Kept => {
                kept.push(hold.tag.clone());
                false
            }
            Fate::Lost => true,
            Fate::Uncommitted => {
                bookings(app).abort(&hold.booking_id, &hold.tag, store::bounds(app)).await?
            }
            Fate::Open => false,
        };
        if is_lost {
            operations::free(app, &screening.id, &hold.tag, &hold.seats).await?;
            freed = true;
        }
    }
    let has_kept = !kept.is_empty();
    if has_kept || screening.freed.iter().any(|mark| mark.at < before) {
        store::keep(app, &screening.id, kept, before).held().await?;
    }
    Ok(freed || has_kept)
}

async fn read_all(app: &App, ids: &[&str]) -> Result<Vec<BookingDocument>, Error> {
    bookings(app).list(List::of_ids(ids)).await
}

/// Carries on with cancelled screenings.
async fn sweep_cancelled(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("cancellingAt", "cancelling_at");
    let list = |from, limit| screenings(app).list_between(by, from, before, limit);
    let settle = |screening: ScreeningDocument| async move {
        operations::give_back(app, &screening.id).await
    };
    sweep.each_page("cancelled screenings", BATCH, list, settle).await;
}

/// Carries on with cancelled receipts.
async fn sweep_receipts(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let by = ("cancellingAt", "cancelling_at");
    let list = |from, limit| receipts(app).list_between(by, from, before, limit);
    let settle = |receipt: ReceiptDocument| async move {
        let attempt = app.begin().await?;
        let now = operations::carry_on(app, receipt, &attempt).await?;
        Ok(now.cancelling_at.is_none())
    };
    sweep.each_page("refunds", BATCH, list, settle).await;
}
