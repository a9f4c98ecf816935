//! The sweep of carts finishes or aborts interrupted flows, and expires idle carts. It touches nothing that
//! changed within the last two grace periods, so no earlier attempt is still running.
//!
//! # Reservations of active carts
//!
//! The quantity of a reservation is the sum of what was reserved and committed, what was reserved and not
//! committed, and what the outbox returns. So if the outbox doesn't contain the SKU, and neither the cart nor the
//! reservation has changed for two grace periods, the *surplus* `reservation.quantity − line.reserved` is what was
//! reserved and never committed: no attempt is running that could still reserve, commit or apply.
//!
//! 1. **The surplus is positive.** Each mark of a reserve whose tag the cart doesn't know is voided on the cart,
//!    so that a slow repeat can't commit it. Then the surplus is returned and all marks of reserves are removed,
//!    guarded by the reservation as read. If one of the tags was committed meanwhile, the next pass looks again.
//! 2. **The surplus is zero.** Every reserve was committed, and every apply is settled. The marks are removed.
//! 3. **The surplus is negative.** No flow leads there. It is logged as an error, and `docgate check` reports it.
//!
//! The sweep doesn't look the tags up among the cart's op records, because these are dropped after
//! `flow_ops_seconds`: a committed reserve whose record was dropped would look uncommitted.
//!
//! Settling changes the cart's `modifiedAt`, so an attempt that read the outbox before is past its deadline when
//! the mark of its apply is removed. Voiding a tag doesn't change `modifiedAt`; nothing depends on it.
//!
//! # Reservations of other carts
//!
//! A cart that is COMPLETE, CANCELLED or EXPIRED commits nothing any more, so all that it still has reserved is
//! returned. After a checkout its reservations are empty. Their marks are kept for two grace periods, since a repeat of
//! the checkout may still reserve under the tag; then they are removed, and a repeated apply finds nothing to apply to.
//! If the checkout has removed the marks before, such a repeat reserves once more. Nobody sells these goods, and the
//! sweep returns them. A cart that was removed by hand commits nothing either. The reason of its removal is unknown, so
//! its reservations are returned only after `reservation_seconds`.

use std::{collections::HashSet, mem, time::Duration};

use mongodb::bson::DateTime;

use super::{
    documents::CartDocument,
    order_of_holder,
    store::{self, carts},
    vouchers,
};
use crate::{
    app::App,
    domains::{
        baskets::{self, Basket as _, State},
        inventory::{Mark, Reservation, SweptStock, operations as inventory},
    },
    error::Result,
    flow::{Pages, Sweep},
    join::join_all,
    mongo::collection::List,
};

/// Number of carts that one command reads.
const BATCH: usize = 100;
/// Stock documents that one command reads, and whose reservations are looked at together.
const STOCKS: Pages = Pages { limit: 100, side_by_side: 100 };

/// Finishes interrupted flows, and expires idle carts.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (config, unchanged_before) = (app.config(), sweep.unchanged_before());
    baskets::sweep::<CartDocument>(app, sweep).await;
    sweep.count("stock without its time", inventory::correct_next(app).await);
    sweep_reservations(app, sweep).await;
    vouchers::sweep(app, sweep).await;
    if !config.cart_keep_expired {
        let remove = |cart: CartDocument| async move { remove(app, &cart, unchanged_before).await };
        for state in [State::Expired, State::Cancelled] {
            baskets::sweep_untouched(app, sweep, state, unchanged_before, remove).await;
        }
    }
}

/// Removes a cart that has expired or was cancelled, once the inventory has no entry of it. What remains is reconciled first.
async fn remove(app: &App, cart: &CartDocument, unchanged_before: DateTime) -> Result<bool> {
    let entries = inventory::reservations_of(app, &cart.id, &cart.skus()).await?;
    for (sku, entry) in &entries {
        Reconciliation { app, sku, entry, unchanged_before }.with_ended().await?;
    }
    Ok(entries.is_empty() && store::remove_closed(app, cart).await?)
}

/// Looks at the reservations, page by page.
async fn sweep_reservations(app: &App, sweep: &mut Sweep) {
    let vanished = sweep.earlier(Duration::from_secs(app.config().reservation_seconds));
    let unchanged_before = sweep.unchanged_before();
    let list = |from, limit| inventory::list_to_sweep(app, from..unchanged_before, vanished, limit);
    let reconcile = |stocks: Vec<SweptStock>| async move {
        reconcile(app, &stocks, unchanged_before, vanished).await
    };
    sweep.each_batch("reservations", STOCKS, list, reconcile).await;
}

/// Reconciles reservations with their carts. Returns of each stock whether something was returned to it. The carts are read
/// after the stocks: if an entry is unchanged when it is written, it was also in this state when its cart was read.
async fn reconcile(
    app: &App,
    stocks: &[SweptStock],
    unchanged_before: DateTime,
    vanished: DateTime,
) -> Vec<Result<bool>> {
    let mut returned: Vec<Result<bool>> = stocks.iter().map(|_| Ok(false)).collect();
    let mut entries = Vec::new();
    for (number, SweptStock { sku, reservations, .. }) in stocks.iter().enumerate() {
        let of_carts = reservations.iter().filter(|entry| order_of_holder(&entry.holder).is_none());
        entries.extend(of_carts.map(|entry| (number, sku.as_str(), entry)));
    }
    let mut batches: Vec<_> = entries.chunks(BATCH).collect();
    while let Some(batch) = batches.pop() {
        let ids: HashSet<&str> = batch.iter().map(|(_, _, entry)| &*entry.holder).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let found = match carts(app).list(List::of_ids(&ids)).await {
            Ok(found) => found,
            // One of the carts can't be read.
            Err(error) if batch.len() > 1 && !error.is_retryable() => {
                batches.extend(batch.chunks(1));
                continue;
            }
            Err(error) => {
                if let Some((number, ..)) = batch.first() {
                    returned[*number] = Err(error);
                }
                continue;
            }
        };
        // Side by side, so that the writes of one SKU are combined: every checkout leaves an entry.
        let reconciled = batch.iter().map(|&(_, sku, entry)| {
            let cart = found.iter().find(|cart| cart.id == entry.holder);
            let reconciliation = Reconciliation { app, sku, entry, unchanged_before };
            async move { reconciliation.with(cart, vanished).await }
        });
        let done = join_all(reconciled).await;
        for ((number, ..), done) in batch.iter().zip(done) {
            // The first error stays.
            let before = mem::replace(&mut returned[*number], Ok(false));
            returned[*number] = before.and_then(|before| done.map(|done| before || done));
        }
    }
    returned
}

/// The reconciliation of a reservation with its cart: what the cart doesn't account for is returned. Each method
/// tells whether stock was returned.
struct Reconciliation<'a> {
    app: &'a App,
    sku: &'a str,
    entry: &'a Reservation,
    /// Time before which a document must have been changed last.
    unchanged_before: DateTime,
}

impl Reconciliation<'_> {
    /// Reconciles the entry with its cart. `vanished` is the same limit as `unchanged_before` for an entry without a cart.
    async fn with(&self, cart: Option<&CartDocument>, vanished: DateTime) -> Result<bool> {
        let at = self.entry.at;
        match cart {
            // Nothing can be committed on a removed cart, but the reason of its removal is unknown.
            None if at < vanished => self.with_ended().await,
            Some(cart)
                if cart.modified_at < self.unchanged_before && at < self.unchanged_before =>
            {
                match cart.state() {
                    State::Active if cart.outbox.iter().all(|due| due.sku != self.sku) => {
                        self.with_active(cart).await
                    }
                    state if state.is_final() => self.with_ended().await,
                    // A flow is running or was interrupted. Its end reconciles this entry as well.
                    _ => Ok(false),
                }
            }
            _ => Ok(false),
        }
    }

    /// Returns what an active cart's entry holds beyond the line: it was reserved and never committed.
    async fn with_active(&self, cart: &CartDocument) -> Result<bool> {
        let Self { app, sku, entry, .. } = *self;
        let line = cart.lines.iter().find(|line| line.sku == sku);
        let surplus = entry.quantity - line.map_or(0, |line| line.reserved);
        if surplus < 0 {
            tracing::error!(
                event = "cart_holds_too_little",
                cart = %cart.id,
                sku,
                missing = -surplus,
                "a cart's line holds more stock than is reserved for it; `docgate check` has details"
            );
        }
        if surplus > 0
            && !(self.abort_reserves(cart).await?
                && inventory::return_surplus(app, sku, entry, surplus).await?)
        {
            return Ok(false);
        }
        // There is no difference, so every marked reservation was committed, and every mark that is no longer in
        // the outbox was applied. Both are too old to be repeated.
        if surplus >= 0 {
            self.retire(entry.reserve_marks.iter().chain(&entry.apply_marks)).await?;
        }
        Ok(surplus > 0)
    }

    /// Aborts, on the cart, every tag that wasn't committed when the cart was read. Returns `false` if one was
    /// committed meanwhile: what was read is outdated then.
    async fn abort_reserves(&self, cart: &CartDocument) -> Result<bool> {
        let bounds = store::bounds(self.app);
        for Mark { tag, .. } in &self.entry.reserve_marks {
            let is_known = cart.ops.iter().any(|record| record.tag == *tag);
            if !is_known && !carts(self.app).abort(&cart.id, tag, bounds).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns all that is reserved for a cart that commits nothing any more, and retires its marks once they can't
    /// be repeated.
    async fn with_ended(&self) -> Result<bool> {
        let Self { app, sku, entry, .. } = *self;
        if entry.quantity == 0 {
            // Every reserve was committed: the marks are too old to be repeated.
            self.retire(entry.reserve_marks.iter().chain(&entry.apply_marks)).await?;
            return Ok(false);
        }
        let returned = inventory::return_surplus(app, sku, entry, entry.quantity).await?;
        self.retire(entry.apply_marks.iter()).await?;
        Ok(returned)
    }

    async fn retire(&self, marks: impl Iterator<Item = &Mark>) -> Result<()> {
        let tags: Vec<String> = marks.map(|mark| mark.tag.clone()).collect();
        if tags.is_empty() {
            return Ok(());
        }
        inventory::retire(self.app, self.sku, &self.entry.holder, &tags, self.unchanged_before)
            .await
    }
}
