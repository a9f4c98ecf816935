// Results that are pushed, as an async iterator.

/** `begin` gets `{next, error, complete}` and answers what ends the following. */
export function pulled(begin) {
  const waiting = [];
  const arrived = [];
  const hand = (step) => (waiting.length > 0 ? step(waiting.shift()) : arrived.push(step));
  const end = begin({
    next: (value) => hand(({ resolve }) => resolve({ value, done: false })),
    error: (fault) => hand(({ reject }) => reject(fault)),
    complete: () => hand(({ resolve }) => resolve({ value: undefined, done: true })),
  });
  return {
    next: () =>
      new Promise((resolve, reject) => {
        const step = arrived.shift();
        if (step) step({ resolve, reject });
        else waiting.push({ resolve, reject });
      }),
    return: async () => end(),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
