//! The payment of a total: the input of a checkout, its stored form, and the refusal of a payment. All rooms with a
//! checkout share it.

use crate::{graphql::prelude::*, mongo::prelude::*};

input! {
    /// Payment method. Which of the two fields is required depends on the payment provider that is configured.
    /// Neither is required if there is nothing to pay.
    pub struct PaymentInput {
        /// For payment from an account of docgate: global id of one of the caller's accounts, in the currency of
        /// the total.
        pub account_id: Option<ID> where optional(id(NodeKind::ACCOUNT)),
        /// For an external payment provider: the token that its page gave the shopper, 1 to 1,000 characters.
        pub token: Option<String> where optional(verbatim(1..=1_000)),
    }
}

document! {
    /// Means of payment.
    #[derive(Default, PartialEq, Eq)]
    pub struct Payment {
        /// Ledger provider: account of the shopper.
        pub account?: String,
        /// HTTP provider: token that the shopper got from the provider's own page.
        pub token?: String,
    }
}

impl From<&PaymentInput> for Payment {
    fn from(input: &PaymentInput) -> Self {
        let PaymentInput { account_id, token } = input.clone();
        Self { account: account_id.map(|account| account.0), token }
    }
}

refusal! {
    /// The payment provider declined the payment. Nothing was taken and nothing was paid.
    struct PaymentDeclined as "PAYMENT_DECLINED" {
        /// Reason in the words of the payment provider.
        pub reason: String,
    }
}
