//! Preparing operations: each document is parsed and validated once.
//!
//! The stored results don't depend on the variables. The library validates a document when it is new. For a
//! known document only the variables are checked. If they may not have the types that the operation declares,
//! the library validates the request again.

use std::sync::Arc;

use async_graphql::{
    Name, Request, Value, Variables,
    parser::types::{BaseType, VariableDefinition},
};
use quick_cache::{Weighter, sync::Cache};

use super::{
    cost::{MAX_COST, Seen, measure, measure_unused},
    document::{Operation, PreparedDocument},
    limits::Limits,
    prepared::PreparedOperation,
    types::{Types, takes},
};
use crate::{error::Error, graphql::many};

/// Maximum total size of the cached documents in bytes. A parsed document takes many times as much memory.
const MAX_BYTES: u64 = 512 << 10;
/// Size in bytes above which a document isn't cached.
const MAX_DOCUMENT: usize = 32 << 10;
/// Expected number of documents; only the first allocation depends on it.
const EXPECTED: usize = 256;
/// Number of selections that any flattened document may have; longer documents may have more.
const SELECTIONS: usize = 100;

/// The cache of prepared operations, by document.
#[derive(Debug)]
pub struct PreparedOperations {
    cache: Cache<String, Arc<PreparedDocument>, ByLength>,
    limits: Limits,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<String, Arc<PreparedDocument>> for ByLength {
    fn weight(&self, text: &String, _: &Arc<PreparedDocument>) -> u64 {
        text.len() as u64
    }
}

/// The preparation of one request, before its operation is executed.
#[derive(Debug)]
pub struct Preparation {
    /// The requested operation; `None` if the document can't be parsed or has no such operation.
    pub operation: Option<PreparedOperation>,
    /// Whether the document was cached.
    pub is_known: bool,
    /// Whether the operation and these variables are known to be valid. Otherwise the library has to validate
    /// them, and `operation` is in the form in which the client wrote it.
    pub is_validated: bool,
    /// Estimated number of objects of the response.
    pub cost: usize,
}

impl PreparedOperations {
    /// An empty cache, for operations within `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { cache: Cache::with_weighter(EXPECTED, MAX_BYTES, ByLength), limits }
    }

    /// The limits of operations.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Parses the document of a request, or takes it from the cache, and prepares the request for execution.
    /// Variables that aren't given get their defaults.
    ///
    /// # Errors
    /// `TooComplex` if a limit is exceeded; `BadInput` if the operation uses introspection and may not, or if
    /// a variable is missing or is a list and must not be.
    pub fn prepare(&self, types: &Types, request: &mut Request) -> Result<Preparation, Error> {
        let name = request.operation_name.as_deref();
        let known = self.cache.get(request.query.as_str());
        let is_known = known.is_some();
        if !is_known {
            self.limits.check_text(&request.query)?;
        }
        let document = match known {
            Some(document) => Some(document),
            None => self.parse(types, &request.query)?,
        };
        let found = document.as_ref();
        let found =
            found.and_then(|document| Some((document.index_of(name)?, Arc::clone(document))));
        let Some((index, document)) = found else {
            // The library validates it all the same.
            if let Some(document) = document.filter(|_| !is_known) {
                request.set_parsed_query(document.executable());
            }
            many::expand(&mut request.variables, |_, _| false);
            return Ok(Preparation { operation: None, is_known, is_validated: false, cost: 0 });
        };
        let Operation { definition: operation, cost, .. } = &document.operations[index];
        // The library, which validates what isn't known yet, needs values.
        many::expand(&mut request.variables, |name, list| {
            let mut definitions = operation.node.variable_definitions.iter();
            let declared = definitions.find(|one| one.node.name.node == *name);
            is_known && declared.is_some_and(|one| takes(&one.node.var_type.node, list))
        });
        for definition in &operation.node.variable_definitions {
            let VariableDefinition { name, var_type, default_value, .. } = &definition.node;
            if let Some(default) = default_value {
                let given = request.variables.entry(name.node.clone());
                given.or_insert_with(|| default.node.clone());
            }
            let given = request.variables.get(&name.node);
            if let (Some(Value::List(_)), BaseType::Named(_)) = (given, &var_type.node.base) {
                // The measured cost relies on the declared types to tell which variables are lists.
                let reason = format!("is a list: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
            if !var_type.node.nullable && given.is_none_or(|given| *given == Value::Null) {
                let reason = format!("must be given: it is of type {}", var_type.node);
                return Err(Error::bad_input(format!("variables.{}", name.node), reason));
            }
        }
        // Undeclared variables would be kept for as long as a subscription is open.
        let declared = &operation.node.variable_definitions;
        let is_declared = |name: &Name| declared.iter().any(|one| one.node.name.node == *name);
        request.variables.retain(|name, _| is_declared(name));
        let cost = if let Some(cost) = cost {
            *cost
        } else {
            let (limits, fragments, mut seen) =
                (&self.limits, &document.fragments, Seen::default());
            measure(types, limits, fragments, &operation.node, &request.variables, &mut seen)?.cost
        };
        let is_null =
            |name: &Name| request.variables.get(name).is_none_or(|value| *value == Value::Null);
        let has_null_choice = || {
            document.choices.iter().any(|name| is_declared(name) && is_null(name))
                && !document.null_choices(types, index, &request.variables).is_empty()
        };
        let is_validated = is_known
            && types.invalid_variable(&operation.node, &request.variables).is_none()
            && !has_null_choice();
        if !is_validated {
            many::expand(&mut request.variables, |_, _| false);
        }
        // The flattened operation may not contain all variables and fragments of the client's document.
        let original = Some(&request.query).filter(|_| is_known && !is_validated);
        let original = original.and_then(|text| PreparedDocument::parse(types, text));
        let original = original.and_then(|document| {
            let index = document.index_of(name)?;
            Some((index, Arc::new(document)))
        });
        let (index, document) = if is_validated {
            (index, document.omitting(index, &request.variables))
        } else {
            original.unwrap_or((index, document))
        };
        let operation = Some(PreparedOperation::new(document, index, &request.variables));
        Ok(Preparation { operation, is_known, is_validated, cost })
    }

    /// Flattens a valid document and adds it to the cache. The current request is then executed in the same form
    /// as later ones.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` if the fields of an operation can't be merged, or can't be executed once
    /// and in order.
    pub fn add(
        &self,
        types: &Types,
        request: &Request,
        operation: &PreparedOperation,
    ) -> Result<PreparedOperation, Error> {
        let text = &request.query;
        let budget = SELECTIONS + text.len() / 4;
        let document = Arc::new(operation.document.flattened(types, budget)?);
        if text.len() <= MAX_DOCUMENT {
            self.cache.insert(text.clone(), Arc::clone(&document));
        }
        let document = document.omitting(operation.index, &request.variables);
        Ok(PreparedOperation::new(document, operation.index, &request.variables))
    }

    /// Parses and measures a document that isn't cached; `None` if it can't be parsed.
    ///
    /// # Errors
    /// `TooComplex` or `BadInput` for any of its operations, not only the requested one: the limits are
    /// checked for all of them.
    fn parse(&self, types: &Types, text: &str) -> Result<Option<Arc<PreparedDocument>>, Error> {
        let Some(mut document) = PreparedDocument::parse(types, text) else { return Ok(None) };
        let (none, mut seen) = (Variables::default(), Seen::default());
        let (limits, fragments) = (&self.limits, &document.fragments);
        for operation in document.operations.values_mut() {
            let definition = &operation.definition.node;
            operation.cost = match measure(types, limits, fragments, definition, &none, &mut seen) {
                Ok(measured) => Some(measured.cost).filter(|_| measured.is_fixed),
                // The cost may be lower with the request's variables.
                Err(Error::TooComplex { limit: MAX_COST, .. }) => None,
                Err(error) => return Err(error),
            };
        }
        measure_unused(types, limits, fragments, &mut seen)?;
        Ok(Some(Arc::new(document)))
    }
}
