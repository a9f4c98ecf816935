//! Idempotency keys in the text and the variables of a request.

use async_graphql::{Name, Value, Variables, parser::types::Field};
use async_graphql_value::Value as Literal;

/// Whether a mutation is called with an idempotency key: its argument `input` has a field `idempotencyKey` that isn't
/// null.
pub fn has_idempotency_key(field: &Field, variables: &Variables) -> bool {
    const KEY: &str = "idempotencyKey";
    let is_given = |name: &Name| variables.get(name).is_some_and(|value| *value != Value::Null);
    match field.get_argument("input").map(|input| &input.node) {
        Some(Literal::Variable(name)) => match variables.get(name) {
            Some(Value::Object(input)) => input.get(KEY).is_some_and(|key| *key != Value::Null),
            _ => false,
        },
        Some(Literal::Object(input)) => match input.get(KEY) {
            Some(Literal::Variable(name)) => is_given(name),
            key => key.is_some_and(|key| *key != Literal::Null),
        },
        _ => false,
    }
}
