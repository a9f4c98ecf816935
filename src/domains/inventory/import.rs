//! Bulk import of stock: `docgate import stock`.
//!
//! ```json
//! {"sku": "ALB-1", "quantity": 12}
//! {"sku": "ALB-1", "quantity": 5, "receipt": "2026-11-24"}
//! ```
//!
//! A line is a receipt. The stock document remembers its name for good, in the update that books it. So a
//! line can be imported again at any time and is booked once.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    operations::{MAX, Refused, book},
    store::{Once, RECEIPTS},
};
use crate::graphql::prelude::*;

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

/// Number of receipts that are booked concurrently.
const AT_ONCE: usize = 48;

/// Imports `lines`. Returns for each of them, in their order, why it was refused.
///
/// # Errors
/// Some of the lines may have been imported. Import them again.
pub async fn import(app: &App, lines: &[ImportStock]) -> Result<Vec<Result<(), InvalidInput>>> {
    let booked = stream::iter(lines).map(async |line| booked(app, line).await);
    booked.buffered(AT_ONCE).try_collect().await
}

async fn booked(app: &App, line: &ImportStock) -> Result<Result<(), InvalidInput>> {
    if let Err(invalid) = check(line) {
        return Ok(Err(invalid));
    }
    let ImportStock { sku, quantity, receipt } = line;
    let (field, reason) = match book(app, sku, *quantity, Once::Receipt(receipt)).await {
        Ok(_stock) => return Ok(Ok(())),
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Refused(Refused::NoProduct)) => ("sku", "there is no such product".to_owned()),
        Err(Stop::Refused(Refused::OtherInput)) => {
            let reason = format!("is another than {receipt:?} brought before: name the receipt");
            ("quantity", reason)
        }
        Err(Stop::Refused(Refused::Full)) => {
            ("receipt", format!("is one too many: a SKU takes {RECEIPTS}"))
        }
    };
    Ok(Err(InvalidInput::new(field, reason)))
}

fn check(line: &ImportStock) -> Result<(), InvalidInput> {
    input::key("sku", &line.sku)?;
    input::within("quantity", line.quantity, 0..=MAX)?;
    input::key("receipt", &line.receipt).map(|_| ())
}
