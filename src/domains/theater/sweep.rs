//! The sweep of theaters finishes or aborts interrupted flows, and expires idle bookings. It touches nothing that changed
//! within the last two grace periods, so no earlier attempt is still running. The room's `mod.rs` has the rule for holds.

use std::{collections::HashSet, time::Duration};

use mongodb::bson::DateTime;

use super::{
    documents::{BookingDocument, BookingState, Hold, ReceiptDocument, SweptScreening},
    operations,
    store::{self, CLOSED_PER_PASS, bookings},
};
use crate::{
    app::App,
    domains::{
        payments::of_seats,
        transfers::{self, operations::Held},
    },
    error::Error,
    flow::Sweep,
    mongo::collection::List,
};

/// Number of documents of one kind that one command reads.
const BATCH: i64 = 100;

/// Finishes interrupted flows, and expires idle bookings.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    sweep_checkouts(app, sweep).await;
    sweep_money(app, sweep).await;
    let id = |booking: &BookingDocument| booking.id.clone();
    let owing = ("outbox.at", "outbox_at");
    let owing = bookings(app).list_older(owing, unchanged_before, CLOSED_PER_PASS).await;
    sweep.each(owing, id, |booking| async move { carry_out(app, &booking.id).await }).await;
    for state in [BookingState::Cancelling, BookingState::Expiring] {
        let closing = store::list_untouched(app, state, unchanged_before).await;
        let finish =
            |booking: BookingDocument| async move { finish_closing(app, &booking.id).await };
        sweep.each(closing, id, finish).await;
    }
    let idle = sweep.earlier(Duration::from_secs(app.config().booking_idle_seconds));
    let idle = store::list_untouched(app, BookingState::Active, idle).await;
    sweep.each(idle, id, |booking| async move { operations::expire(app, &booking.id).await }).await;
    let done = sweep_screenings(app, sweep).await;
    sweep.note("holds", done);
    let done = sweep_receipts(app, sweep).await;
    sweep.note("refunds", done);
}

/// Finishes or aborts interrupted checkouts.
async fn sweep_checkouts(app: &App, sweep: &mut Sweep) {
    let overdue = store::list_overdue(app, sweep.deadline_before()).await;
    let before = sweep.unchanged_before();
    let finish = |id: String| async move { finish_checkout(app, &id, before).await };
    sweep.each(overdue, String::clone, finish).await;
}

/// Finishes the checkout of a booking in its own attempt. Of one that was paid at or after `before`, the attempt that
/// decided may still have the claim on the payment.
async fn finish_checkout(app: &App, id: &str, before: DateTime) -> Result<bool, Error> {
    let (attempt, Some(booking)) = app.begin_with::<BookingDocument>(id).await? else {
        return Ok(false);
    };
    let is_running = booking.state == BookingState::Paid && booking.modified_at >= before;
    let checkout = booking.checkout.as_ref().filter(|_| !is_running);
    let is_overdue = checkout.is_some_and(|checkout| attempt.is_overdue(checkout.deadline));
    if is_overdue {
        operations::recover(app, &booking, &attempt).await?;
    }
    Ok(is_overdue)
}

/// Releases money that is held for no checkout, and voids authorisations of none.
async fn sweep_money(app: &App, sweep: &mut Sweep) {
    let unchanged_before = sweep.unchanged_before();
    let holds = transfers::operations::holds_before(app, unchanged_before, BATCH).await;
    let of_bookings = holds.map(|holds| {
        let named = |held: Held| Some((of_seats(&held.cart)?.to_owned(), held));
        holds.into_iter().filter_map(named).collect::<Vec<_>>()
    });
    let release = |(booking, held): (String, Held)| async move {
        release_if_undecided(app, &booking, &held).await
    };
    sweep.each(of_bookings, |(booking, _)| booking.clone(), release).await;
    let open = transfers::operations::open_authorisations(app, unchanged_before, BATCH).await;
    let of_bookings = open.map(|open| {
        let named = |(id, holder): (String, Option<String>)| {
            Some((id, of_seats(holder.as_deref()?)?.to_owned()))
        };
        open.into_iter().filter_map(named).collect::<Vec<_>>()
    });
    let void = |(payment, booking): (String, String)| async move {
        void_if_unowned(app, &payment, &booking).await
    };
    sweep.each(of_bookings, |(payment, _)| payment.clone(), void).await;
}

/// Id of the payment of a booking's checkout, and the checkout's tag.
async fn checkout_of(app: &App, booking: &str) -> Result<Option<(String, Option<String>)>, Error> {
    let checkout = bookings(app).get_settled(booking).await?.and_then(|booking| booking.checkout);
    Ok(checkout.map(|checkout| (checkout.payment_id, checkout.tag)))
}

/// Voids an authorisation of the ledger that isn't of the booking's checkout.
async fn void_if_unowned(app: &App, payment: &str, booking: &str) -> Result<bool, Error> {
    let is_owned = checkout_of(app, booking).await?.is_some_and(|(own, _)| own == payment);
    if !is_owned {
        transfers::operations::void(app, payment).await?;
    }
    Ok(!is_owned)
}

/// Releases money that is held for a checkout that hasn't decided. Its attempt has ended, and a repeat of the call can't
/// decide any more once the tag is void.
async fn release_if_undecided(app: &App, booking: &str, held: &Held) -> Result<bool, Error> {
    let Held { account, payment, tag, .. } = held;
    let checkout = checkout_of(app, booking).await?;
    let has_decided = checkout.is_some_and(|(_, own)| own.as_ref() == Some(tag));
    if has_decided || !bookings(app).abort(booking, tag, store::bounds(app)).await? {
        return Ok(false);
    }
    transfers::operations::release(app, account, payment).await.map(|()| true)
}

async fn carry_out(app: &App, id: &str) -> Result<bool, Error> {
    let (attempt, Some(booking)) = app.begin_with::<BookingDocument>(id).await? else {
        return Ok(false);
    };
    operations::carry_out_outbox(app, &booking, &attempt).await?;
    Ok(!booking.outbox.is_empty())
}

async fn finish_closing(app: &App, id: &str) -> Result<bool, Error> {
    let (attempt, Some(booking)) = app.begin_with::<BookingDocument>(id).await? else {
        return Ok(false);
    };
    let is_closing = matches!(booking.state, BookingState::Cancelling | BookingState::Expiring);
    if is_closing {
        operations::close(app, &booking, &attempt).await?;
    }
    Ok(is_closing)
}

/// Looks at the holds of each screening that it hasn't looked at before, page by page, and removes old marks of refunds.
async fn sweep_screenings(app: &App, sweep: &mut Sweep) -> Result<(), Error> {
    let (before, mut from) = (sweep.unchanged_before(), DateTime::from_millis(0));
    loop {
        let found = store::list_to_sweep(app, from, before, BATCH).await?;
        let is_full = i64::try_from(found.len()) == Ok(BATCH);
        let last = found.last().map(|screening| screening.sweep_at);
        let look =
            |screening: SweptScreening| async move { look_at(app, &screening, before).await };
        sweep.each(Ok(found), |screening| screening.id.clone(), look).await;
        match last {
            // A page whose documents all have one time would be read again for ever.
            Some(last) if is_full && last > from => from = last,
            _ => return Ok(()),
        }
    }
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
    if booking.state.is_final() {
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

/// Carries on with cancelled receipts. A refund that the provider can't pay now stays at the front of the list; the pass
/// continues behind it.
async fn sweep_receipts(app: &App, sweep: &mut Sweep) -> Result<(), Error> {
    let (before, mut from) = (sweep.unchanged_before(), DateTime::from_millis(0));
    loop {
        let found = store::list_cancelling(app, from, before, BATCH).await?;
        let is_full = i64::try_from(found.len()) == Ok(BATCH);
        let last = found.last().and_then(|receipt| receipt.cancelling_at);
        let settle = |receipt: ReceiptDocument| async move {
            let attempt = app.begin().await?;
            let now = operations::carry_on(app, receipt, &attempt).await?;
            Ok(now.cancelling_at.is_none())
        };
        sweep.each(Ok(found), |receipt| receipt.id.clone(), settle).await;
        match last {
            Some(last) if is_full && last > from => from = last,
            _ => return Ok(()),
        }
    }
}
