//! A call that is cut anywhere can be repeated.

use serde_json::json;

use super::{LOG, day, event, list};
use crate::support::{cuts, short_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_a_key_logs_once_wherever_it_is_cut() {
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("/{n}"),
        async |gateway, path| {
            // Two months, so two collections.
            let times = [3, 63].map(|days| format!("{}T10:00:00Z", day(gateway, days)));
            let events = times.map(|at| event(path, &at));
            let input = json!({ "events": events, "idempotencyKey": path });
            gateway.service().send(LOG, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let found = list(gateway, json!({ "path": case.subject })).await;
            assert_eq!(found.len(), 2, "{case:?}");
        },
    )
    .await;
}
