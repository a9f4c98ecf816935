//! Declared interfaces: an interface has the fields that all its members have.
//!
//! ```text
//! interface! {
//!     /// Something that can be bought.
//!     pub enum Product: Album | Film | Book;
//! }
//! ```
//!
//! A field that is selected on the interface is resolved by the member, with its guard. The library's own macro
//! needs a second declaration of each field, and doesn't call guards.

use async_graphql::{
    OutputType,
    indexmap::{IndexMap, IndexSet},
    registry::{MetaField, MetaType, MetaTypeId, Registry},
};

/// Registers the interface `I` with its members. Its fields follow in [`complete`], because the types of the
/// members' fields may contain the interface.
pub fn register<I: OutputType>(
    registry: &mut Registry,
    about: &str,
    members: &[fn(&mut Registry) -> String],
) -> String {
    registry.create_output_type::<I, _>(MetaTypeId::Interface, |registry| {
        let mut possible_types = IndexSet::new();
        for member in members {
            let name = member(registry).trim_end_matches('!').to_owned();
            registry.add_implements(&name, &I::type_name());
            possible_types.insert(name);
        }
        MetaType::Interface {
            name: I::type_name().into_owned(),
            description: Some(about.trim().to_owned()),
            fields: IndexMap::new(),
            possible_types,
            extends: false,
            keys: None,
            visible: None,
            inaccessible: false,
            tags: Vec::new(),
            rust_typename: Some(std::any::type_name::<I>()),
            directive_invocations: Vec::new(),
            requires_scopes: Vec::new(),
        }
    })
}

/// The description of a field of an interface: interface, field, description.
pub type OfInterface = (&'static str, &'static str, &'static str);

/// Gives each declared interface its fields. This is done after all types are registered. `own` holds the descriptions
/// that differ from those of the members.
pub fn complete(registry: &mut Registry, own: &[OfInterface]) {
    let mut found = Vec::new();
    for (name, kind) in &registry.types {
        let MetaType::Interface { fields, possible_types, .. } = kind else { continue };
        if fields.is_empty() {
            let members = possible_types.iter().filter_map(|member| registry.types.get(member));
            found.push((name.clone(), common(members.filter_map(MetaType::fields))));
        }
    }
    for (name, common) in found {
        if let Some(MetaType::Interface { fields, .. }) = registry.types.get_mut(&name) {
            *fields = common;
            for (_, field, text) in own.iter().filter(|(of, ..)| *of == name) {
                if let Some(field) = fields.get_mut(*field) {
                    field.description = Some((*text).to_owned());
                }
            }
        }
    }
}

/// The fields that all members have, in the order and with the descriptions and directives of the first member.
fn common<'a>(
    members: impl Iterator<Item = &'a IndexMap<String, MetaField>> + Clone,
) -> IndexMap<String, MetaField> {
    let fields = members.clone().next().into_iter().flatten();
    let is_common = |name: &str| members.clone().all(|fields| fields.contains_key(name));
    let of_interface = |field: &MetaField| {
        let line = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        MetaField {
            description: field.description.as_ref().map(line),
            compute_complexity: None,
            ..field.clone()
        }
    };
    fields
        .filter(|(name, _)| is_common(name))
        .map(|(name, field)| (name.clone(), of_interface(field)))
        .collect()
}

/// Declares an interface; see [`interface`](crate::graphql::interface).
macro_rules! interface {
    (
        $(#[doc = $about:literal])+ $(#[derive($derive:ident)])?
        pub enum $name:ident: $($member:ident)|+;
    ) => {
        $(#[doc = $about])+
        #[derive(Debug $(, $derive)?)]
        pub enum $name {
            $($member($member),)+
        }

        impl async_graphql::resolver_utils::ContainerType for $name {
            async fn resolve_field(
                &self,
                context: &async_graphql::Context<'_>,
            ) -> async_graphql::ServerResult<Option<async_graphql::Value>> {
                match self {
                    $(Self::$member(member) => {
                        async_graphql::resolver_utils::ContainerType::resolve_field(member, context).await
                    })+
                }
            }

            fn collect_all_fields<'a>(
                &'a self,
                context: &async_graphql::ContextSelectionSet<'a>,
                fields: &mut async_graphql::resolver_utils::Fields<'a>,
            ) -> async_graphql::ServerResult<()> {
                match self {
                    $(Self::$member(member) => {
                        async_graphql::resolver_utils::ContainerType::collect_all_fields(
                            member, context, fields,
                        )
                    })+
                }
            }
        }

        impl async_graphql::OutputType for $name {
            fn type_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn introspection_type_name(&self) -> std::borrow::Cow<'static, str> {
                match self {
                    $(Self::$member(_) => <$member as async_graphql::OutputType>::type_name(),)+
                }
            }

            fn create_type_info(registry: &mut async_graphql::registry::Registry) -> String {
                let about = concat!($($about, "\n"),+);
                let members = [$(<$member as async_graphql::OutputType>::create_type_info as _),+];
                $crate::graphql::interface::register::<Self>(registry, about, &members)
            }

            async fn resolve(
                &self,
                context: &async_graphql::ContextSelectionSet<'_>,
                _: &async_graphql::Positioned<async_graphql::parser::types::Field>,
            ) -> async_graphql::ServerResult<async_graphql::Value> {
                async_graphql::resolver_utils::resolve_container(context, self).await
            }
        }
    };
}

pub(crate) use interface;
