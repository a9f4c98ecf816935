//! Vouchers of the demo's shop.

use serde_json::json;

use super::{
    MERCHANT, Steps,
    client::{DemoClient, someone},
};
use crate::{cli::failure::Failure, graphql::requester::Role};

const CREATE: &str = "mutation($code: String!, $percent: Int!, $op: ID!) {
    createVoucher(input: {
        code: $code, percent: $percent, currency: \"EUR\", budget: 1000000, idempotencyKey: $op
    }) {
        __typename ... on UserError { code message }
    }
}";

/// Creates two vouchers: `WELCOME` takes a tenth off, and `GIFT` everything, so that a guest can check out without an
/// account.
pub(super) async fn create(client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let merchant = someone(MERCHANT, &[Role::Merchant]);
    let vouchers = [("WELCOME", 10), ("GIFT", 100)];
    let bar = steps.begin("vouchers", vouchers.len());
    for (code, percent) in vouchers {
        let op = format!("demo-voucher-{code}");
        let variables = json!({ "code": code, "percent": percent, "op": op });
        client.execute(&merchant, CREATE, variables).await?;
        bar.inc(1);
    }
    bar.finish();
    Ok(())
}
