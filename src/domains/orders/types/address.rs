//! GraphQL types of the change of an order's address.

use super::{super::documents::OrderDocument, Order, OrderNotOpen, OrderShipped};
use crate::{domains::carts::Address, graphql::prelude::*};

input! {
    /// Input of `changeOrderAddress`: the order, and the address to which its goods are sent.
    pub struct ChangeOrderAddressInput {
        /// Global id of the order.
        pub order_id: ID where id(NodeKind::ORDER),
        /// New address. It replaces the whole address of the order.
        pub shipping: Address where nested(),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key doesn't overwrite an address that was set in
        /// between.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }
}

result! {
    /// Result of `changeOrderAddress`: the order with the new address, or a refusal. `NotFound`: the order doesn't exist for this
    /// caller. `OrderShipped`: pieces of the order are packed or shipped. `InvalidInput`: among others, the address is in another
    /// country, on which shipping or tax depend.
    pub enum ChangeOrderAddressResult:
        OrderDocument => Order | NotFound | OrderNotOpen | OrderShipped | Conflict | InvalidInput;
}
