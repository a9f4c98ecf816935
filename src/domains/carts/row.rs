//! A row of changes: additions and new quantities that follow each other in a request. They are made at once; see
//! `operations::change_lines`.

use async_graphql::{
    Context, OutputType, ServerResult, Value,
    parser::types::{Field, Selection, SelectionSet},
    resolver_utils::ContainerType,
    rows::Row,
};
use futures_util::future::BoxFuture;

use super::{
    documents::CartDocument,
    operations::{LineChange, LineInput, change_lines},
    resolvers::CartsMutation,
    types::{AddCartLineResult, SetCartLineQuantityResult},
};
use crate::{
    graphql::{
        declared::Checked,
        prelude::*,
        refusals::{MutationResult, answer},
    },
    mongo::read_bytes,
};

/// The mutations, unless their results read other documents than the cart: those could have been changed by later
/// mutations of the row.
pub(super) const LINES: Row = Row { takes, resolve };

const ADD: &str = "addCartLine";
const SET: &str = "setCartLineQuantity";
/// The field of a cart that isn't known before it is read again.
const TIME: &str = "modifiedAt";

fn takes(field: &Field) -> bool {
    [ADD, SET].contains(&field.name.node.as_str()) && is_of_cart(&field.selection_set.node)
}

/// Whether the selection on a result reads nothing but the cart.
fn is_of_cart(set: &SelectionSet) -> bool {
    /// Objects that are parts of a cart.
    const PARTS: [&str; 3] = ["lines", "total", "unitPrice"];
    set.items.iter().all(|selection| match &selection.node {
        Selection::Field(field) => {
            let (name, below) = (field.node.name.node.as_str(), &field.node.selection_set.node);
            below.items.is_empty() || (PARTS.contains(&name) && is_of_cart(below))
        }
        Selection::InlineFragment(fragment) => is_of_cart(&fragment.node.selection_set.node),
        Selection::FragmentSpread(_) => false,
    })
}

/// Whether the selection on a result shows the time of the cart's last change.
fn shows_time(set: &SelectionSet) -> bool {
    set.items.iter().any(|selection| match &selection.node {
        Selection::Field(field) => {
            field.node.name.node == TIME || shows_time(&field.node.selection_set.node)
        }
        Selection::InlineFragment(fragment) => shows_time(&fragment.node.selection_set.node),
        Selection::FragmentSpread(_) => true,
    })
}

fn resolve<'b>(fields: &'b [Context<'_>]) -> BoxFuture<'b, Vec<ServerResult<Option<Value>>>> {
    Box::pin(async move {
        let (mut values, mut rest) = (Vec::with_capacity(fields.len()), fields);
        while let [first, ..] = rest {
            let changes = leading(rest);
            let (row, others) = rest.split_at(changes.len().max(1));
            rest = others;
            let shows_time =
                row.iter().any(|field| shows_time(&field.item.node.selection_set.node));
            let verdicts = match changes.len() {
                0 | 1 => None,
                // As with the other mutations; see `mutations!`.
                _ => read_bytes::uncounted(change_lines(cx(first), &changes, shows_time)).await,
            };
            match verdicts {
                Some(verdicts) => {
                    for (field, verdict) in row.iter().zip(verdicts) {
                        values.push(value(field, verdict).await);
                    }
                }
                None => {
                    for field in row {
                        values.push(CartsMutation.resolve_field(field).await);
                    }
                }
            }
        }
        values
    })
}

/// The changes of the first fields, as far as they can be made at once. The first field whose input is invalid ends
/// them.
fn leading(fields: &[Context<'_>]) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = Vec::new();
    for field in fields {
        match change(field) {
            Some(change) if changes.iter().all(|other| other.may_join(&change)) => {
                changes.push(change);
            }
            _ => break,
        }
    }
    changes
}

/// The change that a field requests; `None` if its input is invalid.
fn change(field: &Context<'_>) -> Option<LineChange> {
    let input = if field.item.node.name.node == ADD {
        LineInput::Add(input(field)?)
    } else {
        LineInput::Set(input(field)?)
    };
    Some(LineChange::of(cx(field), input))
}

fn input<I: Input + async_graphql::InputType>(field: &Context<'_>) -> Option<Checked<I>> {
    let (_, input) = field.param_value::<I>("input", None).ok()?;
    input.checked().ok()
}

/// The value of a field with this result.
async fn value(
    field: &Context<'_>,
    verdict: Answer<AddCartLineResult>,
) -> ServerResult<Option<Value>> {
    if field.item.node.name.node == ADD {
        return resolved(field, verdict).await;
    }
    let verdict = verdict.map_err(|stop| match stop {
        Stop::Refused(refusal) => set_refused(refusal),
        Stop::Failed(error) => Stop::Failed(error),
    });
    resolved::<SetCartLineQuantityResult>(field, verdict).await
}

async fn resolved<U>(
    field: &Context<'_>,
    verdict: Result<CartDocument, Stop<U>>,
) -> ServerResult<Option<Value>>
where
    U: MutationResult + From<CartDocument> + Send + Sync,
{
    let set = field.with_selection_set(&field.item.node.selection_set);
    answer(verdict).resolve(&set, field.item).await.map(Some)
}

/// A refusal as one of a new quantity.
fn set_refused(refusal: AddCartLineResult) -> Stop<SetCartLineQuantityResult> {
    use AddCartLineResult as Of;
    match refusal {
        Of::Cart(cart) => Stop::Refused(SetCartLineQuantityResult::Cart(cart)),
        Of::NotFound(refusal) => refusal.into(),
        Of::CartNotActive(refusal) => refusal.into(),
        Of::InsufficientStock(refusal) => refusal.into(),
        Of::Conflict(refusal) => refusal.into(),
        Of::InvalidInput(refusal) => refusal.into(),
        Of::CurrencyMismatch(refusal) => Stop::Failed(Error::internal(refusal.message)),
    }
}
