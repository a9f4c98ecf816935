//! The business rules of the inventory.

mod availability;
mod deletion;
mod forgetting;
mod low;
mod receipts;

pub use availability::{Levels, availability, stocks_of};
pub(super) use deletion::follow_deletion;
pub use deletion::{delete_product, delete_variant};
pub use forgetting::forget_sold;
pub use low::low_stock;
pub use receipts::{Booked, receive_stock, write_off_stock};
pub(super) use receipts::{MAX, Refused, book};

use std::{collections::BTreeMap, mem, ops::Range, sync::Mutex, time::Duration};

use mongodb::bson::DateTime;

pub use super::store::{
    Destination, for_each, forget_each, forget_ended, release, retire, retire_restock,
    return_surplus,
};
use super::{
    documents::{Reservation, SWEEP_AT, StockDocument, SweptStock},
    store::{self, NotApplied, NotReserved, stocks},
};
use crate::{
    domains::catalog,
    flow::OfEach,
    graphql::prelude::*,
    join::join_all,
    locks::lock,
    mongo::{Walk, guarded::Sends, swept::SweptPage},
};

/// Pause before a restock looks again whether the goods are sold.
const LOOK: Duration = Duration::from_millis(50);

/// Result of a reserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// The quantity is reserved for the holder under the tag.
    Reserved,
    /// Less is available than requested. Nothing was reserved.
    Short {
        /// Available quantity.
        available: i64,
    },
    /// The SKU has too many holders. Nothing was reserved.
    Full,
}

/// The counters of a SKU; `None` if there is no such product or variant. One without receipts has a stock of zero. One whose
/// SKU belonged to another one before has the rest of that one's stock.
pub async fn stock(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    let Ok(sku) = input::sku(sku) else { return Ok(None) };
    let found = store::find_counters(app, &sku).await?;
    if found.as_ref().is_some_and(|stock| !stock.deleting) {
        return Ok(found);
    }
    let generation = catalog::operations::generation_on_sale(app, &sku).await?;
    Ok(generation.and_then(|generation| stock_of_generation(found, &sku, &generation)))
}

/// The counters of a product that was read before, as [`stock`] returns them; `None` if it was deleted since.
pub async fn stock_of(
    app: &App,
    sku: &str,
    generation: &str,
) -> Result<Option<StockDocument>, Error> {
    Ok(stock_of_generation(store::find_counters(app, sku).await?, sku, generation))
}

/// The counters of this generation of a product, by the stock document that was read.
fn stock_of_generation(
    found: Option<StockDocument>,
    sku: &str,
    generation: &str,
) -> Option<StockDocument> {
    let stock = found.unwrap_or_else(|| StockDocument::empty(sku));
    (!stock.deleting || stock.is_left_over(generation)).then_some(stock)
}

/// Opens stock that was closed for an earlier generation than the product's. Returns whether it was.
async fn reopen(app: &App, stock: &StockDocument, attempt: &Attempt) -> Result<bool, Error> {
    let generation = catalog::operations::generation_on_sale(app, &stock.sku).await?;
    let is_another = generation.is_some_and(|generation| stock.is_left_over(&generation));
    if is_another {
        store::reopen(app, stock).within(attempt).held().await?;
    }
    Ok(is_another)
}

/// One step of a flow that reserves stock for a holder, or applies what it reserved.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    /// The gateway.
    pub app: &'a App,
    /// Name of the holder.
    pub name: &'a str,
    /// Tag of the step, which the stock remembers.
    pub tag: &'a str,
    /// The attempt.
    pub attempt: &'a Attempt,
}

impl Holder<'_> {
    /// Reserves `quantity`; a repeat changes nothing. `cap` is the maximum number of holders.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over.
    pub async fn reserve(&self, sku: &str, quantity: i64, cap: u32) -> Result<Reserved, Error> {
        let Self { app, name, tag, attempt } = *self;
        let reserving = store::reserving(sku, name, tag, quantity, cap);
        loop {
            return Ok(match stocks(app).write(&reserving, attempt).await? {
                Verdict::Applied(_) | Verdict::Refused(NotReserved::Already, _) => {
                    Reserved::Reserved
                }
                Verdict::Refused(NotReserved::Short, stock) => {
                    Reserved::Short { available: stock.available }
                }
                Verdict::Refused(NotReserved::Full, _) => Reserved::Full,
                Verdict::Refused(NotReserved::Closed, stock)
                    if reopen(app, &stock, attempt).await? =>
                {
                    if attempt.is_over() {
                        return Err(attempt.overdue());
                    }
                    continue;
                }
                Verdict::Missing | Verdict::Refused(NotReserved::Closed, _) => {
                    Reserved::Short { available: 0 }
                }
            });
        }
    }

    /// Reserves several SKUs (none of them twice) with their quantities, in one command. Returns `None` unless this
    /// call reserved everything; then [`Self::reserve`] returns the result for each SKU. [`Sends::Once`] means that no
    /// copy of the command is still on its way.
    pub async fn reserve_each(
        &self,
        lines: &[(&str, i64)],
        cap: u32,
    ) -> Result<Option<Sends>, Error> {
        let reserving =
            |sku: &str, quantity| store::reserving_first(sku, self.name, self.tag, quantity, cap);
        stocks(self.app).change_of_each(of_lines(lines, reserving), self.attempt).await
    }

    /// The available quantity, if it is less than `quantity` and nothing is reserved under the tag.
    pub async fn shortage(&self, sku: &str, quantity: i64) -> Result<Option<i64>, Error> {
        if stocks(self.app).get_settled(sku).await?.is_some_and(|stock| self.has_reserved(&stock)) {
            return Ok(None);
        }
        let available = stock(self.app, sku).await?.map_or(0, |stock| stock.available);
        Ok(Some(available).filter(|available| *available < quantity))
    }

    /// Moves exactly `quantity` out of the reservation, once per tag.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: the apply is still due.
    pub async fn apply(&self, sku: &str, quantity: i64, to: Destination) -> Result<(), Error> {
        let applying = store::applying(sku, self.name, self.tag, quantity, to);
        match stocks(self.app).write(&applying, self.attempt).await? {
            Verdict::Refused(NotApplied::Due, _) => Err(self.attempt.overdue()),
            Verdict::Applied(_) | Verdict::Refused(NotApplied::Already, _) | Verdict::Missing => {
                Ok(())
            }
        }
    }

    /// Like [`Self::apply`] to `Sold`, for several SKUs (none of them twice) with their quantities. First all in one
    /// command; if a guard didn't hold or the outcome is unknown, each SKU on its own. Returns [`Sends::Once`] only if the
    /// first command applied everything and no copy of it is still on its way.
    pub async fn sell_each(&self, lines: &[(&str, i64)]) -> Result<Sends, Error> {
        let to = Destination::Sold;
        let applying =
            |sku: &str, quantity| store::applying(sku, self.name, self.tag, quantity, to);
        let changes = of_lines(lines, applying);
        if let Ok(Some(sends)) = stocks(self.app).change_of_each(changes, self.attempt).await {
            return Ok(sends);
        }
        let applies = lines.iter().map(|(sku, quantity)| self.apply(sku, *quantity, to));
        join_all(applies).await.into_iter().collect::<Result<(), Error>>()?;
        Ok(Sends::Twice)
    }

    /// Returns sold goods to the shelf, once per tag. It needs no reservation. The goods of an order that was placed
    /// a moment ago may not be sold yet; then it waits.
    ///
    /// # Errors
    /// The outcome is unknown, or the attempt is over: the restock is still due.
    pub async fn restock(&self, sku: &str, quantity: i64) -> Result<(), Error> {
        let restocking = store::restocking(sku, self.tag, quantity);
        loop {
            match stocks(self.app).write(&restocking, self.attempt).await? {
                Verdict::Applied(_) | Verdict::Refused(NotApplied::Already, _) => return Ok(()),
                Verdict::Refused(NotApplied::Due, _) if self.attempt.is_over() => {
                    return Err(self.attempt.overdue());
                }
                Verdict::Refused(NotApplied::Due, _) => tokio::time::sleep(LOOK).await,
                Verdict::Missing => {
                    let fault = format!("restock of {sku:?}, which has no stock document");
                    return Err(Error::internal(fault));
                }
            }
        }
    }

    /// Whether something was reserved under the tag. It may have been applied under the same tag since.
    fn has_reserved(&self, stock: &StockDocument) -> bool {
        let mut entries = stock.reservations.iter().filter(|entry| entry.holder == self.name);
        entries.any(|entry| {
            let mut marks = entry.reserve_marks.iter().chain(&entry.apply_marks);
            marks.any(|mark| mark.tag == self.tag)
        })
    }
}

/// Changes of the stock of lines. Lines of one quantity are one change.
fn of_lines<R>(
    lines: &[(&str, i64)],
    change: impl Fn(&str, i64) -> Change<R>,
) -> impl Iterator<Item = OfEach<R>> {
    let mut skus: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for &(sku, quantity) in lines {
        skus.entry(quantity).or_default().push(sku);
    }
    skus.into_iter().filter_map(move |(quantity, skus)| {
        let (first, others) = skus.split_first()?;
        Some(change(first, quantity).also_of(others.iter().copied()))
    })
}

/// Stock documents in which there may be something to sweep since a time in this range, those that have waited longest
/// first. Of their reservations each has only those with a mark from before the end of the range, and those unchanged since
/// before `vanished`.
pub async fn list_to_sweep(
    app: &App,
    range: Range<DateTime>,
    vanished: DateTime,
    limit: i64,
) -> Result<SweptPage<SweptStock>, Error> {
    let (all, by) = (app.collection::<SweptStock>(), (SWEEP_AT, "sweep_at"));
    let mut found = all.list_between(by, range.start, range.end, limit).await?;
    let quiet = range.end;
    let is_due = |entry: &Reservation| {
        let mut marks = entry.reserve_marks.iter().chain(&entry.apply_marks);
        entry.at < vanished || (entry.at < quiet && marks.any(|mark| mark.at < quiet))
    };
    for stock in found.iter_mut().filter_map(|one| one.document.as_mut()) {
        stock.reservations.retain(is_due);
    }
    Ok(found)
}

/// Documents that one pass of the sweep visits in order to correct `sweepAt`.
const VISITED: u32 = 200;

/// Corrects `sweepAt` in the next stock documents, and returns the number of corrected ones. A gateway of a version that
/// doesn't know the field, or one with another `reservation_seconds`, leaves documents where it is missing or too late.
pub async fn correct_next(app: &App) -> Result<u64, Error> {
    let next = app.shared::<Mutex<Walk>>();
    let walk = mem::take(&mut *lock(&next));
    let (corrected, rest) = stocks(app).derive_next(walk, VISITED).await?;
    *lock(&next) = rest.unwrap_or_default();
    Ok(corrected)
}

/// Corrects `sweepAt` in all stock documents, and returns the number of corrected ones. It may be interrupted and
/// repeated, and gateways may serve meanwhile.
///
/// # Errors
/// Documents that were corrected before the failure stay corrected.
pub async fn correct_all(app: &App) -> Result<u64, Error> {
    let (mut sum, mut walk) = (0, Some(Walk::default()));
    while let Some(next) = walk {
        let (corrected, rest) = stocks(app).derive_next(next, 1_000).await?;
        (sum, walk) = (sum + corrected, rest);
    }
    Ok(sum)
}

/// The reservations of one holder among these SKUs, each with its SKU.
pub async fn reservations_of(
    app: &App,
    holder: &str,
    skus: &[&str],
) -> Result<Vec<(String, Reservation)>, Error> {
    let found = store::list_of_holder(app, holder, skus).await?;
    let entries = found.into_iter().flat_map(|stock| {
        let sku = stock.sku;
        stock.reservations.into_iter().map(move |entry| (sku.clone(), entry))
    });
    Ok(entries.filter(|(_, entry)| entry.holder == holder).collect())
}
