//! The sweep of carts finishes or aborts interrupted flows, and expires idle carts. It touches nothing that
//! changed within the last two grace periods, so no earlier attempt is still running.

use std::{collections::HashSet, time::Duration};

use mongodb::bson::DateTime;

use super::{
    documents::{CartDocument, CartState},
    is_of_order, operations,
    store::{self, carts},
};
use crate::{
    app::App,
    domains::inventory::{
        Reservation,
        operations::{self as inventory, Age, BEGINNING},
    },
    error::Error,
    flow::Sweep,
    mongo::collection::List,
};

/// Maximum number of carts of each kind per pass.
const CARTS: i64 = 500;
/// Number of carts that one command reads.
const BATCH: usize = 100;

/// Finishes interrupted flows, and expires idle carts.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let config = app.config();
    let idle = sweep.earlier(Duration::from_secs(config.cart_idle_seconds));
    let limits = Limits {
        quiet: sweep.quiet(),
        vanished: sweep.earlier(Duration::from_secs(config.reservation_seconds)),
    };
    let id = |cart: &CartDocument| cart.id.clone();
    let untouched =
        |state, before| async move { store::list_untouched(app, state, before, CARTS).await };
    let returns = carts(app).list_older(("outbox.at", "outbox_at"), limits.quiet, CARTS).await;
    sweep.each(returns, id, |cart| async move { carry_out(app, &cart.id).await }).await;
    for state in [CartState::Cancelling, CartState::Expiring] {
        let closing = untouched(state, limits.quiet).await;
        sweep.each(closing, id, |cart| async move { finish_closing(app, &cart.id).await }).await;
    }
    let expiring = |cart: CartDocument| async move { operations::expire(app, &cart.id).await };
    sweep.each(untouched(CartState::Active, idle).await, id, expiring).await;
    for age in [Age::Reserve, Age::Apply, Age::Entry] {
        let done = sweep_reservations(app, age, &limits, sweep).await;
        sweep.note("reservations", done);
    }
    if !config.cart_keep_expired {
        let expired = untouched(CartState::Expired, limits.quiet).await;
        sweep.each(expired, id, |cart| async move { remove(app, &cart, limits.quiet).await }).await;
    }
}

/// Times before which a document must have been last changed.
struct Limits {
    /// For interrupted flows that are to be finished.
    quiet: DateTime,
    /// For reservations of carts that no longer exist.
    vanished: DateTime,
}

async fn carry_out(app: &App, id: &str) -> Result<bool, Error> {
    let (attempt, cart) = store::open(app, id).await?;
    let Some(cart) = cart.filter(|cart| !cart.outbox.is_empty()) else { return Ok(false) };
    operations::carry_out_outbox(app, &cart, &attempt).await?;
    Ok(true)
}

async fn finish_closing(app: &App, id: &str) -> Result<bool, Error> {
    let (attempt, cart) = store::open(app, id).await?;
    let closing =
        |cart: &CartDocument| matches!(cart.state, CartState::Cancelling | CartState::Expiring);
    let Some(cart) = cart.filter(closing) else { return Ok(false) };
    operations::close(app, &cart, &attempt).await?;
    Ok(true)
}

/// Removes an expired cart once the inventory has no entry of it. Remaining entries are settled first.
async fn remove(app: &App, cart: &CartDocument, quiet: DateTime) -> Result<bool, Error> {
    let entries = inventory::reservations_of(app, &cart.id).await?;
    for (sku, entry) in &entries {
        settle_closed(app, sku, entry, quiet).await?;
    }
    Ok(entries.is_empty() && store::remove_expired(app, &cart.id).await?)
}

/// Processes the reservations of one age, page by page. The carts of a page are read after the page: if an
/// entry is unchanged when it is written, it was also in this state when its cart was read.
async fn sweep_reservations(
    app: &App,
    age: Age,
    limits: &Limits,
    sweep: &mut Sweep,
) -> Result<(), Error> {
    let before = if age == Age::Entry { limits.vanished } else { limits.quiet };
    let mut from = Some(BEGINNING);
    while let Some(start) = from {
        let (mut entries, next) = inventory::page_by_age(app, age, start, before).await?;
        entries.retain(|(_, entry)| !is_of_order(&entry.holder));
        for batch in entries.chunks(BATCH) {
            let ids: HashSet<&str> = batch.iter().map(|(_, entry)| &*entry.holder).collect();
            let ids: Vec<&str> = ids.into_iter().collect();
            let found = carts(app).list(List::of_ids(&ids)).await?;
            for (sku, entry) in batch {
                let cart = found.iter().find(|cart| cart.id == entry.holder);
                let done = settle(app, sku, entry, cart, limits).await;
                sweep.add(&entry.holder, done);
            }
        }
        from = next;
    }
    Ok(())
}

/// Settles one reservation against its cart. Returns whether stock was returned.
async fn settle(
    app: &App,
    sku: &str,
    entry: &Reservation,
    cart: Option<&CartDocument>,
    limits: &Limits,
) -> Result<bool, Error> {
    let Some(cart) = cart else {
        // Nothing can be committed on a removed cart, but the reason of its removal is unknown.
        let gone = entry.at < limits.vanished;
        return if gone { settle_closed(app, sku, entry, limits.quiet).await } else { Ok(false) };
    };
    if cart.modified_at >= limits.quiet || entry.at >= limits.quiet {
        return Ok(false);
    }
    match cart.state {
        CartState::Active if cart.outbox.iter().all(|due| due.sku != sku) => {
            settle_active(app, sku, entry, cart, limits.quiet).await
        }
        CartState::Complete | CartState::Expired | CartState::Cancelled => {
            settle_closed(app, sku, entry, limits.quiet).await
        }
        // A flow is running or was interrupted. Finishing it settles this entry as well.
        _ => Ok(false),
    }
}

/// Returns what an active cart's entry holds beyond the line: it was reserved and never committed.
async fn settle_active(
    app: &App,
    sku: &str,
    entry: &Reservation,
    cart: &CartDocument,
    quiet: DateTime,
) -> Result<bool, Error> {
    let line = cart.lines.iter().find(|line| line.sku == sku);
    let surplus = entry.quantity - line.map_or(0, |line| line.held);
    let mut returned = false;
    if surplus < 0 {
        tracing::error!(
            event = "cart_holds_too_little",
            cart = %cart.id,
            sku,
            missing = -surplus,
            "a cart's line holds more stock than is reserved for it; `docgate check` has details"
        );
    }
    if surplus > 0 {
        returned = abort_reserves(app, entry, cart).await?
            && inventory::return_surplus(app, sku, entry, surplus).await?;
        if !returned {
            return Ok(false);
        }
    }
    // There is no difference, so every marked reservation was committed, and every mark that is no longer in
    // the outbox was applied. Both are too old to be repeated.
    let marks = entry.takes.iter().chain(&entry.gifts);
    let tags: Vec<String> = marks.map(|mark| mark.tag.clone()).collect();
    if surplus >= 0 && !tags.is_empty() {
        inventory::retire(app, sku, &entry.holder, &tags, quiet).await?;
    }
    Ok(returned)
}

/// Aborts, on the cart, every tag that wasn't committed when the cart was read. Returns `false` if one was
/// committed meanwhile: what was read is outdated then.
async fn abort_reserves(
    app: &App,
    entry: &Reservation,
    cart: &CartDocument,
) -> Result<bool, Error> {
    let bounds = store::bounds(app);
    for take in &entry.takes {
        let known = cart.ops.iter().any(|record| record.tag == take.tag);
        if !known && !carts(app).abort(&cart.id, &take.tag, bounds).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns what a closed cart still holds, and retires its marks once they can't be repeated.
async fn settle_closed(
    app: &App,
    sku: &str,
    entry: &Reservation,
    quiet: DateTime,
) -> Result<bool, Error> {
    let holds = entry.quantity > 0 || !entry.takes.is_empty();
    let returned = holds && inventory::return_surplus(app, sku, entry, entry.quantity).await?;
    if !entry.gifts.is_empty() {
        let tags: Vec<String> = entry.gifts.iter().map(|gift| gift.tag.clone()).collect();
        inventory::retire(app, sku, &entry.holder, &tags, quiet).await?;
    }
    Ok(returned)
}
