//! The claim with the roles of a token.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{config::Config, graphql::requester::Role};

/// The claim with the roles, as `auth_roles_claim` names it: the name of a claim, or with a leading slash a
/// JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)), such as `/realm_access/roles`.
#[derive(Debug, Clone)]
pub struct RolesClaim {
    steps: Vec<String>,
    /// The roles that each name grants, from the key `roles`.
    granted: BTreeMap<String, Vec<Role>>,
}

impl RolesClaim {
    /// The claim of a configuration. Roles that don't exist are left out; see [`Self::faults`].
    pub fn of(config: &Config) -> Self {
        let claim = config.auth_roles_claim.as_str();
        let steps = match claim.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => vec![claim.to_owned()],
        };
        let granted = match &config.roles {
            none if none.is_empty() => {
                Role::ALL.map(|role| (role.name().to_owned(), vec![role])).into()
            }
            roles => roles.iter().map(|(name, roles)| (name.clone(), known(roles))).collect(),
        };
        Self { steps, granted }
    }

    /// Faults of the key `roles`, each as a sentence.
    pub(super) fn faults(config: &Config) -> Vec<String> {
        let all = Role::ALL.map(Role::name).join(", ");
        let granted = config.roles.iter();
        let granted = granted.flat_map(|(name, roles)| roles.iter().map(move |role| (name, role)));
        let unknown = granted.filter(|(_, role)| Role::from_name(role).is_none());
        unknown
            .map(|(name, role)| format!("roles: {name} grants {role:?}, which is none of {all}"))
            .collect()
    }

    /// The roles that a name grants; none if the name is unknown.
    pub fn granted(&self, name: &str) -> &[Role] {
        self.granted.get(name).map_or(&[], Vec::as_slice)
    }

    /// All known names.
    pub fn names(&self) -> Vec<&str> {
        self.granted.keys().map(String::as_str).collect()
    }

    /// The roles of a token, from a list of names or from a text with names separated by spaces, such as
    /// `scope`. Unknown names and other values are ignored.
    pub(super) fn read(&self, claims: &Value) -> Vec<Role> {
        let found = self.steps.iter().try_fold(claims, |value, step| value.get(step));
        let names: Vec<&str> = match found {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(names)) => names.split(' ').collect(),
            _ => Vec::new(),
        };
        names.into_iter().flat_map(|name| self.granted(name)).copied().collect()
    }

    /// Claims that hold only these roles.
    pub fn claims(&self, roles: &[&str]) -> Map<String, Value> {
        let mut value = Value::from(roles);
        for step in self.steps.iter().rev() {
            value = Value::Object(Map::from_iter([(step.clone(), value)]));
        }
        match value {
            Value::Object(claims) => claims,
            _ => Map::new(),
        }
    }
}

fn known(names: &[String]) -> Vec<Role> {
    names.iter().filter_map(|name| Role::from_name(name)).collect()
}
