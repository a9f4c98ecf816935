//! The types of the schema, read from its SDL. They determine the shape of responses and the valid values of
//! variables.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Positioned, Value, Variables,
    indexmap::{IndexMap, IndexSet},
    parser::types::{
        BaseType, FieldDefinition, InputObjectType, InputValueDefinition, OperationDefinition,
        OperationType, ServiceDocument, Type, TypeKind, TypeSystemDefinition, VariableDefinition,
    },
};
use bytes::Bytes;

use crate::graphql::{many, scalars};

/// Name of the root type of queries.
pub(super) const QUERY: &str = "Query";
/// The scalars of the specification, which a schema doesn't declare.
const SPECIFIED: [&str; 5] = ["Boolean", "Float", "ID", "Int", "String"];

/// The types of a schema.
#[derive(Debug, Default)]
pub struct Types {
    fields: HashMap<String, HashMap<String, Type>>,
    /// The possible object types, by abstract type.
    possible: HashMap<String, HashSet<String>>,
    /// The seconds of `@cacheControl`, by object or interface and field.
    ages: HashMap<String, HashMap<String, u32>>,
    inputs: HashMap<String, Input>,
    /// The names of the scalars that the schema declares.
    scalars: HashSet<String>,
    /// The type of each argument, and whether it may be omitted, by object or interface, field and argument.
    arguments: HashMap<[String; 3], (Type, bool)>,
}

/// A type of variables other than a scalar.
#[derive(Debug)]
pub(super) enum Input {
    Enum(IndexSet<String>),
    Object {
        /// The type of each field, and whether the field may be omitted.
        fields: IndexMap<String, (Type, bool)>,
        /// Whether exactly one non-null field is required (`@oneOf`).
        one_of: bool,
    },
}

impl Types {
    /// The types of a schema in the schema definition language.
    pub fn of(schema: &ServiceDocument) -> Self {
        let mut types = Self::default();
        for definition in &schema.definitions {
            let TypeSystemDefinition::Type(found) = definition else { continue };
            let name = found.node.name.node.to_string();
            match &found.node.kind {
                TypeKind::Object(object) => {
                    for interface in &object.implements {
                        let of = types.possible.entry(interface.node.to_string()).or_default();
                        of.insert(name.clone());
                    }
                    types.ages.insert(name.clone(), ages(&object.fields));
                    types.arguments.extend(arguments(&name, &object.fields));
                    types.fields.insert(name, output_fields(&object.fields));
                }
                TypeKind::Interface(interface) => {
                    types.ages.insert(name.clone(), ages(&interface.fields));
                    types.arguments.extend(arguments(&name, &interface.fields));
                    types.fields.insert(name, output_fields(&interface.fields));
                }
                TypeKind::Union(union) => {
                    let members = union.members.iter().map(|member| member.node.to_string());
                    types.possible.entry(name.clone()).or_default().extend(members);
                    types.fields.insert(name, HashMap::new());
                }
                TypeKind::Enum(found) => {
                    let values = found.values.iter().map(|value| value.node.value.node.to_string());
                    types.inputs.insert(name, Input::Enum(values.collect()));
                }
                TypeKind::InputObject(object) => {
                    let directives = &found.node.directives;
                    let one_of = directives.iter().any(|found| found.node.name.node == "oneOf");
                    let fields = input_fields(object);
                    types.inputs.insert(name, Input::Object { fields, one_of });
                }
                TypeKind::Scalar => {
                    types.scalars.insert(name);
                }
            }
        }
        types
    }

    /// The type of a field; `None` for `__typename` and in introspection.
    pub(super) fn field(&self, of: &str, name: &str) -> Option<&Type> {
        self.fields.get(of)?.get(name)
    }

    /// The type of an argument of a field, and whether it may be omitted.
    pub(super) fn argument(&self, of: &str, field: &str, argument: &str) -> Option<&(Type, bool)> {
        self.arguments.get(&[of, field, argument].map(str::to_owned))
    }

    /// The names of the arguments of a field.
    pub(super) fn arguments_of(&self, of: &str, field: &str) -> impl Iterator<Item = &str> {
        let is_of = move |names: &&[String; 3]| names[0] == of && names[1] == field;
        self.arguments.keys().filter(is_of).map(|names| names[2].as_str())
    }

    /// An enum or input object.
    pub(super) fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.get(name)
    }

    /// The names of the enums, input objects and scalars of the specification.
    pub(super) fn input_names(&self) -> impl Iterator<Item = &str> {
        self.inputs.keys().map(String::as_str).chain(SPECIFIED)
    }

    /// The names of the objects, interfaces and unions.
    pub(super) fn composite_names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Seconds for which a response with this field may be cached, by its `@cacheControl`.
    pub(super) fn max_age(&self, of: &str, name: &str) -> Option<u32> {
        self.ages.get(of)?.get(name).copied()
    }

    /// The names of a type's fields.
    pub fn fields_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.get(name).into_iter().flat_map(|fields| fields.keys().map(String::as_str))
    }

    /// Whether it is an object, interface or union of the schema; false for the types of introspection.
    pub(super) fn is_composite(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whether there is a type of this name; false for the types of introspection.
    pub(super) fn is_known(&self, name: &str) -> bool {
        let is_scalar = SPECIFIED.contains(&name) || self.scalars.contains(name);
        is_scalar || self.inputs.contains_key(name) || self.is_composite(name)
    }

    /// Whether it is an interface or a union.
    pub(super) fn is_abstract(&self, name: &str) -> bool {
        self.possible.contains_key(name)
    }

    /// The object types of both, sorted by name; `None` if the first isn't a union. The library doesn't expose
    /// the members of unions.
    pub(super) fn members(&self, union: &str, of: &str) -> Option<Vec<&str>> {
        let is_union = self.fields.get(union).is_some_and(HashMap::is_empty);
        let objects = self.possible.get(union).filter(|_| is_union)?;
        let objects = objects.iter().map(String::as_str);
        let mut both: Vec<_> = objects.filter(|object| self.applies(of, object)).collect();
        both.sort_unstable();
        Some(both)
    }

    /// Whether a fragment on `condition` applies to objects of `type_name`.
    pub(super) fn applies(&self, condition: &str, type_name: &str) -> bool {
        condition == type_name
            || self.possible.get(condition).is_some_and(|objects| objects.contains(type_name))
    }

    /// Whether a fragment on `condition` applies to values that are declared as `of`. `None` if that depends
    /// on the value, or if the fields of the fragment can only be selected within it.
    pub(super) fn surely_applies(&self, condition: &str, of: &str) -> Option<bool> {
        let Some(objects) = self.possible.get(of) else {
            return Some(self.applies(condition, of));
        };
        if condition == of {
            return Some(true);
        }
        let applying = objects.iter().filter(|object| self.applies(condition, object)).count();
        match applying {
            0 => Some(false),
            all if all == objects.len() && self.has_fields_of(of, condition) => Some(true),
            _ => None,
        }
    }

    /// Whether type `name` has all fields of type `of`. A union has no fields, even if all its members have
    /// some.
    fn has_fields_of(&self, name: &str, of: &str) -> bool {
        let (Some(own), Some(other)) = (self.fields.get(name), self.fields.get(of)) else {
            return false;
        };
        other.keys().all(|field| own.contains_key(field))
    }

    /// The first variable whose value isn't of the type that the operation declares.
    pub(super) fn invalid_variable<'a>(
        &self,
        operation: &'a OperationDefinition,
        variables: &Variables,
    ) -> Option<&'a VariableDefinition> {
        let is_valid = |definition: &VariableDefinition| {
            let ty = &definition.var_type.node;
            match variables.get(&definition.name.node) {
                Some(value) => self.is_valid(ty, value),
                None => ty.nullable,
            }
        };
        let definitions = operation.variable_definitions.iter();
        let mut definitions = definitions.map(|definition| &definition.node);
        definitions.find(|definition| !is_valid(definition))
    }

    fn is_valid(&self, ty: &Type, value: &Value) -> bool {
        match (&ty.base, value) {
            (_, Value::Null) => ty.nullable,
            (BaseType::List(inner), Value::List(values)) => {
                values.iter().all(|value| self.is_valid(inner, value))
            }
            (BaseType::List(_), Value::Binary(list)) => takes(ty, list),
            (BaseType::List(inner), value) => self.is_valid(inner, value),
            // Most values are scalars.
            (BaseType::Named(name), value) if scalars::is_valid(name, value) => true,
            (BaseType::Named(name), value) => match self.inputs.get(name.as_str()) {
                Some(Input::Enum(values)) => match value {
                    Value::Enum(name) => values.contains(name.as_str()),
                    Value::String(name) => values.contains(name),
                    _ => false,
                },
                Some(Input::Object { fields, one_of }) => match value {
                    Value::Object(given) => {
                        let mut missing = fields.values().filter(|(_, optional)| !optional).count();
                        let known = |(name, value): (&async_graphql::Name, &Value)| {
                            let field = fields.get(name.as_str());
                            field.is_some_and(|(ty, optional)| {
                                missing -= usize::from(!optional);
                                self.is_valid(ty, value) && !(*one_of && *value == Value::Null)
                            })
                        };
                        given.iter().all(known) && (!one_of || given.len() == 1) && missing == 0
                    }
                    _ => false,
                },
                None => false,
            },
        }
    }
}

fn output_fields(fields: &[Positioned<FieldDefinition>]) -> HashMap<String, Type> {
    let field = |field: &Positioned<FieldDefinition>| {
        (field.node.name.node.to_string(), field.node.ty.node.clone())
    };
    fields.iter().map(field).collect()
}

fn arguments(
    of: &str,
    fields: &[Positioned<FieldDefinition>],
) -> impl Iterator<Item = ([String; 3], (Type, bool))> {
    fields.iter().flat_map(move |field| {
        let field = &field.node;
        field.arguments.iter().map(move |argument| {
            let names = [of, field.name.node.as_str(), argument.node.name.node.as_str()];
            let names = names.map(str::to_owned);
            (names, typed(&argument.node))
        })
    })
}

fn ages(fields: &[Positioned<FieldDefinition>]) -> HashMap<String, u32> {
    let age = |field: &Positioned<FieldDefinition>| {
        let mut directives = field.node.directives.iter();
        let hint = directives.find(|found| found.node.name.node == "cacheControl")?;
        let seconds = match &hint.node.get_argument("maxAge")?.node {
            Value::Number(seconds) => seconds.as_u64()?,
            _ => return None,
        };
        Some((field.node.name.node.to_string(), u32::try_from(seconds).ok()?))
    };
    fields.iter().filter_map(age).collect()
}

fn input_fields(object: &InputObjectType) -> IndexMap<String, (Type, bool)> {
    let fields = object.fields.iter();
    fields.map(|field| (field.node.name.node.to_string(), typed(&field.node))).collect()
}

/// The type of an argument or of a field of an input object, and whether it may be omitted.
fn typed(input: &InputValueDefinition) -> (Type, bool) {
    let ty = input.ty.node.clone();
    let optional = ty.nullable || input.default_value.is_some();
    (ty, optional)
}

/// Whether a list that was parsed with its request is a value of this type.
pub(super) fn takes(ty: &Type, list: &Bytes) -> bool {
    let BaseType::List(element) = &ty.base else { return false };
    matches!(&element.base, BaseType::Named(name) if many::is_of(list, name))
}

/// The name of the innermost type.
pub(super) fn named(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(inner) => named(inner),
    }
}

/// The root type of operations of this type.
pub(super) fn root(ty: OperationType) -> &'static str {
    match ty {
        OperationType::Query => QUERY,
        OperationType::Mutation => "Mutation",
        OperationType::Subscription => "Subscription",
    }
}
