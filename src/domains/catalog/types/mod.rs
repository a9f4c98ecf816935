//! GraphQL types of the catalog.

mod inputs;
mod lists;
mod product;
mod results;

pub use self::{inputs::*, lists::*, product::*, results::*};
