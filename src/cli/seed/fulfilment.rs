//! What the merchant of the demo does with orders: some are packed, some are on their way or have arrived, and some come back.

use serde_json::{Value, json};

use super::{
    MERCHANT,
    client::{DemoClient, someone},
    goods::text,
};
use crate::{
    cli::failure::Failure,
    graphql::requester::{Requester, Role},
};

const PACK: &str = "mutation($order: ID!, $lines: [PiecesInput!], $op: ID!) {
    packOrder(input: {orderId: $order, lines: $lines, idempotencyKey: $op}) {
        ... on Order { shipments { number } } ... on UserError { code message }
    }
}";

const SHIP: &str = "mutation($order: ID!, $shipment: Int!, $tracking: String!, $op: ID!) {
    shipOrder(input: {
        orderId: $order, shipmentNumber: $shipment, carrier: \"Parcel Post\", tracking: $tracking, idempotencyKey: $op
    }) { __typename ... on UserError { code message } }
}";

const DELIVER: &str = "mutation($order: ID!, $shipment: Int!, $op: ID!) {
    deliverOrder(input: {orderId: $order, shipmentNumber: $shipment, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

const REQUEST: &str = "mutation($order: ID!, $shipment: Int!, $reason: String!, $op: ID!) {
    requestReturn(input: {
        orderId: $order, shipmentNumber: $shipment, reason: $reason, idempotencyKey: $op
    }) { ... on Order { returns { number } } ... on UserError { code message } }
}";

const ACCEPT: &str = "mutation($order: ID!, $return: Int!, $op: ID!) {
    acceptReturn(input: {orderId: $order, returnNumber: $return, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

const NOTE: &str = "mutation($order: ID!, $text: String!, $op: ID!) {
    noteOrder(input: {orderId: $order, text: $text, idempotencyKey: $op}) {
        __typename ... on UserError { code message }
    }
}";

/// The merchant's work on one order.
struct Work<'a> {
    client: &'a DemoClient,
    merchant: Requester,
    order: String,
    number: usize,
}

/// Fulfils one order as far as its number says. Orders that are changed or cancelled afterwards are left alone.
pub(super) async fn fulfil(
    client: &DemoClient,
    shopper: &Requester,
    order: &Value,
    number: usize,
) -> Result<(), Failure> {
    let merchant = someone(MERCHANT, &[Role::Merchant]);
    let work = Work { client, merchant, order: text(&order["id"]), number };
    match number % 16 {
        1 | 9 => work.pack(Value::Null).await.map(drop),
        2 | 10 | 13 => work.ship(Value::Null).await.map(drop),
        4 | 12 => work.deliver().await.map(drop),
        5 => {
            work.deliver_and_return(shopper, "It is a present that I have already").await.map(drop)
        }
        7 => {
            let back = work.deliver_and_return(shopper, "It arrived damaged").await?;
            work.run(ACCEPT, json!({ "return": back, "op": work.op("accept") })).await.map(drop)
        }
        8 => {
            let note = json!({ "text": "Rings twice, opens once", "op": work.op("note") });
            work.run(NOTE, note).await.map(drop)
        }
        // One piece goes ahead of the others.
        15 if number < 16 => {
            let lines = json!([{ "sku": order["lines"][0]["sku"], "quantity": 1 }]);
            work.ship(lines).await.map(drop)
        }
        _ => Ok(()),
    }
}

impl Work<'_> {
    fn op(&self, what: &str) -> String {
        format!("demo-{what}-{}", self.number)
    }

    async fn run(&self, query: &str, mut variables: Value) -> Result<Value, Failure> {
        variables["order"] = self.order.as_str().into();
        self.client.execute(&self.merchant, query, variables).await
    }

    /// Packs these lines, or everything. Returns the number of the shipment.
    async fn pack(&self, lines: Value) -> Result<Value, Failure> {
        let mut data = self.run(PACK, json!({ "lines": lines, "op": self.op("pack") })).await?;
        Ok(data["packOrder"]["shipments"][0]["number"].take())
    }

    async fn ship(&self, lines: Value) -> Result<Value, Failure> {
        let shipment = self.pack(lines).await?;
        let tracking = format!("PP {:08}", 7_919 * self.number);
        let variables =
            json!({ "shipment": shipment, "tracking": tracking, "op": self.op("ship") });
        self.run(SHIP, variables).await?;
        Ok(shipment)
    }

    async fn deliver(&self) -> Result<Value, Failure> {
        let shipment = self.ship(Value::Null).await?;
        self.run(DELIVER, json!({ "shipment": shipment, "op": self.op("deliver") })).await?;
        Ok(shipment)
    }

    /// Delivers the order, and lets the shopper ask for its return. Returns the number of the return.
    async fn deliver_and_return(
        &self,
        shopper: &Requester,
        reason: &str,
    ) -> Result<Value, Failure> {
        let shipment = self.deliver().await?;
        let variables = json!({
            "order": self.order, "shipment": shipment, "reason": reason, "op": self.op("return"),
        });
        let mut data = self.client.execute(shopper, REQUEST, variables).await?;
        Ok(data["requestReturn"]["returns"][0]["number"].take())
    }
}
