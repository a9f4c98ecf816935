//! The rules of the inventory.

mod receipts;

pub use receipts::receive;
pub(super) use receipts::{MOST, Refused, book};

use futures_util::future::join_all;
use mongodb::bson::DateTime;

pub use super::store::{Age, Destination};
use super::{
    documents::{Reservation, StockDocument, Tag},
    store,
    types::DeleteProductResult,
};
use crate::{
    app::App,
    domains::catalog,
    error::Error,
    graphql::{
        input,
        refusals::{InUse, NotFound, Stop},
    },
    mongo::{Outcome, Run},
};

/// What became of a take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The goods are the holder's, under the tag.
    Taken,
    /// Less is there than asked for; nothing was taken.
    Short {
        /// What is there.
        available: i64,
    },
    /// Too many holders; nothing was taken.
    Full,
}

/// The counters of a SKU; `None` where there is no such product. A product of which nothing ever came
/// in has none of it, and one whose SKU another product had before has what was left of that one.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn stock(app: &App, sku: &str) -> Result<Option<StockDocument>, Error> {
    let Ok(sku) = input::sku(sku) else { return Ok(None) };
    let found = store::find_counters(app, &sku).await?;
    if found.as_ref().is_some_and(|stock| !stock.deleting) {
        return Ok(found);
    }
    let Some(product) = catalog::operations::product(app, &sku).await? else { return Ok(None) };
    let stock = found.unwrap_or_else(|| StockDocument::empty(&sku));
    let is_its_own = !stock.deleting || is_left_over(&stock, product.get().incarnation);
    Ok(Some(stock).filter(|_| is_its_own))
}

/// Whether the stock was closed with another product than this incarnation.
fn is_left_over(stock: &StockDocument, incarnation: &str) -> bool {
    stock.deleting && stock.deleted.as_deref() != Some(incarnation)
}

/// Opens stock that was closed with an earlier product than the one that is there now; says whether
/// it was.
async fn reopen(app: &App, stock: &StockDocument, run: &Run) -> Result<bool, Error> {
    let product = catalog::operations::product(app, &stock.sku).await?;
    let is_another = product.is_some_and(|product| is_left_over(stock, product.get().incarnation));
    if is_another {
        // Refused: another was quicker, or that product is deleted as well. Both show in the stock.
        store::revive(app, &stock.sku, stock.deleted.as_ref(), run).await.decided()?;
    }
    Ok(is_another)
}

/// Deletes a product. Its stock decides: the mark is guarded by nothing being reserved. The catalog
/// follows, see the room's `mod.rs`.
///
/// # Errors
/// A refusal, or trouble.
pub async fn delete_product(app: &App, sku: &str) -> Result<String, Stop<DeleteProductResult>> {
    let sku = input::sku(sku)?;
    let run = app.begin().await?;
    // One that is deleted and not removed yet goes this way again: the first call may have been cut.
    let Some(incarnation) = &catalog::operations::incarnation(app, &sku).await? else {
        return Err(NotFound::new("product", sku).into());
    };
    while store::mark_deleted(app, &sku, incarnation, &run).await.decided()?.is_none() {
        match store::find(app, &sku).await? {
            None if close_unstocked(app, &sku, incarnation, &run).await? => break,
            Some(stock) if stock.reservations.iter().any(|entry| entry.quantity > 0) => {
                let message = "carts or checkouts hold some of it";
                return Err(InUse::because(message).into());
            }
            _ if run.is_over() => return Err(run.overdue().into()),
            // A first receipt came, or some was held for a moment: once more.
            _ => {}
        }
    }
    follow_deletion(app, &sku, incarnation, &run).await?;
    Ok(sku)
}

/// A product that never had stock is closed by a stock document of its own: a first receipt that is
/// under way then finds it there. Says whether it came first.
async fn close_unstocked(
    app: &App,
    sku: &str,
    incarnation: &str,
    run: &Run,
) -> Result<bool, Error> {
    let closed = StockDocument {
        deleting: true,
        deleted: Some(incarnation.to_owned()),
        deletion_due: Some(run.now()),
        ..StockDocument::empty(sku)
    };
    Ok(store::insert(app, closed).await.decided()?.is_some())
}

/// Carries a decided deletion into the catalog, and notes that it is there.
pub(super) async fn follow_deletion(
    app: &App,
    sku: &str,
    incarnation: &str,
    run: &Run,
) -> Result<(), Error> {
    catalog::operations::delete(app, sku, incarnation, run).await?;
    store::note_deletion(app, sku, incarnation).await.decided()?;
    Ok(())
}

/// Takes `quantity` for `holder` under `tag`, repeatable. `cap` is how many holders there may be.
///
/// # Errors
/// The outcome is unknown, or the run is over.
pub async fn take(
    app: &App,
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
    run: &Run,
) -> Result<Taken, Error> {
    loop {
        if store::take(app, sku, holder, tag, quantity, cap, run).await.decided()?.is_some() {
            return Ok(Taken::Taken);
        }
        let Some(stock) = store::find(app, sku).await? else {
            return Ok(Taken::Short { available: 0 });
        };
        match explained(&stock, holder, tag, quantity, cap) {
            Some(Taken::Short { .. }) if stock.deleting && reopen(app, &stock, run).await? => {}
            Some(taken) => return Ok(taken),
            // Nothing of that holds now: it was so for a moment.
            None => {}
        }
        if run.is_over() {
            return Err(run.overdue());
        }
    }
}

/// How the stock as read stands to a take that was refused.
fn explained(
    stock: &StockDocument,
    holder: &str,
    tag: &str,
    quantity: i64,
    cap: u32,
) -> Option<Taken> {
    let entry = entry(stock, holder);
    let available = if stock.deleting { 0 } else { stock.available };
    if has_taken(entry, tag) {
        Some(Taken::Taken)
    } else if available < quantity {
        Some(Taken::Short { available })
    } else if entry.is_none() && stock.reservations.len() >= cap as usize {
        Some(Taken::Full)
    } else {
        None
    }
}

fn has_taken(entry: Option<&Reservation>, tag: &str) -> bool {
    entry.is_some_and(|entry| entry.takes.iter().any(|take| take.tag == tag))
}

/// How many are free, where that is less than `quantity` and the holder hasn't taken any under `tag`.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn shortage(
    app: &App,
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
) -> Result<Option<i64>, Error> {
    let taken = store::find(app, sku).await?;
    if has_taken(taken.as_ref().and_then(|stock| entry(stock, holder)), tag) {
        return Ok(None);
    }
    let available = stock(app, sku).await?.map_or(0, |stock| stock.available);
    Ok(Some(available).filter(|available| *available < quantity))
}

/// As [`take`], of several SKUs (none of them twice) with their quantities, in one command. Says whether everything
/// was taken; else [`take`] tells of each how it stands.
///
/// # Errors
/// The outcome is unknown.
pub async fn take_each(
    app: &App,
    lines: &[(&str, i64)],
    holder: &str,
    tag: &str,
    cap: u32,
    run: &Run,
) -> Result<bool, Error> {
    store::take_each(app, lines, holder, tag, cap, run).await
}

/// Returns what a take took that its decider has given up. Nothing to return is as good.
///
/// # Errors
/// The outcome is unknown.
pub async fn release(app: &App, sku: &str, holder: &str, tag: &str) -> Result<(), Error> {
    store::release(app, sku, holder, tag).await.decided()?;
    Ok(())
}

/// Moves exactly `quantity` out of the holder's reservation, once per tag.
///
/// # Errors
/// The outcome is unknown, or the run is over: the give is still due.
pub async fn give(
    app: &App,
    sku: &str,
    holder: &str,
    tag: &str,
    quantity: i64,
    to: Destination,
    run: &Run,
) -> Result<(), Error> {
    if store::give(app, sku, holder, tag, quantity, to, run).await.decided()?.is_some() {
        return Ok(());
    }
    let stock = store::find(app, sku).await?;
    match stock.as_ref().and_then(|stock| entry(stock, holder)) {
        // An entry goes only when everything was given out of it, or nothing can repeat a give to it.
        None => Ok(()),
        Some(entry) if entry.gifts.iter().any(|gift| gift.tag == tag) => Ok(()),
        Some(_) => Err(run.overdue()),
    }
}

/// As [`give`], of several SKUs (none of them twice) with their quantities.
///
/// # Errors
/// As [`give`], for any of them.
pub async fn give_each(
    app: &App,
    lines: &[(&str, i64)],
    holder: &str,
    tag: &str,
    to: Destination,
    run: &Run,
) -> Result<(), Error> {
    // In one command; where that didn't do for all, or nobody knows, each is looked at by itself.
    if let Ok(true) = store::give_each(app, lines, holder, tag, to, run).await {
        return Ok(());
    }
    let gives = lines.iter().map(|(sku, quantity)| give(app, sku, holder, tag, *quantity, to, run));
    join_all(gives).await.into_iter().collect()
}

/// Returns the surplus of an entry that is still as it was read; says whether it was.
///
/// # Errors
/// The outcome is unknown.
pub async fn return_surplus(
    app: &App,
    sku: &str,
    read: &Reservation,
    surplus: i64,
) -> Result<bool, Error> {
    Ok(store::return_surplus(app, sku, read, surplus).await.decided()?.is_some())
}

/// Forgets what the stock remembers of a holder that takes nothing any more, where it holds nothing; says whether
/// it held nothing of each. A mark keeps a give from being made twice: out of an entry that holds nothing none
/// can be made.
///
/// # Errors
/// The outcome is unknown.
pub async fn forget_each(app: &App, skus: &[&str], holder: &str, run: &Run) -> Result<bool, Error> {
    store::forget_each(app, skus, holder, run).await
}

/// Forgets marks older than `before` of flows that can't be repeated any more.
pub async fn retire(
    app: &App,
    sku: &str,
    holder: &str,
    tags: &[String],
    before: DateTime,
) -> Outcome<()> {
    store::retire(app, sku, holder, tags, before).await
}

/// Puts sold goods back on the shelf, once per tag.
///
/// # Errors
/// The outcome is unknown, or the run is over: the restock is still due.
pub async fn restock(
    app: &App,
    sku: &str,
    tag: &str,
    quantity: i64,
    run: &Run,
) -> Result<(), Error> {
    if store::restock(app, sku, tag, quantity, run).await.decided()?.is_some() {
        return Ok(());
    }
    match store::find(app, sku).await? {
        Some(stock) if stock.restocks.iter().any(|restock| restock.tag == tag) => Ok(()),
        Some(_) => Err(run.overdue()),
        None => Err(Error::internal(format!("restock of {sku:?}, which has no stock document"))),
    }
}

/// Forgets restocks that their orders have noted for good.
pub async fn retire_restocks(app: &App, sku: &str, tags: &[String]) -> Outcome<()> {
    store::retire_restocks(app, sku, tags).await
}

/// A page of reservations, each with its SKU, and from where the next page begins.
pub type Page = (Vec<(String, Reservation)>, Option<DateTime>);

/// Stock documents per page.
const PAGE: u32 = 100;

/// Reservations that nothing touched since `before` and that are of an age from `from` on, oldest
/// first. A sweep that begins at [`BEGINNING`] and goes on with the answer's second part sees all
/// of them; one that changes meanwhile may come twice or be left to the next sweep.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn page_by_age(
    app: &App,
    age: Age,
    from: DateTime,
    before: DateTime,
) -> Result<Page, Error> {
    let stocks = store::list_by_age(app, age, from, before, i64::from(PAGE)).await?;
    let is_full = stocks.len() >= PAGE as usize;
    let mut last = from;
    let mut entries = Vec::new();
    for stock in stocks {
        let mut oldest = None;
        for entry in stock.reservations {
            let of_age = moment(&entry, age, from, before);
            oldest = [oldest, of_age].into_iter().flatten().min();
            if of_age.is_some() && entry.at < before {
                entries.push((stock.sku.clone(), entry));
            }
        }
        last = last.max(oldest.unwrap_or(from));
    }
    // A page of one moment only would come again for ever.
    let next = if last > from { last } else { DateTime::from_millis(last.timestamp_millis() + 1) };
    Ok((entries, is_full.then_some(next)))
}

/// Before everything.
pub const BEGINNING: DateTime = DateTime::from_millis(0);

/// The oldest moment of the entry that is within the range.
fn moment(entry: &Reservation, age: Age, from: DateTime, before: DateTime) -> Option<DateTime> {
    let oldest = |marks: &[Tag]| {
        marks.iter().map(|mark| mark.at).filter(|at| (from..before).contains(at)).min()
    };
    match age {
        Age::Entry => Some(entry.at).filter(|at| (from..before).contains(at)),
        Age::Take => oldest(&entry.takes),
        Age::Gift => oldest(&entry.gifts),
    }
}

/// What one holder has, with the SKU.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn reservations_of(app: &App, holder: &str) -> Result<Vec<(String, Reservation)>, Error> {
    let stocks = store::list_of_holder(app, holder).await?;
    let entries = stocks.into_iter().flat_map(|stock| {
        let sku = stock.sku;
        stock.reservations.into_iter().map(move |entry| (sku.clone(), entry))
    });
    Ok(entries.filter(|(_, entry)| entry.holder == holder).collect())
}

/// Calls `each` for the stock of every SKU, for the invariants.
///
/// # Errors
/// `Unavailable` or `Internal`, or what `each` says.
pub async fn for_each(
    app: &App,
    each: impl FnMut(StockDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    store::for_each(app, each).await
}

fn entry<'a>(stock: &'a StockDocument, holder: &str) -> Option<&'a Reservation> {
    stock.reservations.iter().find(|entry| entry.holder == holder)
}
