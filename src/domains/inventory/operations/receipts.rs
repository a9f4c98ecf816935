//! Receipts of goods, and what is written off: booking them once, and moving their records.

use super::super::{
    documents::{ImportedReceipt, ReceiptDocument, StockDocument},
    store::{self, NotReceived, Once, stocks},
    types::{
        ReceiveStockInput, ReceiveStockResult, WriteOffShort, WriteOffStockInput,
        WriteOffStockResult,
    },
};
use crate::{
    domains::catalog,
    flow::OpRecord,
    graphql::{prelude::*, refusals::Refusal},
    mongo::Version,
};

/// Maximum quantity of one receipt.
pub(in super::super) const MAX: i64 = 1_000_000_000;
/// Explanation for a SKU whose stock holds the maximum number of records of receipts.
const TOO_MANY_RECEIPTS: &str = "too many goods receipts of this SKU";

/// When a receipt was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    /// By this call.
    Now,
    /// By an earlier one: this call has changed nothing.
    Before,
}

/// Why a receipt isn't booked.
#[derive(Debug)]
pub(in super::super) enum Refused {
    /// There is no such product or variant.
    NoProduct,
    /// It was booked before with another quantity.
    OtherInput,
    /// The stock has the maximum number of imported receipts.
    Full,
    /// Fewer pieces are free than are to be written off.
    Short {
        /// Number of free pieces.
        available: i64,
    },
}

impl Refusal for Refused {}

/// Books a receipt of goods, once per idempotency key.
pub async fn receive_stock(cx: Cx<'_>, input: ReceiveStockInput) -> Answer<ReceiveStockResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = &cx.op(&[subject, "receiveStock"], &input);
    // Without an idempotency key of the client the call can't be a repeat.
    let once = Once::Op { op, may_be_repeat: input.idempotency_key.is_some() };
    let booked = book(&cx, &input.sku, input.quantity.into(), once).await;
    booked.map(|(stock, _)| stock).map_err(|stop| match stop {
        Stop::Refused(Refused::NoProduct) => NotFound::new("product", &*input.sku).into(),
        Stop::Refused(Refused::OtherInput) => Conflict::other_input().into(),
        // Only a call that writes off can be short.
        Stop::Refused(Refused::Full | Refused::Short { .. }) => {
            Error::rate_limited(TOO_MANY_RECEIPTS).into()
        }
        Stop::Failed(error) => error.into(),
    })
}

/// Takes free pieces out of stock that can't be sold, once per idempotency key. Reserved pieces aren't touched.
pub async fn write_off_stock(cx: Cx<'_>, input: WriteOffStockInput) -> Answer<WriteOffStockResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = &cx.op(&[subject, "writeOffStock"], &input);
    let once = Once::Op { op, may_be_repeat: input.idempotency_key.is_some() };
    let (sku, quantity) = (&*input.sku, i64::from(input.quantity));
    let booked = book(&cx, sku, -quantity, once).await;
    booked.map(|(stock, _)| stock).map_err(|stop| match stop {
        Stop::Refused(Refused::NoProduct) => NotFound::new("product", sku).into(),
        Stop::Refused(Refused::OtherInput) => Conflict::other_input().into(),
        Stop::Refused(Refused::Full) => Error::rate_limited(TOO_MANY_RECEIPTS).into(),
        Stop::Refused(Refused::Short { available }) => {
            WriteOffShort::new(sku, input.quantity, available).into()
        }
        Stop::Failed(error) => error.into(),
    })
}

/// Books a receipt of checked input, once. A negative quantity is written off.
///
/// # Errors
/// It is refused, the outcome is unknown, or the attempt is over: repeat the call.
pub(in super::super) async fn book(
    app: &App,
    sku: &str,
    quantity: i64,
    once: Once<'_>,
) -> Result<(StockDocument, Booked), Stop<Refused>> {
    let read = || async {
        let attempt = app.begin().await?;
        let moved = async {
            let Once::Op { op, may_be_repeat: true } = once else { return Ok(None) };
            app.collection::<ReceiptDocument>().get_settled(&id(sku, &op.id)).await
        };
        let generation = catalog::operations::generation_on_sale(app, sku);
        let (generation, moved) = tokio::try_join!(generation, moved)?;
        Ok((attempt, (generation.ok_or(Refused::NoProduct)?, moved)))
    };
    decide(read, |attempt: Attempt, (generation, moved): (String, Option<_>)| async move {
        if let (Once::Op { op, .. }, Some(ReceiptDocument { input, .. })) = (once, moved) {
            if input.as_ref() != Some(&op.input) {
                return Err(Refused::OtherInput.into());
            }
            let stock = store::find_counters(app, sku).await?;
            let stock = stock.ok_or_else(|| Error::internal("a receipt without its stock"))?;
            return Ok(Step::Done((stock, Booked::Before)));
        }
        let receipt = store::receive(app, sku, quantity, once);
        let write = stocks(app).change(receipt.clone()).answering(store::received());
        if let Some(mut stock) = write.within(&attempt).after().await? {
            move_on(app, sku, std::mem::take(&mut stock.ops));
            return Ok(Step::Done((stock, Booked::Now)));
        }
        // A refusal: the stock document doesn't exist, the receipt is a repeat, or there is a reason to
        // report.
        let Some(stock) = stocks(app).get_settled(sku).await? else {
            if quantity < 0 {
                return Err(Refused::Short { available: 0 }.into());
            }
            let first = first_receipt(sku, quantity, once, &attempt);
            // If another first receipt was faster, this one is added to it.
            let inserted = stocks(app).insert(&first).await.decided()?;
            return Ok(Step::or_again(inserted.map(|()| (first, Booked::Now))));
        };
        if stock.is_left_over(&generation) {
            store::reopen(app, &stock).within(&attempt).held().await?;
            return Ok(Step::Again);
        }
        if let Once::Op { op, .. } = once
            && op.is_committed(&stock.ops).map_err(|_other| Refused::OtherInput)?
        {
            return Ok(Step::Done((stock, Booked::Before)));
        }
        match (receipt.broken(&stock, attempt.now()), once) {
            (Some(NotReceived::Booked), Once::Receipt(name)) => {
                let mut earlier = stock.imported.iter().filter(|earlier| earlier.receipt == name);
                let is_same = earlier.all(|earlier| earlier.quantity == quantity);
                if !is_same {
                    return Err(Refused::OtherInput.into());
                }
                Ok(Step::Done((stock, Booked::Before)))
            }
            (Some(NotReceived::Closed), _) => Err(Refused::NoProduct.into()),
            (Some(NotReceived::Full), _) => Err(Refused::Full.into()),
            (Some(NotReceived::Short), _) => {
                Err(Refused::Short { available: stock.available }.into())
            }
            (_, once) => {
                if matches!(once, Once::Op { .. }) && !attempt.is_over() {
                    store::bounds(app).demand_room(&stock.ops, &attempt, TOO_MANY_RECEIPTS)?;
                }
                // The stock document was created after the refusal.
                Ok(Step::Again)
            }
        }
    })
    .await
}

/// Moves records of receipts into documents of their own, in the background. If that fails, the next
/// hundredth receipt moves them.
fn move_on(app: &App, sku: &str, ops: Vec<OpRecord>) {
    let own: Vec<OpRecord> = ops.into_iter().filter(|record| record.kept.is_none()).collect();
    if own.is_empty() {
        return;
    }
    let (app, sku) = (app.clone(), sku.to_owned());
    app.clone().in_background("moving the records of receipts", async move {
        let receipt = |record: &OpRecord| {
            let (id, input) = (id(&sku, record.id.as_ref()?), record.input.clone());
            Some(ReceiptDocument { id, input, at: record.at, v: Version })
        };
        let receipts = own.iter().filter_map(receipt).collect();
        app.collection::<ReceiptDocument>().insert_many(receipts).await?;
        let ids: Vec<String> = own.into_iter().filter_map(|record| record.id).collect();
        store::note_kept(&app, &sku, &ids).held().await.map(|_is_stocked| ())
    });
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
