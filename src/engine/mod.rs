//! The query engine: the steps before and after the library executes an operation. Rooms use only
//! [`caching`].
//!
//! - [`preparing`]: prepares operations; a document is parsed and validated once
//! - [`prepared`]: a prepared operation, which also completes its responses
//! - `document`: a parsed document, as written and flattened
//! - [`limits`]: the limits of operations, and those of their texts
//! - `cost`: measures cost, depth and complexity of an operation
//! - `introspection`: limits what introspection asks for
//! - `tokens`: the tokens of a document, for limits that are checked before it is parsed
//! - [`caching`]: how long a response may be cached
//! - [`types`]: the types of the schema, read from its SDL
//! - `values`: what is wrong with the value of an argument or a variable
//! - `usages`: whether the types of variables fit where they are used
//! - `choices`: variables that are the one field which an object requires, and have no value
//! - `omitting`: leaves out what has a variable that isn't given
//! - `near`: names that are similar to a misspelt one
//! - [`keys`]: whether a mutation is called with an idempotency key
//! - `merging`: checks that fields with the same response key can be merged
//! - `typename`: adds an aliased `__typename` wherever the concrete type isn't known statically
//! - `flatten`: replaces fragments by their selections and merges fields with the same response key
//! - `shape`: identifies what an operation selects below its root fields
//! - `completion`: completes the library's responses as the specification demands

pub mod caching;
mod choices;
mod completion;
mod cost;
mod document;
mod flatten;
mod introspection;
pub mod keys;
pub mod limits;
mod merging;
mod near;
mod omitting;
pub mod prepared;
pub mod preparing;
mod shape;
mod tokens;
mod typename;
pub mod types;
mod usages;
mod values;
pub mod wording;
