//! Values that many subscribers follow, such as the hits of a page. One task for each key reads the value, however many
//! subscribers in this gateway follow it.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{sync::watch, time::sleep};

use crate::{app::App, locks::lock};

/// The keys that have subscribers in this gateway, each with its value. A gateway has one of these per key type and
/// value type, so `V` is a type of the room's own.
pub struct Watched<K, V>(Mutex<HashMap<K, Arc<watch::Sender<V>>>>);

/// A key with subscribers, in the hands of its task. Dropping it ends the subscriptions.
pub struct Watching<K: Eq + Hash, V> {
    watched: Arc<Watched<K, V>>,
    key: K,
    value: Arc<watch::Sender<V>>,
}

impl<K, V> Default for Watched<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K, V> Watched<K, V>
where
    K: Eq + Hash + Clone + Send + 'static,
    V: Default + Send + Sync + 'static,
{
    /// Subscribes to a key. If it has no subscribers yet, its value is the default one, and `task` is spawned to update
    /// it. The task returns when [`Watching::wait`] says so.
    pub fn subscribe<T>(
        app: &App,
        key: K,
        task: impl FnOnce(App, Watching<K, V>) -> T,
    ) -> watch::Receiver<V>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let (receiver, first) = app.shared::<Self>().join(key);
        if let Some(watching) = first {
            tokio::spawn(task(app.clone(), watching).boxed());
        }
        receiver
    }

    /// Subscribes to a key. The first subscriber also gets what the task needs.
    fn join(self: Arc<Self>, key: K) -> (watch::Receiver<V>, Option<Watching<K, V>>) {
        let mut all = lock(&self.0);
        if let Some(value) = all.get(&key) {
            return (value.subscribe(), None);
        }
        let (value, receiver) = watch::channel(V::default());
        let value = Arc::new(value);
        all.insert(key.clone(), Arc::clone(&value));
        drop(all);
        (receiver, Some(Watching { watched: self, key, value }))
    }
}

impl<K: Eq + Hash, V> Watching<K, V> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Updates the value. The subscribers are notified if `update` returns `true`.
    pub fn update(&self, update: impl FnOnce(&mut V) -> bool) {
        self.value.send_if_modified(update);
    }

    /// Waits for a change, but not longer than `limit`, and returns whether there was one. `None` tells the task to
    /// return: there are no subscribers any more, or `changed` returned `false` because its source has ended.
    pub async fn wait(&self, limit: Duration, changed: impl Future<Output = bool>) -> Option<bool> {
        let has_changed = tokio::select! {
            is_open = changed => if is_open { true } else { return None },
            () = sleep(limit) => false,
        };
        self.has_subscribers().then_some(has_changed)
    }

    /// Whether the key has subscribers. If not, it is removed under the same lock, so that no subscriber joins a task that
    /// ends.
    fn has_subscribers(&self) -> bool {
        let mut all = lock(&self.watched.0);
        let has_subscribers = self.value.receiver_count() > 0;
        if !has_subscribers {
            all.remove(&self.key);
        }
        has_subscribers
    }
}

impl<K: Eq + Hash, V> Drop for Watching<K, V> {
    fn drop(&mut self) {
        let mut all = lock(&self.watched.0);
        // After its removal, a new subscriber may have started another task for the key.
        if all.get(&self.key).is_some_and(|value| Arc::ptr_eq(value, &self.value)) {
            all.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);

    fn join(
        watched: &Arc<Watched<&'static str, u32>>,
        key: &'static str,
    ) -> (watch::Receiver<u32>, Option<Watching<&'static str, u32>>) {
        Arc::clone(watched).join(key)
    }

    #[tokio::test]
    async fn one_task_serves_all_subscribers_of_a_key() {
        let watched = Arc::default();
        let (mut first, task) = join(&watched, "a");
        let task = task.expect("the task of the first subscriber");
        let (mut second, none) = join(&watched, "a");
        assert!(none.is_none());
        assert!(join(&watched, "b").1.is_some(), "another key has a task of its own");

        task.update(|value| {
            *value = 1;
            true
        });
        for subscriber in [&mut first, &mut second] {
            subscriber.changed().await.expect("a change");
            assert_eq!(*subscriber.borrow_and_update(), 1);
        }
        task.update(|_| false);
        assert!(!first.has_changed().expect("open"));
        assert_eq!(task.wait(SHORT, ready(true)).await, Some(true));
        assert_eq!(task.wait(SHORT, pending()).await, Some(false));
    }

    #[tokio::test]
    async fn a_task_ends_after_the_last_subscriber_and_leaves_its_successor() {
        let watched = Arc::default();
        let (subscriber, task) = join(&watched, "a");
        let task = task.expect("a task");
        drop(subscriber);
        assert_eq!(task.wait(SHORT, ready(true)).await, None);

        let (_subscriber, successor) = join(&watched, "a");
        let successor = successor.expect("another task");
        drop(task);
        assert!(join(&watched, "a").1.is_none(), "the key still has its task");
        assert_eq!(successor.wait(SHORT, pending()).await, Some(false));
    }

    #[tokio::test]
    async fn the_end_of_the_source_ends_the_subscriptions() {
        let watched = Arc::default();
        let (mut subscriber, task) = join(&watched, "a");
        let task = task.expect("a task");
        assert_eq!(task.wait(SHORT, ready(false)).await, None);
        drop(task);
        assert!(subscriber.changed().await.is_err());
        assert!(join(&watched, "a").1.is_some(), "the next subscriber begins anew");
    }
}
