// What a suite has found.

/** Names with results, in the order in which they were checked. */
export class Checks {
  results = [];

  /** Runs one check; that it fails doesn't end the suite. The time is for a busy machine, on which others run beside it. */
  async check(name, run, seconds = 600) {
    try {
      await within(seconds, run());
      this.results.push({ name, passed: true });
    } catch (fault) {
      this.results.push({ name, passed: false });
      console.error(`failed: ${name}\n${indented(told(fault))}`);
    }
  }

  get passed() {
    return this.results.filter((result) => result.passed).length;
  }

  get failed() {
    return this.results.length - this.passed;
  }
}

/** Why a suite can't run here, such as a browser that is missing. */
export class CannotRun extends Error {}

/** What `promise` comes to, or an error after so many seconds. */
export function within(seconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Asks again and again until `ask` answers something true. */
export async function eventually(ask, seconds = 300) {
  const until = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > until) throw new Error(`it didn't come about within ${seconds} s: ${ask}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** An error by its stack, a socket's end by its code, anything else as it is. */
function told(fault) {
  if (fault?.stack) return fault.stack;
  return fault?.code ? `closed with ${fault.code} ${fault.reason ?? ""}` : JSON.stringify(fault);
}

const indented = (text) => String(text).replace(/^/gm, "    ");
