//! Declared inputs of which a call has many. The library's own inputs copy each value out of the object that holds it, and
//! so the values of a list once for the list and once for each element. These move them.

use async_graphql::{Name, Value, indexmap::IndexMap};

/// The values of the fields with these names.
pub fn taken<const N: usize>(
    object: IndexMap<Name, Value>,
    names: &[String; N],
) -> [Option<Value>; N] {
    let mut values = [const { None }; N];
    for (name, value) in object {
        // The fields are few, and comparing names is cheaper than hashing them.
        let position = names.iter().position(|known| name == *known);
        if let Some(taken) = position.and_then(|position| values.get_mut(position)) {
            *taken = Some(value);
        }
    }
    values
}

/// Declares inputs like [`input!`](crate::graphql::declared::input). The fields take no attributes but their descriptions.
/// A list of an input with `: Element` can be [parsed with its request](crate::graphql::many).
macro_rules! bulk_input {
    () => {};
    (from_json $name:ident {
        $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(where $check:expr)?, )*
    }) => {
        const _: () = {
            use serde::{
                Deserializer,
                de::{Error as _, MapAccess, Visitor},
            };
            use $crate::graphql::many::{Element, FromJson, Json, Position, given};

            const COUNT: usize = [$( stringify!($field) ),*].len();
            static NAMES: std::sync::LazyLock<[String; COUNT]> = std::sync::LazyLock::new(|| {
                [$( stringify!($field) ),*].map($crate::graphql::declared::camel_case)
            });

            #[allow(non_camel_case_types, reason = "the names of the fields")]
            enum Field { $( $field, )* }

            struct Fields;

            impl<'de> Visitor<'de> for Fields {
                type Value = $name;

                fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str(stringify!($name))
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                    $( let mut $field = None; )*
                    let (names, mut next) = (NAMES.as_slice(), 0);
                    while let Some(position) = map.next_key_seed(Position { names, next })? {
                        next = position + 1;
                        $(
                            if position == Field::$field as usize {
                                if $field.is_some() {
                                    return Err(A::Error::duplicate_field(stringify!($field)));
                                }
                                $field = Some(map.next_value::<Json<$type>>()?.0);
                            }
                        )*
                    }
                    Ok($name { $( $field: given::<_, A::Error>($field, stringify!($field))?, )* })
                }
            }

            impl FromJson for $name {
                fn from_json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_map(Fields)
                }
            }

            impl Element for $name {
                const FIELDS: usize = COUNT;
            }
        };
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident: Element { $($fields:tt)* }
        $($rest:tt)*
    ) => {
        $crate::graphql::bulk::bulk_input! { $(#[$meta])* pub struct $name { $($fields)* } }
        $crate::graphql::bulk::bulk_input! { from_json $name { $($fields)* } }
        $crate::graphql::bulk::bulk_input! { $($rest)* }
    };
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty $(where $check:expr)?, )*
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize)]
        #[allow(unreachable_pub, reason = "the types of a room may be private")]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        $crate::graphql::declared::input! { checks $name { $( $field $(where $check)?, )* } }
        $( $crate::graphql::declared::input! { keyed $name $field } )*

        const _: () = {
            use async_graphql::{
                InputType, InputValueError, InputValueResult, Name, Value, registry::Registry,
            };

            // What the schema says of it is what the library says of a struct that is declared alike.
            $(#[$meta])*
            #[derive(async_graphql::InputObject)]
            struct $name {
                $( $(#[$field_meta])* $field: $type, )*
            }

            const COUNT: usize = [$( stringify!($field) ),*].len();
            static NAMES: std::sync::LazyLock<[String; COUNT]> = std::sync::LazyLock::new(|| {
                [$( stringify!($field) ),*].map($crate::graphql::declared::camel_case)
            });

            impl InputType for self::$name {
                type RawValueType = Self;

                fn type_name() -> std::borrow::Cow<'static, str> {
                    <$name as InputType>::type_name()
                }

                fn create_type_info(registry: &mut Registry) -> String {
                    <$name as InputType>::create_type_info(registry)
                }

                fn parse(value: Option<Value>) -> InputValueResult<Self> {
                    match value {
                        Some(Value::Object(object)) => {
                            let [$( $field ),*] = $crate::graphql::bulk::taken(object, &NAMES);
                            $(
                                let $field: $type =
                                    InputType::parse($field).map_err(InputValueError::propagate)?;
                            )*
                            Ok(Self { $( $field ),* })
                        }
                        value => Err(InputValueError::expected_type(value.unwrap_or_default())),
                    }
                }

                fn to_value(&self) -> Value {
                    let values = [$( InputType::to_value(&self.$field) ),*];
                    Value::Object(NAMES.iter().map(Name::new).zip(values).collect())
                }

                fn federation_fields() -> Option<String> {
                    <$name as InputType>::federation_fields()
                }

                fn as_raw_value(&self) -> Option<&Self> {
                    Some(self)
                }
            }
        };
    )+};
}

pub(crate) use bulk_input;

#[cfg(test)]
mod tests {
    use async_graphql::{InputType, Value, value};

    bulk_input! {
        /// An input of this test.
        pub struct Thing {
            /// Its name.
            pub own_name: String,
            /// A number.
            pub number: Option<i32>,
        }

        /// Several of them.
        pub struct Things {
            /// All.
            pub all: Vec<Thing>,
        }
    }

    #[test]
    fn values_are_taken_by_their_names() {
        let given =
            value!({ "all": [{ "number": 3, "ownName": "a", "more": [1] }, { "ownName": "b" }] });
        let things = Things::parse(Some(given)).expect("an input");
        let found: Vec<_> =
            things.all.iter().map(|one| (one.own_name.as_str(), one.number)).collect();
        assert_eq!(found, [("a", Some(3)), ("b", None)]);
        let shown = value!({ "all": [{ "ownName": "a", "number": 3 }, { "ownName": "b", "number": null }] });
        assert_eq!(things.to_value(), shown);
        for wrong in [Value::Null, value!([]), value!({ "all": [{ "number": 3 }] })] {
            assert!(Things::parse(Some(wrong.clone())).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_schema_knows_it_by_its_name() {
        let mut registry = async_graphql::registry::Registry::default();
        assert_eq!(Things::create_type_info(&mut registry), "Things!");
        let known: Vec<_> = registry.types.keys().map(String::as_str).collect();
        assert!(known.contains(&"Thing") && known.contains(&"Things"), "{known:?}");
    }
}
