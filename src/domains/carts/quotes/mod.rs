//! Quotes: what shipping and tax of a cart cost.
//!
//! The amounts come from flat tables in the configuration (`tables`), or from a service of the operator (`service`). While
//! the service gives no usable answer, the tables apply; without tables nothing is quoted. If the service refuses a request,
//! nothing is quoted either: no shopper can choose the tables by a request that it refuses.
//!
//! `setShippingMethod` computes the amounts of a method for the cart as it was read, and writes them to the cart as its
//! *quote* by one update, which is guarded by the lines and the voucher as they were read. The quote has a digest of these
//! ([`basis`](CartQuote::basis)). So it needs no update when the cart changes: it isn't current any more, and costs
//! nothing. A quote that is older than a cart can be idle isn't current either. `removeShippingMethod` takes it away, if a
//! checkout needs none.
//!
//! A checkout charges the current quote of the cart, if its destination is that of the checkout. Its decision is guarded by
//! the quote, the lines and the voucher as they were read, so an order never has the amounts of another cart. The order
//! keeps them as its [`Charges`]. The service is asked before, so that a checkout doesn't depend on it.
//!
//! # The contract of the service
//!
//! docgate sends `POST {quote_url}` with a JSON body:
//!
//! ```json
//! {"currency": "EUR", "country": "DE", "city": "12345 City",
//!  "lines": [{"sku": "…", "type": "book", "quantity": 2, "unitPrice": 1000, "total": 1800}], "sentAt": "…"}
//! ```
//!
//! Amounts are integers in minor units. `total` is the price of a line less its part of the voucher's discount. The header
//! `x-docgate-signature` has the HMAC-SHA256 of the body under `quote_signing_secret`, as `sha256=<hex>`. The service
//! answers with status 200 and the methods that it offers there:
//!
//! ```json
//! {"currency": "EUR", "methods": [{"name": "standard", "title": "Standard", "price": 490, "tax": 93}],
//!  "lines": [{"sku": "…", "tax": 342, "rate": 19000}]}
//! ```
//!
//! `taxIncluded`, beside `currency`, says whether prices include these taxes (`true`) or the taxes are added to them. It is
//! `false` if it is left out. `tax` of a method is that of its price; a line that isn't named has no tax. `rate`, in
//! thousandths of a percent of the price before tax, can be left out: it is that of pieces that are added to the order later.
//! With the status 422 the service says that it doesn't know the destination, and with another one from 400 to 499 it refuses
//! the request. An answer is unusable if it isn't complete after `quote_timeout_millis`, has any other status than 200, is
//! larger than 64 KiB, isn't such JSON, is in another currency, has a negative amount, a price above 2^53, a tax above what is
//! taxed, a rate above 100 %, a SKU that isn't in the cart, a name or a title that the configuration wouldn't take, or names
//! anything twice. Nothing of it is used then.

mod documents;
mod goods;
mod lowered;
pub mod operations;
mod service;
mod settings;
mod tables;
pub mod types;

pub use documents::{CartQuote, Charges};
pub use lowered::Discounted;
pub(super) use settings::faults;
pub use types::{QuoteFault, QuoteNeeded, ShippingCharges};

/// Maximum of a price, of the total of a cart with its charges, and of the amounts of a voucher, in minor units: what every
/// JSON parser reads exactly.
pub const MAX_AMOUNT: i64 = 1 << 53;
