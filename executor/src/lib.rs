//! async-graphql with another way to resolve objects.
//!
//! It stands under the library's own name, as the library's macros look their crate up by it. All it
//! holds is the library's, but for [`resolver_utils::resolve_container`]: most fields answer at
//! once, and there an allocation, a task and a wake-up for each are most of the work. [`direct`] adds
//! a shorter way to execute what is known.

pub mod direct;

pub use upstream::*;

/// What the library's macros call.
pub mod resolver_utils {
    use std::{
        future::poll_fn,
        task::Poll::{self, Pending, Ready},
    };

    use futures_util::future::join_all;
    use tokio_util::sync::ReusableBoxFuture;
    use upstream::{
        ContextSelectionSet, Name, Positioned, ServerResult, Value,
        indexmap::{IndexMap, map::Entry},
        parser::types::{Field, Selection},
    };

    pub use upstream::resolver_utils::*;

    /// Resolves an object. Its fields are begun in their order; those that have to wait do so side
    /// by side. As with the library, the key of a field that failed is missing.
    ///
    /// A selection with fragments is left to the library: only it can see which object is behind an
    /// interface or union. The library's extensions and directives of one's own aren't called, nor are
    /// the guards of an object's field where it is selected on an interface: there the method itself has
    /// to look who asks.
    ///
    /// # Errors
    /// A fragment isn't known.
    pub async fn resolve_container<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
    ) -> ServerResult<Value> {
        let selections = &ctx.item.node.items;
        let Some(fields) = selections.iter().map(plain_field).collect::<Option<Vec<_>>>() else {
            return upstream::resolver_utils::resolve_container(ctx, root).await;
        };
        let mut values: Vec<Option<ServerResult<Value>>> = Vec::with_capacity(fields.len());
        let mut waiting = Vec::new();
        let mut place = None;
        for field in &fields {
            let value = resolve_field(ctx, root, field);
            // All these futures are of one type: who is done leaves its place to the next.
            let mut boxed = match place.take() {
                None => ReusableBoxFuture::new(value),
                Some(mut boxed) => {
                    ReusableBoxFuture::set(&mut boxed, value);
                    boxed
                }
            };
            let begun: Poll<_> = poll_fn(|waker| Ready(boxed.poll(waker))).await;
            match begun {
                Ready(value) => {
                    values.push(Some(value));
                    place = Some(boxed);
                }
                Pending => {
                    waiting.push((values.len(), boxed));
                    values.push(None);
                }
            }
        }
        if !waiting.is_empty() {
            let waited = waiting.into_iter().map(async |(at, value)| (at, value.await));
            for (at, value) in join_all(waited).await {
                values[at] = Some(value);
            }
        }
        let mut object: IndexMap<Name, Value> = IndexMap::with_capacity(fields.len());
        for (field, value) in fields.into_iter().zip(values) {
            match value {
                Some(Ok(value)) => {
                    insert(&mut object, field.node.response_key().node.clone(), value);
                }
                Some(Err(error)) => ctx.add_error(error),
                None => {}
            }
        }
        Ok(if object.is_empty() { Value::Null } else { Value::Object(object) })
    }

    /// A field, unlike a fragment. Its directives don't matter here: who skips fields has done so
    /// before.
    fn plain_field(selection: &Positioned<Selection>) -> Option<&Positioned<Field>> {
        match &selection.node {
            Selection::Field(field) => Some(field),
            Selection::FragmentSpread(_) | Selection::InlineFragment(_) => None,
        }
    }

    fn insert(object: &mut IndexMap<Name, Value>, key: Name, value: Value) {
        match object.entry(key) {
            Entry::Vacant(free) => drop(free.insert(value)),
            Entry::Occupied(mut taken) => merge(taken.get_mut(), value),
        }
    }

    /// What was selected below one key in two places.
    fn merge(into: &mut Value, more: Value) {
        match (into, more) {
            (Value::Object(into), Value::Object(more)) => {
                more.into_iter().for_each(|(key, value)| insert(into, key, value));
            }
            (Value::List(into), Value::List(more)) => {
                into.iter_mut().zip(more).for_each(|(into, more)| merge(into, more));
            }
            _ => {} // the same
        }
    }

    async fn resolve_field<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
        field: &'a Positioned<Field>,
    ) -> ServerResult<Value> {
        if field.node.name.node == "__typename" {
            return Ok(Value::String(root.introspection_type_name().into_owned()));
        }
        let ctx = ctx.with_field(field);
        Ok(root.resolve_field(&ctx).await?.unwrap_or_default())
    }
}
