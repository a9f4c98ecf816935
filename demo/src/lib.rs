//! The demo's shop, identical on every machine. Categories, products and one discussion are imported;
//! everything else is created through the schema, as by clients. Nothing here depends on docgate.

mod comments;
mod goods;
mod pictures;
mod products;
mod random;
mod shoppers;
mod site;
mod words;

use std::fmt;

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

pub use products::FIRST_SKU;

/// Subject of the demo's shopper.
pub const SHOPPER: &str = "shopper";
/// Subject of the demo's merchant.
pub const MERCHANT: &str = "merchant";

/// The gateway that is filled.
#[async_trait(?Send)]
pub trait Gateway {
    /// The `data` of an operation.
    async fn execute(&self, operation: &Operation) -> Outcome<Value>;

    /// Imports lines, as `docgate import` does.
    async fn import(&self, kind: Kind, lines: Vec<Value>) -> Outcome<()>;

    /// Expires the carts that have been idle for about a second.
    async fn expire_carts(&self) -> Outcome<()>;

    /// Executes the operation, or expires carts if there is none, until MongoDB has stored a cart or an
    /// order in `state`; stops there, as by a crash.
    async fn interrupt(&self, state: &'static str, operation: Option<&Operation>) -> Outcome<()>;

    /// Shows the progress of a step with `count` parts. Each call of the result adds completed parts.
    fn begin(&self, step: &'static str, count: usize) -> Box<dyn Fn(usize)>;
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Lines of `docgate import categories`.
    Categories,
    /// Lines of `docgate import products`.
    Products,
    /// Lines of `docgate import discussions`.
    Discussions,
}

/// A GraphQL operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The caller.
    pub caller: Caller,
    /// The document.
    pub document: String,
    /// The variables.
    pub variables: Value,
    /// Name and bytes of the file that is the value of the variable `input.file`.
    pub file: Option<(String, Vec<u8>)>,
}

/// The caller of an operation. The default is anonymous.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// Subject of the token.
    pub subject: Option<&'a str>,
    /// Role of the token, such as `merchant`.
    pub role: Option<&'static str>,
}

/// The reason why the shop can't be filled.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
/// A result, or why the shop can't be filled.
pub type Outcome<T> = Result<T, Fault>;
