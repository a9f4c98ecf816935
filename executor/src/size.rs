//! A limit on the size of a response while it is made. A short query can ask for the same long text under many names, for
//! each object of a list.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering::Relaxed},
};

use upstream::{ContextSelectionSet, Value};

/// The bytes that the response of a request may still have; data of the request. Keys, values and errors count. Beyond the
/// limit no field below the root is resolved any more, and no error is kept: the response isn't complete, and can't be
/// sent. The responses of a subscription are made one after the other, and have the budget one after the other.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    /// Below zero if the response is too large.
    left: AtomicI64,
}

/// Approximate size in bytes of an error without its message.
const ERROR: usize = 512;
/// Approximate size in bytes of what surrounds a value, and of a number.
const OVERHEAD: usize = 8;

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self { limit: bytes, left: AtomicI64::new(signed(bytes)) })
    }

    /// Whether the response has become too large.
    pub fn is_exceeded(&self) -> bool {
        self.left.load(Relaxed) < 0
    }

    /// Allows the next response of a subscription as many bytes as the one before.
    pub fn renew(&self) {
        self.left.store(signed(self.limit), Relaxed);
    }

    fn charge(&self, bytes: usize) {
        self.left.fetch_sub(signed(bytes), Relaxed);
    }

    /// Charges a field. Objects in its value have been charged.
    pub(crate) fn charge_field(&self, key: &str, value: &Value) {
        self.charge(key.len() + own(value));
    }

    /// Charges an object that the library has resolved. The library keeps the errors of its fields itself.
    pub(crate) fn charge_object(&self, ctx: &ContextSelectionSet<'_>, object: &Value) {
        if let Value::Object(fields) = object {
            fields.iter().for_each(|(key, value)| self.charge_field(key, value));
        }
        let errors = ctx.query_env.errors.lock().map_or(0, |errors| errors.len());
        if errors.saturating_mul(ERROR) > self.limit {
            self.left.store(-1, Relaxed);
        }
    }

    /// Charges an error. Returns whether it is kept.
    pub(crate) fn charge_error(&self, message: &str) -> bool {
        let is_kept = !self.is_exceeded();
        self.charge(ERROR + message.len());
        is_kept
    }
}

/// The budget of the response that an object is a part of.
pub(crate) fn budget<'a>(ctx: &ContextSelectionSet<'a>) -> Option<&'a Budget> {
    ctx.data_opt::<Arc<Budget>>().map(|budget| &**budget)
}

/// Size in bytes of a value without the objects in it.
fn own(value: &Value) -> usize {
    OVERHEAD
        + match value {
            Value::String(text) => text.len(),
            Value::Enum(name) => name.len(),
            Value::List(values) => values.iter().map(own).sum(),
            _ => 0,
        }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
