//! The rules of the carts.

pub mod checkout;
