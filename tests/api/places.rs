//! The places in the arguments of root fields, and calls with a value at one of them: for tests of a rule that holds
//! wherever the schema has an id.

use std::sync::LazyLock;

use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind,
};
use docgate::{domains::ROOMS, graphql::node_id::NodeKind};

use crate::roles::Contract;

/// Where an argument or a field of an input object stands, from the root field on.
pub type Path = Vec<String>;

/// Ids that are the caller's to choose, or that aren't of things.
pub const OTHERS: [&str; 7] =
    ["idempotencyKey", "version", "userId", "toUserId", "toUserIds", "authorId", "customerId"];

/// Every place below a root field for which `is_wanted` holds: of this name, and of this type.
fn places(
    contract: &Contract,
    field: &FieldDefinition,
    is_wanted: &impl Fn(&str, &str) -> bool,
) -> Vec<Path> {
    let mut found = Vec::new();
    for one in &field.arguments {
        let root = [field.name.node.to_string()];
        collect(contract, &one.node, &root, is_wanted, &mut found);
    }
    found
}

fn collect(
    contract: &Contract,
    one: &InputValueDefinition,
    above: &[String],
    is_wanted: &impl Fn(&str, &str) -> bool,
    found: &mut Vec<Path>,
) {
    let mut path = above.to_vec();
    path.push(one.name.node.to_string());
    let name = base(&one.ty.node);
    if is_wanted(&one.name.node, name) {
        found.push(path);
    } else if let Some(TypeKind::InputObject(input)) = contract.find(name).map(|of| &of.kind) {
        for field in &input.fields {
            collect(contract, &field.node, &path, is_wanted, found);
        }
    }
}

pub fn base(of: &Type) -> &str {
    match &of.base {
        BaseType::List(inner) => base(inner),
        BaseType::Named(name) => name,
    }
}

/// What the id at a place is of; `None` for SKUs and things. An argument `cartId` takes the id of a cart, and `id` that of
/// the root field's type.
pub fn kind(path: &[String]) -> Option<NodeKind> {
    let (root, name) = (path[0].as_str(), path[path.len() - 1].as_str());
    let named = |name: &str| {
        let mut kinds = ROOMS.iter().flat_map(|room| room.nodes).map(|of| of.kind);
        kinds.find(|kind| kind.name().eq_ignore_ascii_case(name))
    };
    Some(match name {
        // Things have no global ids.
        "sku" | "skus" | "thingId" | "containerId" => return None,
        "toPlaceId" => NodeKind::PLACE,
        "toCharacterId" => NodeKind::CHARACTER,
        "sourceId" | "destinationId" => NodeKind::ACCOUNT,
        "subjectId" | "ownerId" | "ids" => NodeKind::PRODUCT,
        "pictureId" | "imageId" => NodeKind::ASSET,
        "replyToId" => NodeKind::COMMENT,
        "parentId" if root.ends_with("Category") => NodeKind::CATEGORY,
        "parentId" => NodeKind::CONTENT,
        // Any id of a thing fits.
        "id" if root == "node" => NodeKind::PRODUCT,
        "id" => {
            let roots = ["Query", "Mutation", "Subscription"].map(|of| CONTRACT.fields(of));
            let mut fields = roots.into_iter().flatten();
            let of = fields.find(|field| field.name.node == root).map(|field| &field.ty.node);
            of.and_then(|of| named(base(of)))
                .unwrap_or_else(|| panic!("{path:?}: name the kind of this id in `kind`"))
        }
        name => named(name.trim_end_matches('s').trim_end_matches("Id"))
            .unwrap_or_else(|| panic!("{path:?}: name the kind of this id in `kind`")),
    })
}

/// The schema.
static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

/// A sound id of something that isn't there; the key itself where an SKU is expected.
pub fn nothing(path: &[String], key: &str) -> String {
    match kind(path) {
        None => key.to_owned(),
        Some(kind @ NodeKind::COMMENT) => kind.id(&format!("product:{key}:{key}")).0,
        Some(kind) => kind.id(key).0,
    }
}

/// A call with a variable at one place.
pub struct Prepared {
    /// The place.
    pub place: Path,
    /// The document; its variable is `$it`.
    pub text: String,
}

/// The arguments of a call, with `$it` at the place and sound values in all others that are needed.
struct Call<'a> {
    contract: &'a Contract,
    place: &'a [String],
}

impl Call<'_> {
    fn text(&self, operation: &str, field: &FieldDefinition) -> String {
        let at = vec![field.name.node.to_string()];
        let arguments = field.arguments.iter().filter_map(|one| self.value(&one.node, &at));
        let arguments: Vec<_> = arguments.collect();
        let name = base(&field.ty.node);
        let mut selected = vec!["__typename"];
        if name.ends_with("Connection") {
            selected = vec!["edges { cursor }"];
        } else if let Some(TypeKind::Union(union)) = self.contract.find(name).map(|of| &of.kind) {
            let has = |member: &str| union.members.iter().any(|one| one.node.as_str() == member);
            selected.extend(has("NotFound").then_some("... on NotFound { what id }"));
            selected.extend(has("InvalidInput").then_some("... on InvalidInput { field }"));
        }
        format!(
            "{operation}($it: {}!) {{ {}({}) {{ {} }} }}",
            self.kind(field),
            field.name.node,
            arguments.join(", "),
            selected.join(" ")
        )
    }

    /// The type at the place.
    fn kind(&self, field: &FieldDefinition) -> String {
        let mut of = None;
        let mut fields = &field.arguments;
        for step in &self.place[1..] {
            let found = fields.iter().find(|one| one.node.name.node == *step).expect("a field");
            of = Some(base(&found.node.ty.node));
            match of.and_then(|of| self.contract.find(of)).map(|found| &found.kind) {
                Some(TypeKind::InputObject(input)) => fields = &input.fields,
                _ => break,
            }
        }
        of.expect("a type").to_owned()
    }

    /// An argument with its value; none where it can be left out and isn't on the way to the place.
    fn value(&self, one: &InputValueDefinition, above: &[String]) -> Option<String> {
        let mut at = above.to_vec();
        at.push(one.name.node.to_string());
        let is_on_way = self.place.starts_with(&at);
        // A price is set where there is one.
        let is_wanted = !one.ty.node.nullable || one.name.node == "retail";
        if !is_on_way && (!is_wanted || one.default_value.is_some()) {
            return None;
        }
        let value = self.literal(&one.ty.node, &at);
        Some(format!("{}: {value}", one.name.node))
    }

    fn literal(&self, of: &Type, at: &[String]) -> String {
        let name = at[at.len() - 1].as_str();
        if let BaseType::List(inner) = &of.base {
            return match name {
                _ if self.place.starts_with(at) => format!("[{}]", self.literal(inner, at)),
                "all" => "[{key: \"a\", exists: true}]".to_owned(),
                "names" => "[{locale: \"en\", name: \"a\"}]".to_owned(),
                _ => "[]".to_owned(),
            };
        }
        if self.place == at {
            return "$it".to_owned();
        }
        let of = base(of);
        match self.contract.find(of).map(|found| &found.kind) {
            Some(TypeKind::InputObject(input)) => {
                let mut fields: Vec<_> = input.fields.iter().map(|field| &field.node).collect();
                if self.contract.is_one_of(of) {
                    let way = self.place.get(at.len()).filter(|_| self.place.starts_with(at));
                    fields.retain(|field| way.is_none_or(|way| field.name.node == *way));
                    fields.truncate(1);
                    let only = fields[0];
                    let mut below = at.to_vec();
                    below.push(only.name.node.to_string());
                    let value = self.literal(&only.ty.node, &below);
                    return format!("{{{}: {value}}}", only.name.node);
                }
                let fields: Vec<_> =
                    fields.into_iter().filter_map(|field| self.value(field, at)).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Some(TypeKind::Enum(values)) => values.values[0].node.value.node.to_string(),
            _ => match (of, name) {
                ("Float" | "Int" | "Long", _) => "1".to_owned(),
                ("Boolean", _) => "true".to_owned(),
                ("CurrencyCode", _) => "\"EUR\"".to_owned(),
                ("LocaleTag", _) => "\"en\"".to_owned(),
                ("Date", _) => "\"2020-01-01\"".to_owned(),
                ("DateTime", "to") => "\"2020-01-02T00:00:00Z\"".to_owned(),
                ("DateTime", _) => "\"2020-01-01T00:00:00Z\"".to_owned(),
                (_, "country") => "\"DE\"".to_owned(),
                ("ID", _) if !OTHERS.contains(&name) => format!("{:?}", nothing(at, "another")),
                _ => "\"a\"".to_owned(),
            },
        }
    }
}

/// A call for each place for which `is_wanted` holds: of this name, and of this type.
pub fn calls(
    contract: &Contract,
    root: &str,
    is_wanted: impl Fn(&str, &str) -> bool,
) -> Vec<Prepared> {
    let mut all = Vec::new();
    for field in contract.fields(root) {
        for place in places(contract, field, &is_wanted) {
            let text = Call { contract, place: &place }.text(&root.to_lowercase(), field);
            all.push(Prepared { place, text });
        }
    }
    all
}
