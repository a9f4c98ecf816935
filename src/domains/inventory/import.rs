//! Stock in bulk: `docgate import stock`.
//!
//! ```json
//! {"sku": "ALB-1", "quantity": 12}
//! {"sku": "ALB-1", "quantity": 5, "receipt": "2026-11-24"}
//! ```
//!
//! A line is a receipt. The stock document remembers its name in the update that books it, and for good, so
//! that the line can be imported again at any time without being booked twice.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    operations::{MOST, Refused, book},
    store::{Once, RECEIPTS},
};
use crate::{
    app::App,
    error::Error,
    graphql::{input, refusals::InvalidInput},
};

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportStock {
    /// The product.
    pub sku: String,
    /// How much of it came in.
    pub quantity: i64,
    /// Name of the receipt: of one name each SKU has one.
    #[serde(default = "unnamed")]
    pub receipt: String,
}

/// Name of a receipt whose line doesn't say one.
fn unnamed() -> String {
    "import".to_owned()
}

/// Receipts that are booked at a time.
const AT_ONCE: usize = 48;

/// Imports `lines`; answers for each of them, in their order, why it was refused.
///
/// # Errors
/// `Unavailable` or `Internal`: some of the lines may have been imported, import them again.
pub async fn import(
    app: &App,
    lines: &[ImportStock],
) -> Result<Vec<Result<(), InvalidInput>>, Error> {
    let booked = stream::iter(lines).map(async |line| booked(app, line).await);
    booked.buffered(AT_ONCE).try_collect().await
}

async fn booked(app: &App, line: &ImportStock) -> Result<Result<(), InvalidInput>, Error> {
    let (sku, quantity, receipt) = match checked(line) {
        Ok(checked) => checked,
        Err(invalid) => return Ok(Err(invalid)),
    };
    let (field, reason) = match book(app, &sku, quantity, Once::Receipt(&receipt)).await? {
        Ok(_stock) => return Ok(Ok(())),
        Err(Refused::NoProduct) => ("sku", "there is no such product".to_owned()),
        Err(Refused::OtherInput | Refused::GivenUp) => {
            let reason = format!("is another than {receipt:?} brought before: name the receipt");
            ("quantity", reason)
        }
        Err(Refused::Full) => ("receipt", format!("is one too many: a SKU takes {RECEIPTS}")),
    };
    Ok(Err(InvalidInput::new(field, reason)))
}

fn checked(line: &ImportStock) -> Result<(String, i64, String), InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let quantity = input::within("quantity", line.quantity, 0..=MOST)?;
    Ok((sku, quantity, input::key("receipt", &line.receipt)?))
}
