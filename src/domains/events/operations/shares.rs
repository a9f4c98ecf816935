//! Limits of a gateway for what its callers use together, and the share of each subject.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::error::Error;

/// What is used of one resource.
#[derive(Default)]
pub(super) struct Used(Mutex<Amounts>);

#[derive(Default)]
struct Amounts {
    all: usize,
    by_subject: HashMap<String, usize>,
}

/// How much may be used at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// In all.
    pub(super) all: usize,
    /// By one subject. A use that is larger is permitted if it is the subject's only one.
    pub(super) each: usize,
}

/// The permit of one use, which ends when this is dropped.
pub(super) struct Permit {
    used: Arc<Used>,
    subject: String,
    amount: usize,
}

impl Used {
    fn amounts(&self) -> MutexGuard<'_, Amounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a use of this amount.
    ///
    /// # Errors
    /// `Overloaded` if there isn't so much left.
    pub(super) fn permit(
        self: Arc<Self>,
        most: Most,
        subject: &str,
        amount: usize,
    ) -> Result<Permit, Error> {
        let mut amounts = self.amounts();
        let own = amounts.by_subject.get(subject).copied().unwrap_or(0);
        let fits = own == 0 || own + amount <= most.each;
        if !fits || amounts.all + amount > most.all {
            return Err(Error::Overloaded);
        }
        amounts.all += amount;
        amounts.by_subject.insert(subject.to_owned(), own + amount);
        drop(amounts);
        Ok(Permit { used: self, subject: subject.to_owned(), amount })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut amounts = self.used.amounts();
        amounts.all -= self.amount;
        if let Some(own) = amounts.by_subject.get_mut(&self.subject) {
            *own -= self.amount;
            if *own == 0 {
                amounts.by_subject.remove(&self.subject);
            }
        }
    }
}
