//! How the demo's shop delivers, and the taxes that its prices include.

use serde_json::{Value, json};

/// The shipping methods. The cheapest one is free, so that a guest without an account can take it.
pub(super) fn methods() -> Value {
    json!({
        "standard": { "title": "Standard delivery", "prices": { "EUR": 0 } },
        "express": {
            "title": "Express delivery",
            "prices": { "EUR": 990 },
            "countries": ["AT", "BE", "CH", "DE", "DK", "FR", "GB", "IT", "NL", "PL"],
        },
    })
}

/// Taxes by country. Prices include them; elsewhere they include none.
pub(super) fn taxes() -> Value {
    let of = |rate: u32, books: u32| json!({ "rate": rate, "types": { "book": books }, "included": true });
    json!({
        "AT": of(20_000, 10_000),
        "BE": of(21_000, 6_000),
        "CH": of(8_100, 2_600),
        "DE": of(19_000, 7_000),
        "DK": of(25_000, 25_000),
        "FR": of(20_000, 5_500),
        "GB": of(20_000, 0),
        "IT": of(22_000, 4_000),
        "NL": of(21_000, 9_000),
        "PL": of(23_000, 5_000),
    })
}
