//! MongoDB access of accounts and transfers.

mod accounts;
mod transfers;

pub(super) use accounts::*;
pub(super) use transfers::*;
