//! Bulk import of stock: `docgate import stock`.
//!
//! ```json
//! {"sku": "ALB-1", "quantity": 12}
//! {"sku": "ALB-1", "quantity": 5, "receipt": "2026-11-24"}
//! ```
//!
//! A line is a receipt. The stock document remembers its name for good, in the update that books it. So a
//! line can be imported again at any time and is booked once.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::{
    documents::{ImportedReceipt, StockDocument},
    operations::{Booked, MAX, Refused, book},
    store::{self, Once, RECEIPTS},
};
use crate::{domains::catalog, graphql::prelude::*};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportStock {
    pub sku: String,
    /// Quantity that was received.
    pub quantity: i64,
    /// Name of the receipt. Each SKU has at most one receipt of a name.
    #[serde(default = "unnamed")]
    pub receipt: String,
}

/// Default name of a receipt.
fn unnamed() -> String {
    "import".to_owned()
}

/// Number of SKUs whose receipts are booked concurrently.
const AT_ONCE: usize = 48;

/// Imports `lines`. Returns for each of them, in their order, when it was booked, or why it was refused. Receipts of one
/// SKU are booked in the order of their lines, so that the first one of a name counts.
///
/// `first_try` is the server time at which the first try of these lines began, which the first try sets. A later try returns
/// `Booked::Now` for what an earlier one has booked.
///
/// # Errors
/// Some of the lines may have been imported. Import them again.
pub async fn import(
    app: &App,
    lines: &[ImportStock],
    first_try: &mut Option<DateTime>,
) -> Result<Vec<Result<Booked, InvalidInput>>> {
    let earlier_try = *first_try;
    if earlier_try.is_none() {
        *first_try = Some(app.begin().await?.now());
    }
    let mut skus: BTreeMap<&str, Vec<(usize, &ImportStock)>> = BTreeMap::new();
    for (position, line) in lines.iter().enumerate() {
        skus.entry(&line.sku).or_default().push((position, line));
    }
    let mut answers: Vec<_> = stream::iter(skus.into_values())
        .map(|receipts| book_in_order(app, receipts, earlier_try))
        .buffer_unordered(AT_ONCE)
        .try_concat()
        .await?;
    answers.sort_by_key(|(position, _)| *position);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// The position of a line, and its answer.
type Answer = (usize, Result<Booked, InvalidInput>);

/// Books receipts of one SKU, one after the other. The first one of a name that was booked since `earlier_try` counts as
/// booked now.
async fn book_in_order(
    app: &App,
    receipts: Vec<(usize, &ImportStock)>,
    earlier_try: Option<DateTime>,
) -> Result<Vec<Answer>> {
    let mut answers = Vec::with_capacity(receipts.len());
    let mut names = BTreeSet::new();
    for (position, line) in receipts {
        let since = earlier_try.filter(|_| names.insert(&line.receipt));
        answers.push((position, booked(app, line, since).await?));
    }
    Ok(answers)
}

/// Checks `lines` as the import would, and changes nothing. Returns for each of them when it would be booked, or why it
/// would be refused.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn check_lines(
    app: &App,
    lines: &[ImportStock],
) -> Result<Vec<Result<Booked, InvalidInput>>> {
    let checked = stream::iter(lines).map(async |line| would_book(app, line).await);
    checked.buffered(AT_ONCE).try_collect().await
}

async fn would_book(app: &App, line: &ImportStock) -> Result<Result<Booked, InvalidInput>> {
    if let Err(invalid) = check(line) {
        return Ok(Err(invalid));
    }
    let ImportStock { sku, quantity, receipt } = line;
    if catalog::operations::generation_on_sale(app, sku).await?.is_none() {
        return Ok(Err(InvalidInput::new("sku", NO_PRODUCT)));
    }
    let stock = store::stocks(app).get(sku).await?;
    let imported = stock.map(|stock| stock.imported).unwrap_or_default();
    let same = imported.iter().find(|one| one.receipt == *receipt);
    Ok(match same {
        Some(same) if same.quantity == *quantity => Ok(Booked::Before),
        Some(_) => Err(InvalidInput::new("quantity", other_quantity(receipt))),
        None if imported.len() >= RECEIPTS => Err(InvalidInput::new("receipt", one_too_many())),
        None => Ok(Booked::Now),
    })
}

/// The reason of a line whose product doesn't exist.
const NO_PRODUCT: &str = "there is no such product";

/// The reason of a line whose receipt was booked with another quantity.
fn other_quantity(receipt: &str) -> String {
    format!("is another than {receipt:?} brought before: name the receipt")
}

/// The reason of a line whose SKU has the maximum number of imported receipts.
fn one_too_many() -> String {
    format!("is one too many: a SKU takes {RECEIPTS}")
}

/// Calls `each` with the imported receipts of every SKU as lines of the import, in the order of SKUs. A line also has the
/// present numbers of `available`, `reserved` and `sold` pieces. A SKU without imported receipts has one line without
/// `quantity`.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn for_each_line(app: &App, mut each: impl FnMut(serde_json::Value)) -> Result<()> {
    let lines = |stock: StockDocument| {
        if stock.deleting {
            return;
        }
        let reserved: i64 = stock.reservations.iter().map(|one| one.quantity).sum();
        let line = |receipt: Option<&ImportedReceipt>| {
            serde_json::json!({
                "sku": stock.sku,
                "quantity": receipt.map(|receipt| receipt.quantity),
                "receipt": receipt.map(|receipt| &receipt.receipt),
                "available": stock.available,
                "reserved": reserved,
                "sold": stock.sold,
            })
        };
        if stock.imported.is_empty() {
            each(line(None));
        }
        // Receipts that are imported side by side are booked in any order.
        let mut receipts: Vec<_> = stock.imported.iter().collect();
        receipts.sort_by(|one, other| one.receipt.cmp(&other.receipt));
        for receipt in receipts {
            each(line(Some(receipt)));
        }
    };
    store::stocks(app).for_each(lines).await
}

/// Books a line. If it was booked `since` then, it counts as booked now.
async fn booked(
    app: &App,
    line: &ImportStock,
    since: Option<DateTime>,
) -> Result<Result<Booked, InvalidInput>> {
    if let Err(invalid) = check(line) {
        return Ok(Err(invalid));
    }
    let ImportStock { sku, quantity, receipt } = line;
    let (field, reason) = match book(app, sku, *quantity, Once::Receipt(receipt)).await {
        Ok((_stock, Booked::Now)) => return Ok(Ok(Booked::Now)),
        Ok((stock, Booked::Before)) => {
            let mut of_name = stock.imported.iter().filter(|one| one.receipt == *receipt);
            let is_own = of_name.any(|one| since.is_some_and(|since| one.at >= since));
            return Ok(Ok(if is_own { Booked::Now } else { Booked::Before }));
        }
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Refused(Refused::NoProduct)) => ("sku", NO_PRODUCT.to_owned()),
        Err(Stop::Refused(Refused::OtherInput)) => ("quantity", other_quantity(receipt)),
        Err(Stop::Refused(Refused::Full | Refused::Short { .. })) => ("receipt", one_too_many()),
    };
    Ok(Err(InvalidInput::new(field, reason)))
}

fn check(line: &ImportStock) -> Result<(), InvalidInput> {
    if !input::is_sku(&line.sku) {
        input::key("sku", &line.sku)?;
    }
    input::within("quantity", line.quantity, 0..=MAX)?;
    input::key("receipt", &line.receipt).map(|_| ())
}
