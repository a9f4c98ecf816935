//! Objects that many subscribers get. Their fields are resolved once for all subscribers whose operations select the same,
//! if the responses are [text](async_graphql::text).

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
};

use async_graphql::{
    ContextSelectionSet, Name, OutputType, Positioned, ServerResult, Value, parser::types::Field,
    registry::Registry, size::Budget,
};
use bytes::Bytes;

use crate::locks::lock;

/// Identifies what an operation selects below its root fields. It is part of a subscription's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape(pub [u8; 32]);

/// Number and size of the texts that are kept for one object. Other selections are resolved for each subscriber.
const TEXTS: usize = 8;
const BYTES: usize = 512 << 10;

/// An object of a subscription that many subscribers get. Cheap to clone.
///
/// No field below it may depend on the caller: what one subscriber gets, all get. Who may subscribe at all is checked
/// before.
pub struct Shared<T>(Arc<Inner<T>>);

struct Inner<T> {
    object: T,
    texts: Mutex<Vec<Text>>,
}

/// What was resolved for a selection.
struct Text {
    shape: Shape,
    /// Response key of the root field.
    key: Name,
    json: Bytes,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shared<T> {
    /// Nothing is resolved yet.
    pub fn new(object: T) -> Self {
        Self(Arc::new(Inner { object, texts: Mutex::default() }))
    }

    fn find(&self, shape: Shape, key: &Name) -> Option<Bytes> {
        let texts = lock(&self.0.texts);
        let found = texts.iter().find(|text| text.shape == shape && text.key == *key)?;
        Some(found.json.clone())
    }

    fn keep(&self, shape: Shape, key: &Name, text: &Bytes) {
        let mut texts = lock(&self.0.texts);
        let bytes: usize = texts.iter().map(|text| text.json.len()).sum();
        if texts.len() < TEXTS && bytes + text.len() <= BYTES {
            texts.push(Text { shape, key: key.clone(), json: text.clone() });
        }
    }
}

impl<T: OutputType> OutputType for Shared<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn introspection_type_name(&self) -> Cow<'static, str> {
        self.0.object.introspection_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        context: &ContextSelectionSet<'_>,
        field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        let Some(shape) = context.data_opt::<Shape>().copied() else {
            return self.0.object.resolve(context, field).await;
        };
        let key = &field.node.response_key().node;
        if let Some(text) = self.find(shape, key) {
            return Ok(Value::Binary(text));
        }
        let value = self.0.object.resolve(context, field).await?;
        let has_errors = context.query_env.errors.lock().is_ok_and(|errors| !errors.is_empty());
        // Of a response that is too large the rest wasn't resolved.
        let is_cut = context.data_opt::<Arc<Budget>>().is_some_and(|budget| budget.is_exceeded());
        if let (Value::Binary(text), false) = (&value, has_errors || is_cut) {
            self.keep(shape, key, text);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use async_graphql::{EmptyMutation, Object, Request, Response, Schema, Subscription, text};
    use futures_util::{Stream, StreamExt, stream};

    use super::*;

    /// Counts how often its field is resolved.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    #[Object]
    impl Counted {
        async fn resolved(&self) -> usize {
            self.0.fetch_add(1, Relaxed) + 1
        }

        async fn fails(&self) -> async_graphql::Result<Option<usize>> {
            Err(format!("the {}.", self.0.fetch_add(1, Relaxed)).into())
        }
    }

    struct Query;

    #[Object]
    impl Query {
        async fn nothing(&self) -> bool {
            false
        }
    }

    struct Root(Shared<Counted>);

    #[Subscription]
    impl Root {
        async fn counted(&self) -> impl Stream<Item = Shared<Counted>> + use<> {
            stream::iter([self.0.clone()])
        }
    }

    type Counts = Schema<Query, EmptyMutation, Root>;

    async fn asked(schema: &Counts, query: &str, shape: u8) -> Response {
        let request = text::requested(Request::new(query).data(Shape([shape; 32])));
        schema.execute_stream(request).next().await.expect("a response")
    }

    #[tokio::test]
    async fn an_object_is_resolved_once_for_each_selection() {
        let root = Root(Shared::new(Counted::default()));
        let schema = Schema::new(Query, EmptyMutation, root);
        let counted = async |query: &str, shape| {
            let mut json = Vec::new();
            text::write(&asked(&schema, query, shape).await.data, &mut json);
            String::from_utf8(json).expect("text")
        };
        let query = "subscription { counted { resolved } }";
        for _ in 0..3 {
            assert_eq!(counted(query, 1).await, r#"{"counted":{"resolved":1}}"#);
        }
        assert_eq!(counted(query, 2).await, r#"{"counted":{"resolved":2}}"#);
        // Another root field of the same operation.
        let other = "subscription { other: counted { resolved } }";
        assert_eq!(counted(other, 1).await, r#"{"other":{"resolved":3}}"#);
        assert_eq!(counted(query, 1).await, r#"{"counted":{"resolved":1}}"#);
        // Beyond the bound each is resolved.
        for shape in 3..30 {
            counted(query, shape).await;
        }
        assert_ne!(counted(query, 29).await, counted(query, 29).await);
    }

    #[tokio::test]
    async fn what_is_cut_is_not_shared() {
        let root = Root(Shared::new(Counted::default()));
        let schema = Schema::new(Query, EmptyMutation, root);
        let query = "subscription { counted { resolved again: resolved more: resolved } }";
        let budget = Budget::of(20);
        let request = Request::new(query).data(Shape([1; 32])).data(Arc::clone(&budget));
        let cut = schema.execute_stream(text::requested(request)).next().await;
        assert!(cut.is_some() && budget.is_exceeded());
        let mut json = Vec::new();
        text::write(&asked(&schema, query, 1).await.data, &mut json);
        let json = String::from_utf8(json).expect("text");
        assert!(json.contains("again") && json.contains("more"), "{json}");
    }

    #[tokio::test]
    async fn a_failure_is_not_shared() {
        let root = Root(Shared::new(Counted::default()));
        let schema = Schema::new(Query, EmptyMutation, root);
        let query = "subscription { counted { fails } }";
        for expected in ["the 0.", "the 1."] {
            assert_eq!(asked(&schema, query, 1).await.errors[0].message, expected);
        }
    }
}
