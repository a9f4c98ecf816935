//! Goods that come in.

use crate::{
    app::App,
    domains::{
        catalog,
        inventory::{documents::StockDocument, store, types::ReceiveStockResult},
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
    let Some(product) = catalog::operations::product(app, sku).await? else {
        return Err(NotFound::new("product", sku).into());
    };
    loop {
        if let Some(stock) = store::receive(app, sku, quantity, &op, &run).await.decided()? {
            return Ok(stock);
        }
        // Refused: the first receipt of this SKU, a repeat, or a reason to tell.
        if let Some(stock) = store::find(app, sku).await? {
            // Closed with an earlier product of this SKU: opened again for the one that is there now.
            if stock.deleting
                && stock.deleted.as_ref() != Some(&product.get().incarnation.to_owned())
            {
                if run.is_over() {
                    return Err(run.overdue().into());
                }
                store::revive(app, sku, stock.deleted.as_ref(), &run).await.decided()?;
                continue;
            }
            match op.standing(&op.id, &stock.ops) {
                Standing::Applied => return Ok(stock),
                Standing::OtherInput => return Err(Conflict::other_input().into()),
                Standing::Void => return Err(Conflict::given_up().into()),
                Standing::New if stock.deleting => return Err(NotFound::new("product", sku).into()),
                Standing::New if is_full(&stock.ops, run.now(), app.bounds()) => {
                    let reason = "too many receipts of this SKU within the hour";
                    return Err(Error::RateLimited(reason).into());
                }
                Standing::New if run.is_over() => return Err(run.overdue().into()),
                // The first receipt came after the refusal.
                Standing::New => continue,
            }
        }
        let first = first_receipt(sku, quantity, &op, &run);
        if store::insert(app, first.clone()).await.decided()?.is_some() {
            return Ok(first);
        }
        // Another first receipt came at the same moment: this one is the second.
    }
}

fn first_receipt(sku: &str, quantity: i64, op: &Op, run: &Run) -> StockDocument {
    StockDocument {
        sku: sku.to_owned(),
        available: quantity,
        sold: 0,
        received: quantity,
        reservations: Vec::new(),
        ops: vec![OpRecord {
            tag: op.id.clone(),
            id: Some(op.id.clone()),
            input: Some(op.input.clone()),
            void: false,
            at: run.now(),
        }],
        restocks: Vec::new(),
        deleting: false,
        deleted: None,
        deletion_due: None,
        v: Version,
    }
}
