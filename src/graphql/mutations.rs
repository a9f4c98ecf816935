//! Declared mutations and their results. A mutation calls the operation of its name; its result is what the operation
//! returns, or one of the refusals.

/// Declares the results of mutations: the returned object, or one of the refusals. `Document => Thing` also converts
/// the document that the operation returns. `Thing + Other` is an object of one of several types. `of Value` names what
/// the operation returns if that is something else.
macro_rules! result {
    () => {};
    (
        returns $value:ty;
        $(#[$meta:meta])*
        pub enum $name:ident: $thing:ident $(+ $more:ident)* $(| $refusal:ident)*; $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, async_graphql::Union)]
        #[allow(clippy::large_enum_variant, reason = "one is made per answer and moved on at once")]
        pub enum $name {
            $thing($thing),
            $( $more($more), )*
            $( $refusal($refusal), )*
        }

        impl $crate::graphql::refusals::MutationResult for $name {
            type Value = $value;
            const NAME: &'static str = stringify!($name);
            const ROOM: &'static str = $crate::graphql::mutations::room_of(module_path!());

            fn missing(
                refusal: $crate::graphql::refusals::NotFound,
            ) -> $crate::graphql::refusals::Stop<Self> {
                $crate::graphql::mutations::missing!(refusal; $($refusal)*)
            }
        }

        $crate::graphql::mutations::result! { $($rest)* }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $thing:ident $(+ $more:ident)* $(| $refusal:ident)*; $($rest:tt)*
    ) => {
        $crate::graphql::mutations::result! {
            returns $thing;
            $(#[$meta])* pub enum $name: $thing $(+ $more)* $(| $refusal)*; $($rest)*
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident of $value:ident:
            $thing:ident $(+ $more:ident)* $(| $refusal:ident)*; $($rest:tt)*
    ) => {
        $crate::graphql::mutations::result! {
            returns $value;
            $(#[$meta])* pub enum $name: $thing $(+ $more)* $(| $refusal)*; $($rest)*
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $document:ty => $thing:ident $(| $refusal:ident)*; $($rest:tt)*
    ) => {
        impl From<$document> for $name {
            fn from(document: $document) -> Self {
                Self::$thing(document.into())
            }
        }

        $crate::graphql::mutations::result! {
            returns $document;
            $(#[$meta])* pub enum $name: $thing $(| $refusal)*; $($rest)*
        }
    };
}

/// Converts the fault that a document can't exist to the result's member `NotFound`. A mutation that names no document
/// has a result without this member.
macro_rules! missing {
    ($refusal:ident; NotFound $($rest:ident)*) => { $refusal.into() };
    ($refusal:ident; $other:ident $($rest:ident)*) => {
        $crate::graphql::mutations::missing!($refusal; $($rest)*)
    };
    ($refusal:ident;) => {
        $crate::graphql::refusals::Stop::Failed($crate::error::Error::internal($refusal.message))
    };
}

/// The room in which a module lies.
///
/// # Panics
/// The module lies outside of the rooms. In a constant that is a fault of the build.
pub const fn room_of(module: &'static str) -> &'static str {
    const ROOMS: &str = concat!(env!("CARGO_CRATE_NAME"), "::domains::");
    let (module, rooms) = (module.as_bytes(), ROOMS.as_bytes());
    assert!(module.len() > rooms.len(), "a result belongs to a room");
    let mut end = 0;
    while end < rooms.len() {
        assert!(module[end] == rooms[end], "a result belongs to a room");
        end += 1;
    }
    while end < module.len() && module[end] != b':' {
        end += 1;
    }
    let room = module.split_at(end).0.split_at(rooms.len()).1;
    match std::str::from_utf8(room) {
        Ok(room) => room,
        // Names are cut only at colons.
        Err(_) => "",
    }
}

/// Declares the mutation fields of a room. The field `f(Input) -> Result by editor` calls `operations::f` of the
/// room with the context and the input. `f(Input, file)` also reads the file that the input's field `file` names,
/// and passes it to the operation. With `via`, a function converts what the operation returns. `by` is the guard and the
/// last line of the description, see [`who!`](crate::graphql::requester).
///
/// A field is nullable: if it fails, the results of the other fields of the request stay. The declaration also
/// imports the types of the room.
macro_rules! mutations {
    (
        $(#[$meta:meta])*
        pub struct $name:ident;
        $(
            $(#[$field_meta:meta])*
            $field:ident($input:ident $(, $file:ident)?) -> $result:ident $(via $via:ident)?
                $(by $who:ident)?;
        )*
    ) => {
        #[allow(unused_imports, clippy::wildcard_imports, reason = "inputs and results have long names")]
        use super::types::*;

        $(#[$meta])*
        #[derive(Default)]
        pub struct $name;

        #[async_graphql::Object]
        impl $name {
            $(
                $(#[$field_meta])*
                $(
                    #[doc = ""]
                    #[doc = $crate::graphql::requester::who!(text $who)]
                    #[graphql(guard = $crate::graphql::requester::who!(guard $who))]
                )?
                async fn $field(
                    &self,
                    context: &async_graphql::Context<'_>,
                    input: $input,
                ) -> async_graphql::Result<Option<$result>> {
                    let cx = $crate::graphql::cx::cx(context);
                    $( let $file = $crate::graphql::upload::incoming(context, input.$file).await?; )?
                    // The futures of the merged objects around it contain that of each field.
                    let operation = Box::pin(operations::$field(cx, input $(, $file)?));
                    // If one of its reads were refused for their bytes, the operation would have to be finished later.
                    let outcome = $crate::mongo::read_bytes::uncounted(operation).await;
                    $( let outcome = $via(outcome); )?
                    $crate::graphql::refusals::answer(outcome)
                }
            )*
        }
    };
}

pub(crate) use {missing, mutations, result};
