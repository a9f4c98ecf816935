//! Goods that come in.

use crate::{
    app::App,
    domains::{
        catalog,
        inventory::{
            documents::{ImportedReceipt, StockDocument},
            store::{self, Once, RECEIPTS},
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
        flow::{OpRecord, Standing, is_full},
    },
};

/// Most that one receipt brings.
pub(in super::super) const MOST: i64 = 1_000_000_000;

/// Why a receipt isn't booked.
#[derive(Debug)]
pub(in super::super) enum Refused {
    /// There is no such product.
    NoProduct,
    /// It was booked before with another quantity.
    OtherInput,
    /// It was given up before.
    GivenUp,
    /// The stock remembers as many imported receipts as it can.
    Full,
}

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
    let sku = &input::key("sku", sku)?;
    let quantity = input::within("quantity", quantity, 1..=MOST)?;
    let op = input::op(app, &[subject, "receiveStock"], op_id, &(sku, quantity))?;
    match book(app, sku, quantity, Once::Op(&op)).await? {
        Ok(stock) => Ok(stock),
        Err(Refused::NoProduct) => Err(NotFound::new("product", sku).into()),
        Err(Refused::OtherInput) => Err(Conflict::other_input().into()),
        Err(Refused::GivenUp) => Err(Conflict::given_up().into()),
        Err(Refused::Full) => {
            Err(Error::RateLimited("too many receipts of this SKU within the hour").into())
        }
    }
}

/// Books a receipt of checked input, once.
///
/// # Errors
/// The outcome is unknown, or the run is over: repeat it.
pub(in super::super) async fn book(
    app: &App,
    sku: &str,
    quantity: i64,
    once: Once<'_>,
) -> Result<Result<StockDocument, Refused>, Error> {
    let run = app.begin().await?;
    let Some(product) = catalog::operations::product(app, sku).await? else {
        return Ok(Err(Refused::NoProduct));
    };
    loop {
        if let Some(stock) = store::receive(app, sku, quantity, once, &run).await.decided()? {
            return Ok(Ok(stock));
        }
        // Refused: the first receipt of this SKU, a repeat, or a reason to tell.
        if let Some(stock) = store::find(app, sku).await? {
            // Closed with an earlier product of this SKU: opened again for the one that is there now.
            if stock.deleting
                && stock.deleted.as_ref() != Some(&product.get().incarnation.to_owned())
            {
                if run.is_over() {
                    return Err(run.overdue());
                }
                store::revive(app, sku, stock.deleted.as_ref(), &run).await.decided()?;
                continue;
            }
            match once.standing(quantity, &stock) {
                Standing::Applied => return Ok(Ok(stock)),
                Standing::OtherInput => return Ok(Err(Refused::OtherInput)),
                Standing::Void => return Ok(Err(Refused::GivenUp)),
                Standing::New if stock.deleting => return Ok(Err(Refused::NoProduct)),
                Standing::New if once.finds_no_room(app, &stock, &run) => {
                    return Ok(Err(Refused::Full));
                }
                Standing::New if run.is_over() => return Err(run.overdue()),
                // The first receipt came after the refusal.
                Standing::New => continue,
            }
        }
        let first = first_receipt(sku, quantity, once, &run);
        if store::insert(app, first.clone()).await.decided()?.is_some() {
            return Ok(Ok(first));
        }
        // Another first receipt came at the same moment: this one is the second.
    }
}

impl Once<'_> {
    /// How the receipt stands with the stock.
    fn standing(self, quantity: i64, stock: &StockDocument) -> Standing {
        match self {
            Self::Op(op) => op.standing(&op.id, &stock.ops),
            Self::Receipt(name) => {
                let mut imported = stock.imported.iter();
                match imported.find(|imported| imported.receipt == name) {
                    Some(imported) if imported.quantity == quantity => Standing::Applied,
                    Some(_) => Standing::OtherInput,
                    None => Standing::New,
                }
            }
        }
    }

    /// Whether the stock can't remember one more.
    fn finds_no_room(self, app: &App, stock: &StockDocument, run: &Run) -> bool {
        match self {
            Self::Op(_) => is_full(&stock.ops, run.now(), app.bounds()),
            Self::Receipt(_) => stock.imported.len() >= RECEIPTS,
        }
    }
}

fn first_receipt(sku: &str, quantity: i64, once: Once<'_>, run: &Run) -> StockDocument {
    let (mut ops, mut imported) = (Vec::new(), Vec::new());
    match once {
        Once::Op(op) => ops.push(OpRecord {
            tag: op.id.clone(),
            id: Some(op.id.clone()),
            input: Some(op.input.clone()),
            void: false,
            at: run.now(),
        }),
        Once::Receipt(name) => {
            imported.push(ImportedReceipt { receipt: name.to_owned(), quantity, at: run.now() });
        }
    }
    StockDocument {
        sku: sku.to_owned(),
        available: quantity,
        sold: 0,
        received: quantity,
        reservations: Vec::new(),
        ops,
        imported,
        restocks: Vec::new(),
        deleting: false,
        deleted: None,
        deletion_due: None,
        v: Version,
    }
}
