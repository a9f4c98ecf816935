//! Carts.

mod documents;
pub mod operations;
mod store;

pub use documents::{
    Address, CartDocument, CartLine, CartPolicy, CartState, Checkout, Payment, Return,
};
