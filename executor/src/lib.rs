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
        pin::Pin,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::Poll::Ready,
    };

    use futures_util::{
        FutureExt,
        future::{BoxFuture, MaybeDone, join_all, maybe_done},
    };
    use upstream::{
        ContextSelectionSet, Name, Positioned, ServerResult, Value,
        indexmap::{IndexMap, map::Entry},
        parser::types::{Field, Selection},
    };

    pub use upstream::resolver_utils::*;

    /// What the fields of an object were answered with.
    type Object = IndexMap<Name, Value>;

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
        if !selections.iter().all(|selection| matches!(selection.node, Selection::Field(_))) {
            return upstream::resolver_utils::resolve_container(ctx, root).await;
        }
        let next = AtomicUsize::new(0);
        let mut first = begun(run(ctx, root, &next)).await;
        if let Some(whole) = Pin::new(&mut first).take_output() {
            return Ok(answer(whole));
        }
        let mut runs = vec![first];
        while next.load(Relaxed) < selections.len() {
            runs.push(begun(run(ctx, root, &next)).await);
        }
        join_all(&mut runs).await;
        // Each has resolved what comes right behind the fields of the one before.
        let mut object = Object::with_capacity(selections.len());
        for more in runs.iter_mut().filter_map(|run| Pin::new(run).take_output()) {
            more.into_iter().for_each(|(key, value)| insert(&mut object, key, value));
        }
        Ok(answer(object))
    }

    /// A run, polled for the first time.
    async fn begun<'a>(
        run: impl Future<Output = Object> + Send + 'a,
    ) -> MaybeDone<BoxFuture<'a, Object>> {
        let mut run = maybe_done(run.boxed());
        poll_fn(|waker| Ready(run.poll_unpin(waker))).await.is_ready();
        run
    }

    /// Resolves one field after the other, from the first that isn't begun. While one has to wait, those
    /// behind it are for the next run.
    async fn run<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
        next: &AtomicUsize,
    ) -> Object {
        let selections = &ctx.item.node.items;
        let mut object = Object::with_capacity(selections.len() - next.load(Relaxed));
        loop {
            // Directives don't matter here: who skips fields has done so before.
            let at = next.fetch_add(1, Relaxed);
            let Some(Selection::Field(field)) = selections.get(at).map(|one| &one.node) else {
                return object;
            };
            match resolve_field(ctx, root, field).await {
                Ok(value) => {
                    insert(&mut object, field.node.response_key().node.clone(), value);
                }
                Err(error) => ctx.add_error(error),
            }
        }
    }

    fn answer(object: Object) -> Value {
        if object.is_empty() { Value::Null } else { Value::Object(object) }
    }

    fn insert(object: &mut Object, key: Name, value: Value) {
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
