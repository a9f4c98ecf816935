//! Receipts of goods: booking them once, and moving their records.

use super::is_left_over;
use crate::{
    app::App,
    domains::{
        catalog,
        inventory::{
            documents::{ImportedReceipt, ReceiptDocument, StockDocument},
            store::{self, Once, RECEIPTS},
            types::ReceiveStockResult,
        },
    },
    error::Error,
    flow::{Attempt, Op, OpRecord, OtherInput},
    graphql::{
        input,
        refusals::{Conflict, NotFound, Stop},
    },
    mongo::Version,
};

/// Maximum quantity of one receipt.
pub(in super::super) const MOST: i64 = 1_000_000_000;

/// Why a receipt is refused.
#[derive(Debug)]
pub(in super::super) enum Refused {
    /// There is no such product.
    NoProduct,
    /// It was booked before with another quantity.
    OtherInput,
    /// The stock has the maximum number of records of receipts.
    Full,
}

/// Books a receipt of goods, once per idempotency key.
pub async fn receive(
    app: &App,
    subject: &str,
    sku: &str,
    quantity: i64,
    idempotency_key: Option<&async_graphql::ID>,
) -> Result<StockDocument, Stop<ReceiveStockResult>> {
    let sku = &input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST)?;
    let op = &input::op(app, &[subject, "receiveStock"], idempotency_key, &(sku, quantity))?;
    // Without an idempotency key of the client the call can't be a repeat.
    let once = Once::Op { op, may_be_repeat: idempotency_key.is_some() };
    match book(app, sku, quantity, once).await? {
        Ok(stock) => Ok(stock),
        Err(Refused::NoProduct) => Err(NotFound::new("product", sku).into()),
        Err(Refused::OtherInput) => Err(Conflict::other_input().into()),
        Err(Refused::Full) => {
            Err(Error::RateLimited("too many receipts of this SKU at the same time").into())
        }
    }
}

/// Books a receipt of checked input, once.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: repeat the call.
pub(in super::super) async fn book(
    app: &App,
    sku: &str,
    quantity: i64,
    once: Once<'_>,
) -> Result<Result<StockDocument, Refused>, Error> {
    let attempt = app.begin().await?;
    let product = catalog::operations::product(app, sku);
    let (product, moved) = tokio::try_join!(product, find_moved(app, sku, once))?;
    let Some(product) = product else { return Ok(Err(Refused::NoProduct)) };
    if let Some((op, receipt)) = moved {
        return repeated(app, sku, op, &receipt).await;
    }
    loop {
        if let Some(mut stock) =
            store::receive(app, sku, quantity, once, &attempt).await.decided()?
        {
            move_on(app, sku, std::mem::take(&mut stock.ops));
            return Ok(Ok(stock));
        }
        // A refusal: the stock document doesn't exist, the receipt is a repeat, or there is a reason to
        // report.
        if let Some(stock) = store::find(app, sku).await? {
            if is_left_over(&stock, product.get().incarnation) {
                if attempt.is_over() {
                    return Err(attempt.overdue());
                }
                store::revive(app, sku, stock.deleted.as_ref(), &attempt).await.decided()?;
            } else if let Some(explained) = explained(app, stock, quantity, once, &attempt)? {
                return Ok(explained);
            }
            continue;
        }
        let first = first_receipt(sku, quantity, once, &attempt);
        if store::insert(app, first.clone()).await.decided()?.is_some() {
            return Ok(Ok(first));
        }
        // Another first receipt was faster, so this one is added to it.
    }
}

/// Result of a refused receipt according to the stock as read; `None` if it can be tried again.
fn explained(
    app: &App,
    stock: StockDocument,
    quantity: i64,
    once: Once<'_>,
    attempt: &Attempt,
) -> Result<Option<Result<StockDocument, Refused>>, Error> {
    let full = "too many receipts of this SKU at the same time";
    let is_applied = match once {
        Once::Op { op, .. } => op.is_applied(&stock.ops),
        Once::Receipt(name) => {
            match stock.imported.iter().find(|imported| imported.receipt == name) {
                Some(imported) if imported.quantity == quantity => Ok(true),
                Some(_) => Err(OtherInput),
                None => Ok(false),
            }
        }
    };
    Ok(match (is_applied, once) {
        (Ok(true), _) => Some(Ok(stock)),
        (Err(OtherInput), _) => Some(Err(Refused::OtherInput)),
        _ if stock.deleting => Some(Err(Refused::NoProduct)),
        (_, Once::Receipt(_)) if stock.imported.len() >= RECEIPTS => Some(Err(Refused::Full)),
        _ if attempt.is_over() => return Err(attempt.overdue()),
        (_, Once::Op { .. }) => {
            store::bounds(app).demand_room(&stock.ops, attempt, full)?;
            None
        }
        // The stock document was created after the refusal.
        _ => None,
    })
}

/// The record of the op outside the stock document, if there is one.
async fn find_moved<'a>(
    app: &App,
    sku: &str,
    once: Once<'a>,
) -> Result<Option<(&'a Op, ReceiptDocument)>, Error> {
    let Once::Op { op, may_be_repeat: true } = once else { return Ok(None) };
    let receipt = store::find_receipt(app, &id(sku, &op.id)).await?;
    Ok(receipt.map(|receipt| (op, receipt)))
}

/// The result of a repeat whose record is outside the stock document.
async fn repeated(
    app: &App,
    sku: &str,
    op: &Op,
    receipt: &ReceiptDocument,
) -> Result<Result<StockDocument, Refused>, Error> {
    if receipt.input.as_ref() != Some(&op.input) {
        return Ok(Err(Refused::OtherInput));
    }
    let stock = store::find_counters(app, sku).await?;
    stock.map(Ok).ok_or_else(|| Error::internal("a receipt without its stock"))
}

/// Moves records of receipts into documents of their own, in the background. If that fails, the next
/// hundredth receipt moves them.
fn move_on(app: &App, sku: &str, ops: Vec<OpRecord>) {
    let own: Vec<OpRecord> = ops.into_iter().filter(|record| record.kept.is_none()).collect();
    if own.is_empty() {
        return;
    }
    let (app, sku) = (app.clone(), sku.to_owned());
    app.clone().behind("what is remembered of receipts", async move {
        let receipts = own.iter().filter_map(|record| receipt(&sku, record)).collect();
        store::insert_receipts(&app, receipts).await?;
        let ids: Vec<String> = own.into_iter().filter_map(|record| record.id).collect();
        store::note_kept(&app, &sku, &ids).await.decided()?;
        Ok(())
    });
}

fn receipt(sku: &str, record: &OpRecord) -> Option<ReceiptDocument> {
    let id = id(sku, record.id.as_ref()?);
    Some(ReceiptDocument { id, input: record.input.clone(), at: record.at, v: Version })
}

/// `_id` of a receipt's record. It includes the SKU, because the same idempotency key may be used for several SKUs.
fn id(sku: &str, op: &str) -> String {
    format!("{sku}:{op}")
}

fn first_receipt(sku: &str, quantity: i64, once: Once<'_>, attempt: &Attempt) -> StockDocument {
    let mut stock =
        StockDocument { available: quantity, received: quantity, ..StockDocument::empty(sku) };
    match once {
        Once::Op { op, .. } => stock.ops.push(OpRecord {
            tag: op.id.clone(),
            id: Some(op.id.clone()),
            input: Some(op.input.clone()),
            void: false,
            at: attempt.now(),
            kept: None,
        }),
        Once::Receipt(name) => {
            let receipt = name.to_owned();
            stock.imported.push(ImportedReceipt { receipt, quantity, at: attempt.now() });
        }
    }
    stock
}
