//! async-graphql with another implementation of resolving objects.
//!
//! The crate has the library's own name, because the library's macros refer to it. It re-exports the library,
//! except for two functions of [`resolver_utils`]. Most fields are resolved at once, and the library's allocation,
//! task and wake-up for each field would cost more than the field. [`direct`] adds a shorter path for prepared
//! operations, which can return [`text`]. Mutation fields that follow each other can be resolved together, as
//! [`rows`]. Root objects can be [`merged`] of several ones. The [`size`] of a response can be limited.

pub mod direct;
pub mod merged;
pub mod rows;
pub mod size;
pub mod text;

pub use upstream::*;

/// The functions that the library's macros call.
pub mod resolver_utils {
    use std::{
        borrow::Cow,
        future::poll_fn,
        pin::Pin,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
        task::Poll::Ready,
    };

    use futures_util::{
        FutureExt,
        future::{join_all, maybe_done},
    };
    use upstream::{
        Context, ContextSelectionSet, OutputType, Positioned, ServerError, ServerResult, Value,
        parser::types::{Field, Selection},
        registry::Registry,
    };

    pub use upstream::resolver_utils::*;

    use crate::{
        rows::{Resolve, Rows},
        size::{Budget, budget},
        text::{AsText, Object},
    };

    /// Resolves an object. Its fields are started in their order, and fields that have to wait run concurrently.
    /// As in the library, the key of a failed field is missing.
    ///
    /// A selection with fragments is left to the library: only the library can see the object behind an
    /// interface or union. The library's extensions and custom directives aren't called. Neither are the
    /// guards of an object's field that is selected on an interface: there the method itself has to check the
    /// requester.
    ///
    /// # Errors
    /// A fragment is unknown.
    pub async fn resolve_container<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
    ) -> ServerResult<Value> {
        let budget = budget(ctx);
        if !has_fields_only(ctx) {
            if is_full(ctx, budget) {
                return Ok(Value::Null);
            }
            let object = upstream::resolver_utils::resolve_container(ctx, &Located(root)).await?;
            if let Some(budget) = budget {
                budget.charge_object(ctx, &object);
            }
            return Ok(object);
        }
        let selections = &ctx.item.node.items;
        let next = AtomicUsize::new(0);
        // The futures are large, and therefore boxed where they are created.
        let start = || maybe_done(run(ctx, root, &next, budget).boxed());
        let mut first = start();
        poll_once(&mut first).await;
        if let Some(whole) = Pin::new(&mut first).take_output() {
            return Ok(whole.into_value());
        }
        let mut runs = vec![first];
        while next.load(Relaxed) < selections.len() {
            let mut run = start();
            poll_once(&mut run).await;
            runs.push(run);
        }
        join_all(&mut runs).await;
        // Each run has resolved the fields directly after those of the previous run.
        let mut objects = runs.iter_mut().filter_map(|run| Pin::new(run).take_output());
        let Some(mut object) = objects.next() else { return Ok(Value::Null) };
        objects.for_each(|more| object.append(more));
        Ok(object.into_value())
    }

    /// Like [`resolve_container`], but one field after the other: each is started after the previous one has
    /// completed. Fields of a [row](Rows) are resolved together.
    ///
    /// # Errors
    /// A fragment is unknown.
    pub async fn resolve_container_serial<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
    ) -> ServerResult<Value> {
        if !has_fields_only(ctx) {
            return upstream::resolver_utils::resolve_container_serial(ctx, &Located(root)).await;
        }
        let fields = ctx.item.node.items.iter().filter_map(|one| match &one.node {
            Selection::Field(field) => Some(field),
            _ => None,
        });
        let fields: Vec<_> = fields.collect();
        let has_rows = |rows: &&Rows| fields.len() > 1 || rows.first(&fields).is_some();
        let Some(rows) = ctx.data_opt::<Rows>().filter(has_rows) else {
            return Ok(run(ctx, root, &AtomicUsize::new(0), budget(ctx)).await.into_value());
        };
        let mut object = Object::new(ctx.data_opt::<AsText>().is_some(), fields.len());
        let mut rest = &fields[..];
        while let [first, ..] = *rest {
            let row = rows.first(rest);
            let (fields, others) = rest.split_at(row.map_or(1, |(_, count)| count));
            rest = others;
            let values = match row {
                Some((resolve, _)) => resolve_row(ctx, resolve, fields).await,
                None => vec![resolve_field(ctx, root, first).await],
            };
            for (field, value) in fields.iter().zip(values) {
                match value {
                    Ok(value) => object.put(&field.node.response_key().node, value),
                    Err(error) => ctx.add_error(error),
                }
            }
        }
        Ok(object.into_value())
    }

    fn has_fields_only(ctx: &ContextSelectionSet<'_>) -> bool {
        let is_field = |one: &Positioned<Selection>| matches!(one.node, Selection::Field(_));
        ctx.item.node.items.iter().all(is_field)
    }

    async fn poll_once(future: &mut (impl Future + Unpin)) {
        poll_fn(|waker| Ready(future.poll_unpin(waker).is_ready())).await;
    }

    /// Resolves one field after the other, from the first that isn't started. While a field has to wait, the next
    /// run resolves the fields after it.
    async fn run<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
        next: &AtomicUsize,
        budget: Option<&Budget>,
    ) -> Object {
        let selections = &ctx.item.node.items;
        let as_text = ctx.data_opt::<AsText>().is_some();
        let mut object = Object::new(as_text, selections.len() - next.load(Relaxed));
        loop {
            // Directives don't matter here: skipped fields were removed before.
            let at = next.fetch_add(1, Relaxed);
            let Some(Selection::Field(field)) = selections.get(at).map(|one| &one.node) else {
                return object;
            };
            if is_full(ctx, budget) {
                return object;
            }
            let key = &field.node.response_key().node;
            match resolve_field(ctx, root, field).await {
                Ok(value) => {
                    if let Some(budget) = budget {
                        budget.charge_field(key, &value);
                    }
                    object.put(key, value);
                }
                Err(error) if budget.is_none_or(|budget| budget.charge_error(&error.message)) => {
                    ctx.add_error(error);
                }
                Err(_) => {}
            }
        }
    }

    /// Whether the fields of an object aren't resolved, because the response is too large already. Fields of a root always
    /// are: a mutation is never done in part.
    fn is_full(ctx: &ContextSelectionSet<'_>, budget: Option<&Budget>) -> bool {
        ctx.path_node.is_some() && budget.is_some_and(Budget::is_exceeded)
    }

    async fn resolve_row<'a>(
        ctx: &ContextSelectionSet<'a>,
        resolve: Resolve,
        fields: &[&'a Positioned<Field>],
    ) -> Vec<ServerResult<Value>> {
        let row: Vec<_> = fields.iter().map(|&field| ctx.with_field(field)).collect();
        let values = resolve(&row).await.into_iter().zip(&row);
        let value = |(value, ctx): (ServerResult<Option<Value>>, &Context<'_>)| {
            value.map(Option::unwrap_or_default).map_err(|error| located(ctx, error))
        };
        values.map(value).collect()
    }

    async fn resolve_field<'a, T: ContainerType + ?Sized>(
        ctx: &ContextSelectionSet<'a>,
        root: &'a T,
        field: &'a Positioned<Field>,
    ) -> ServerResult<Value> {
        if field.node.name.node == "__typename" {
            return Ok(Value::String(root.introspection_type_name().into_owned()));
        }
        let value = Located(root).resolve_field(&ctx.with_field(field)).await?;
        Ok(value.unwrap_or_default())
    }

    /// The error with the path of its field, if it has none.
    fn located(ctx: &Context<'_>, error: ServerError) -> ServerError {
        if error.path.is_empty() { ctx.set_error_path(error) } else { error }
    }

    /// Adds the path of a failed field to its error, because interfaces don't.
    struct Located<'b, T: ?Sized>(&'b T);

    impl<T: ContainerType + ?Sized> ContainerType for Located<'_, T> {
        async fn resolve_field(&self, ctx: &Context<'_>) -> ServerResult<Option<Value>> {
            self.0.resolve_field(ctx).await.map_err(|error| located(ctx, error))
        }

        fn collect_all_fields<'a>(
            &'a self,
            ctx: &ContextSelectionSet<'a>,
            fields: &mut Fields<'a>,
        ) -> ServerResult<()> {
            self.0.collect_all_fields(ctx, fields)
        }
    }

    impl<T: ContainerType + ?Sized> OutputType for Located<'_, T> {
        fn type_name() -> Cow<'static, str> {
            T::type_name()
        }

        fn introspection_type_name(&self) -> Cow<'static, str> {
            self.0.introspection_type_name()
        }

        fn create_type_info(registry: &mut Registry) -> String {
            T::create_type_info(registry)
        }

        async fn resolve(
            &self,
            ctx: &ContextSelectionSet<'_>,
            field: &Positioned<Field>,
        ) -> ServerResult<Value> {
            self.0.resolve(ctx, field).await
        }
    }
}
