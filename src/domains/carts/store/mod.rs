//! Every MongoDB call of the carts.

pub(super) mod checkout;
