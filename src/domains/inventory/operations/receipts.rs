//! Goods that come in.

use super::is_left_over;
use crate::{
    app::App,
    domains::{
        catalog,
        inventory::{
            documents::{ReceiptDocument, StockDocument},
            store,
            types::ReceiveStockResult,
        },
    },
    error::Error,
    graphql::{
        input,
        refusals::{Conflict, NotFound, Stop},
    },
    mongo::{
        Run, Version,
        flow::{Op, OpRecord, Standing, is_full},
    },
};

/// Most that one receipt brings.
const MOST: i64 = 1_000_000_000;

/// Goods came in. Once per op id.
///
/// # Errors
/// A refusal, or trouble.
pub async fn receive(
    app: &App,
    subject: &str,
    sku: &str,
    quantity: i64,
    op_id: Option<&async_graphql::ID>,
) -> Result<StockDocument, Stop<ReceiveStockResult>> {
    let sku = &input::sku(sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST)?;
    let op = input::op(app, &[subject, "receiveStock"], op_id, &(sku, quantity))?;
    let run = app.begin().await?;
    // Without an op id of the client's nothing can be a repeat.
    let moved = async {
        if op_id.is_some() { store::find_receipt(app, &id(sku, &op.id)).await } else { Ok(None) }
    };
    let (product, moved) = tokio::try_join!(catalog::operations::product(app, sku), moved)?;
    let Some(product) = product else { return Err(NotFound::new("product", sku).into()) };
    if let Some(receipt) = moved {
        return repeated(app, sku, &op, &receipt).await;
    }
    loop {
        if let Some(mut stock) = store::receive(app, sku, quantity, &op, &run).await.decided()? {
            move_on(app, sku, std::mem::take(&mut stock.ops));
            return Ok(stock);
        }
        // Refused: the first receipt of this SKU, a repeat, or a reason to tell.
        if let Some(stock) = store::find(app, sku).await? {
            if is_left_over(&stock, product.get().incarnation) {
                if run.is_over() {
                    return Err(run.overdue().into());
                }
                store::revive(app, sku, stock.deleted.as_ref(), &run).await.decided()?;
            } else if let Some(applied) = explained(app, stock, &op, &run)? {
                return Ok(applied);
            }
            continue;
        }
        let first = first_receipt(sku, quantity, &op, &run);
        if store::insert(app, first.clone()).await.decided()?.is_some() {
            return Ok(first);
        }
        // Another first receipt came at the same moment: this one is the second.
    }
}

/// Why the stock took no receipt: it was applied before. `None` where it can be tried again.
fn explained<U>(
    app: &App,
    stock: StockDocument,
    op: &Op,
    run: &Run,
) -> Result<Option<StockDocument>, Stop<U>>
where
    U: From<Conflict> + From<NotFound>,
{
    match op.standing(&op.id, &stock.ops) {
        Standing::Applied => Ok(Some(stock)),
        Standing::OtherInput => Err(Conflict::other_input().into()),
        Standing::Void => Err(Conflict::given_up().into()),
        Standing::New if stock.deleting => Err(NotFound::new("product", &stock.sku).into()),
        Standing::New if is_full(&stock.ops, run.now(), store::bounds(app)) => {
            Err(Error::RateLimited("too many receipts of this SKU at the same time").into())
        }
        Standing::New if run.is_over() => Err(run.overdue().into()),
        // The first receipt came after the refusal.
        Standing::New => Ok(None),
    }
}

/// A repeat of a receipt that the stock itself doesn't remember any more.
async fn repeated(
    app: &App,
    sku: &str,
    op: &Op,
    receipt: &ReceiptDocument,
) -> Result<StockDocument, Stop<ReceiveStockResult>> {
    if receipt.input.as_ref() != Some(&op.input) {
        return Err(Conflict::other_input().into());
    }
    let stock = store::find_counters(app, sku).await?;
    stock.ok_or_else(|| Error::internal("a receipt without its stock").into())
}

/// Moves what the stock remembers of receipts into documents of their own, behind the answer. What is
/// left is moved with the next hundred.
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

/// `_id` of a receipt: the same op id may have been used for several SKUs.
fn id(sku: &str, op: &str) -> String {
    format!("{sku}:{op}")
}

fn first_receipt(sku: &str, quantity: i64, op: &Op, run: &Run) -> StockDocument {
    let applied = OpRecord {
        tag: op.id.clone(),
        id: Some(op.id.clone()),
        input: Some(op.input.clone()),
        void: false,
        at: run.now(),
        kept: None,
    };
    let (available, received, ops) = (quantity, quantity, vec![applied]);
    StockDocument { available, received, ops, ..StockDocument::empty(sku) }
}
