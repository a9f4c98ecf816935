//! The claim with the roles of a token.

use serde_json::{Map, Value};

use crate::graphql::requester::Role;

/// The claim with the roles, as `auth_roles_claim` names it: the name of a claim, or with a leading slash a
/// JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)), such as `/realm_access/roles`.
#[derive(Debug, Clone)]
pub struct RolesClaim {
    steps: Vec<String>,
}

impl RolesClaim {
    /// Parses the name or pointer.
    pub fn new(claim: &str) -> Self {
        let steps = match claim.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => vec![claim.to_owned()],
        };
        Self { steps }
    }

    /// The roles of a token, from a list of names or from a text with names separated by spaces, such as
    /// `scope`. Unknown names and other values are ignored.
    pub(super) fn read(&self, claims: &Value) -> Vec<Role> {
        let found = self.steps.iter().try_fold(claims, |value, step| value.get(step));
        match found {
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).filter_map(Role::from_name).collect()
            }
            Some(Value::String(names)) => names.split(' ').filter_map(Role::from_name).collect(),
            _ => Vec::new(),
        }
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
