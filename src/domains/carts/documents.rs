//! The documents of carts as MongoDB stores them.

use std::collections::BTreeSet;

use async_graphql::{Enum, SimpleObject};

use super::{
    quotes::CartQuote,
    vouchers::{AppliedVoucher, VoucherHold},
};
use crate::{
    domains::paying::Payment,
    flow::{Decider, OpRecord},
    graphql::{declared::input, scalars::CurrencyCode},
    mongo::prelude::*,
};

document! {
    /// One cart.
    pub struct CartDocument {
        /// 128 random bits. The id is the capability of a shopper without a token.
        pub id as "_id": String,
        /// Subject of the shopper who opened or claimed the cart with a token.
        pub owner?: String,
        /// When stock is reserved.
        pub policy: CartPolicy,
        /// Currency of every line.
        pub currency: CurrencyCode,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: CartState,
        /// One line per SKU.
        pub lines: Vec<CartLine>,
        /// Records of ops that were applied or aborted.
        pub ops: Vec<OpRecord>,
        /// Stock that is still to be returned to the shelf.
        pub outbox: Vec<Return>,
        /// The voucher that its next checkout uses.
        pub voucher?: AppliedVoucher,
        /// The shipping method that was chosen, and what it costs with the tax.
        pub quote?: CartQuote,
        /// The checkout in progress, or the one that closed the cart.
        pub checkout?: Checkout,
        /// Number of checkouts with a claim that were started. It is part of the next one's id.
        pub checkouts as "attempts": i32,
        /// Server time of opening.
        pub opened_at: DateTime,
        /// Server time of the last change of lines, state or owner, or of the last settled return. Voiding a tag
        /// doesn't change it.
        pub modified_at: DateTime,
        pub v: Version<1>,
    } in "carts" {
        plain("state_modified", "state modifiedAt _id",
            "the sweeps of idle carts and of flows that were cut"),
        // Most carts have an empty outbox, and so no key in it.
        of_field("outbox_at", "outbox.at", "the sweep of stock that is still to be returned"),
        of("owner_modified", "owner state -modifiedAt -_id", "owner", "myCart"),
    }

    /// The part of a cart that the sweep of reservations reads. Only an active cart has the arrays.
    pub(super) struct SweptCart {
        pub id as "_id": String,
        pub state: CartState,
        /// See [`CartDocument::lines`].
        #[serde(default)]
        pub lines: Vec<CartLine>,
        /// See [`CartDocument::ops`].
        #[serde(default)]
        pub ops: Vec<OpRecord>,
        /// See [`CartDocument::outbox`].
        #[serde(default)]
        pub outbox: Vec<Return>,
        /// See [`CartDocument::modified_at`].
        pub modified_at: DateTime,
    } in CartDocument;

    /// When a cart reserves stock for its lines.
    #[derive(Enum)]
    pub enum CartPolicy {
        /// Stock is reserved when a product is added, and held until the cart is closed or expires.
        Reserve,
        /// Stock is reserved when the cart is checked out. Until then availability isn't guaranteed.
        AtCheckout,
    }

    /// State of a cart. Only an active cart can be changed.
    #[derive(Enum)]
    #[graphql(display)]
    pub enum CartState {
        /// The cart can be changed and checked out.
        Active,
        /// A checkout is in progress: it reserves stock and authorises the payment.
        Pending,
        /// A checkout failed and is being undone. The cart becomes active again.
        Voiding,
        /// The payment is authorised. The order is being created.
        // A checkout without a claim stores the other value, which the sweeps of versions before it don't look for.
        #[serde(alias = "DECIDED")]
        Paid,
        /// The cart was checked out and has an order.
        Complete,
        /// The cart was idle for too long. Its stock is being returned.
        Expiring,
        /// The cart was idle for too long. Its stock was returned.
        Expired,
        /// The shopper cancelled the cart. Its stock is being returned.
        Cancelling,
        /// The shopper cancelled the cart. Its stock was returned.
        Cancelled,
    }
}

document! {
    /// One SKU in the cart, with the price at which it was added.
    #[derive(PartialEq, Eq)]
    pub struct CartLine {
        pub sku: String,
        /// Number of pieces.
        pub quantity: i64,
        /// Number of them that are reserved for the cart.
        pub reserved as "held": i64,
        /// Title of the product when the line was added.
        pub title: String,
        /// Type of the product when the line was added.
        pub kind as "type": String,
        /// Values of the variant's options when the line was added, if it is of a variant.
        pub variant_title?: String,
        /// Retail price when the line was added, in minor units.
        pub unit_price: i64,
    }
}

/// Sum of the lines in minor units. It can't overflow: the limits in the room's `mod.rs` exclude it.
pub fn total(lines: &[CartLine]) -> i64 {
    lines.iter().map(|line| line.quantity * line.unit_price).sum()
}

document! {
    /// Outbox entry: stock that is to be returned.
    #[derive(PartialEq, Eq)]
    pub struct Return {
        /// Tag of the return, which the stock document remembers.
        pub tag: String,
        pub sku: String,
        /// Number of pieces.
        pub quantity: i64,
        /// Server time of the commit.
        pub at: DateTime,
    }

    /// A checkout of a cart.
    #[derive(PartialEq, Eq)]
    pub struct Checkout {
        /// Derived from the tag, or from the op and the number of the checkout. It becomes the order's `_id`, which for an
        /// anonymous order is the capability to read it.
        pub id: String,
        /// Tag under which stock and money are reserved and moved, if the checkout was decided without a claim. A checkout
        /// with a claim has its id as its tag.
        pub tag?: String,
        /// Id of the payment. Others see it, and the order's id can't be derived from it.
        pub payment_id: String,
        /// Subject of the caller who checks out, if there is a token. Once the checkout is paid, the cart is
        /// theirs.
        pub owner?: String,
        /// Id of the op that began it.
        pub op: String,
        /// Digest of the op's input.
        pub input: String,
        pub shipping: Address,
        pub payment: Payment,
        /// What is to be paid, in minor units: the sum of the frozen lines less the discount of the voucher, with the charges
        /// of the quote.
        pub total: i64,
        /// What it reserves of the cart's voucher.
        pub voucher?: VoucherHold,
        /// Id of the quote whose charges are part of the total.
        pub quote?: String,
        /// Deadline of the attempt that began it, on the server's clock.
        pub deadline: DateTime,
    }
}

input! {
    /// Postal address of the recipient.
    #[derive(Default, PartialEq, Eq, Deserialize, SimpleObject)]
    #[graphql(name = "ShippingAddress", input_name = "ShippingAddressInput")]
    pub struct Address {
        /// Name of the recipient, 1 to 200 characters.
        pub name: String where text(1..=200),
        /// Street, house number and everything else above the line of the city, 1 to 300 characters.
        pub street: String where text(1..=300),
        /// City with its postal code, 1 to 200 characters.
        pub city: String where text(1..=200),
        /// Assigned ISO 3166-1 country code of two capital letters, such as `DE`.
        pub country: String where country(),
        /// Email address by which the shop reaches the recipient, up to 254 characters. docgate sends nothing to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub email: Option<String> where optional(email()),
        /// Telephone number by which the shop or the carrier reaches the recipient, 1 to 32 characters on one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub phone: Option<String> where optional(line(1..=32)),
    }
}

impl Decider for CartDocument {
    fn ops(&self) -> &[OpRecord] {
        &self.ops
    }
}

impl CartDocument {
    /// What the voucher takes off the lines, in minor units.
    pub fn discount(&self) -> i64 {
        let goods = total(&self.lines);
        self.voucher.as_ref().map_or(0, |voucher| voucher.discount(goods))
    }

    /// Replaces the line of this SKU, or adds it as the last one.
    pub(super) fn put_line(&mut self, line: CartLine) {
        match self.lines.iter_mut().find(|old| old.sku == line.sku) {
            Some(old) => *old = line,
            None => self.lines.push(line),
        }
    }

    /// The SKUs of its lines and of its outbox, one after the other.
    pub(super) fn skus(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(|line| line.sku.as_str());
        let skus = lines.chain(self.outbox.iter().map(|due| due.sku.as_str()));
        skus.collect::<BTreeSet<_>>().into_iter().collect()
    }
}
