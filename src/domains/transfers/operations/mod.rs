//! The business rules of accounts and transfers.

mod accounts;
mod claim;
mod drive;
mod payments;
mod reads;
mod transfers;

pub use accounts::*;
pub use drive::finish;
pub use payments::*;
pub use reads::*;
pub use transfers::*;
