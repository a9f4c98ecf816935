"""The mongod and the two gateways of the roll-out test, and calls to them. Needs the standard library only."""
import json, os, random, secrets, shutil, socket, struct, subprocess, sys, tempfile, time
import collections, http.client, threading, urllib.error, urllib.request

SET = "rollout"
# Settings of the flows in milliseconds, shorter than the default: what a killed gateway leaves is soon overdue.
FLOW = {"RUN": 5_000, "COMMAND": 4_000, "SKEW": 500}
# In place of an error's code: the gateway was killed, or didn't answer in time.
NO_ANSWER = "no answer"
# How often a call without an outcome is repeated, and the seconds in between.
TRIES, PAUSE = 120, 0.5


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def bson(document):
    """The few kinds of BSON that `replSetInitiate` needs."""
    body = b""
    for name, value in document.items():
        key = name.encode() + b"\0"
        if isinstance(value, int):
            body += b"\x10" + key + struct.pack("<i", value)
        elif isinstance(value, str):
            text = value.encode() + b"\0"
            body += b"\x02" + key + struct.pack("<i", len(text)) + text
        elif isinstance(value, list):
            body += b"\x04" + key + bson({str(i): v for i, v in enumerate(value)})
        else:
            body += b"\x03" + key + bson(value)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def command(port, document):
    """Sends a command to the mongod, and returns its reply as bytes."""
    body = struct.pack("<I", 0) + b"\0" + bson(document)
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body)
        return s.recv(4096)


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def wait_until(what, condition):
    for _ in range(1_500):
        if condition():
            return
        time.sleep(0.2)
    sys.exit(what)


class Servers:
    """A mongod, and two gateways on one database of it, `new` and `old`, which `serve` starts. They end with the `with`
    block. `serving` are those to which calls go."""

    # Seconds after which nothing of an interrupted attempt can be written any more.
    grace = sum(FLOW.values()) / 1_000

    def __init__(self, new_binary, old_binary, mongod):
        self.binaries, self.mongod = {"new": new_binary, "old": old_binary}, mongod
        self.ports = {name: free_port() for name in ("mongod", *self.binaries)}
        self.tokens, self.started, self.by_name, self.is_fine = {}, [], {}, False
        self.folder = tempfile.mkdtemp(prefix="docgate-rollout-")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DOCGATE_")} | {
            "DOCGATE_MONGODB_URI": f"mongodb://127.0.0.1:{self.ports['mongod']}/?replicaSet={SET}",
            "DOCGATE_DATABASE": "rollout", "DOCGATE_SECRET": secrets.token_hex(32),
            "DOCGATE_AUTH_HS256_SECRET": secrets.token_hex(32), "DOCGATE_REQUESTS_PER_SECOND": "100000",
            "DOCGATE_SITE_LOCALE": "en", "DOCGATE_PAYMENTS": "ledger", "DOCGATE_PAYMENTS_MERCHANT": "the-merchant"}
        self.env |= {f"DOCGATE_FLOW_{name}_MILLIS": str(millis) for name, millis in FLOW.items()}
        self.serving, self.began = [], time.time()
        # How often each gateway failed, by code.
        self.failures, self.lock = collections.Counter(), threading.Lock()

    def __enter__(self):
        try:
            self.start_mongod()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
            process.wait()
        if self.is_fine:
            shutil.rmtree(self.folder)
        else:
            print("logs are in", self.folder)

    def log(self, name):
        return os.path.join(self.folder, name + ".log")

    def internal_errors(self, name):
        """The lines about internal errors in a gateway's log."""
        with open(self.log(name)) as lines:
            return [line.strip() for line in lines if 'event="internal_error"' in line]

    def start(self, name, arguments, **more):
        log = open(self.log(name), "ab")
        self.started.append(subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **more))
        self.by_name[name] = self.started[-1]

    def stop(self, name):
        """Stops one of the processes, and waits for its end."""
        self.by_name[name].terminate()
        self.by_name[name].wait()

    def kill(self, name):
        """As `stop`, without giving it the time to finish its work."""
        self.by_name[name].kill()
        self.by_name[name].wait()

    def serve(self, name):
        """Starts a gateway, and waits until it listens."""
        listen = {"DOCGATE_LISTEN": f"127.0.0.1:{self.ports[name]}"}
        self.start(name, [self.binaries[name], "serve"], env=self.env | listen)
        wait_until(f"the {name} gateway doesn't listen", lambda: is_open(self.ports[name]))

    def run(self, *arguments, of="new"):
        """Runs a command of a binary."""
        return subprocess.run([self.binaries[of], *arguments], env=self.env, capture_output=True, text=True)

    def start_mongod(self):
        port, data = self.ports["mongod"], os.path.join(self.folder, "db")
        os.mkdir(data)
        self.start("mongod", [self.mongod, "--dbpath", data, "--port", str(port), "--bind_ip", "127.0.0.1",
                              "--nounixsocket", "--replSet", SET, "--setParameter", "notablescan=true"])
        wait_until("mongod doesn't answer", lambda: is_open(port))
        members = [{"_id": 0, "host": f"127.0.0.1:{port}"}]
        assert command(port, {"replSetInitiate": {"_id": SET, "members": members}, "$db": "admin"})
        # The database is that of the old release: in a new one, the new release would put its versions of documents in force.
        # Some of its indexes have other conditions in the new one, which only replaces them with `--drop`.
        for of, more in ("old", []), ("new", ["--drop"]):
            wait_until(f"docgate indexes apply of the {of} binary fails",
                       lambda: self.run("indexes", "apply", *more, of=of).returncode == 0)

    def sign_in(self, who, subject=None, roles=None):
        made = self.run("token", "--sub", subject or who, *(["--roles", roles] if roles else []))
        self.tokens[who] = made.stdout.split()[-1]

    def send(self, gateway, who, query, **variables):
        """The value of the query's first field, or `{"error": …}`."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[gateway]}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"content-type": "application/json", "authorization": "Bearer " + self.tokens[who]})
        try:
            try:
                body = json.load(urllib.request.urlopen(request, timeout=30))
            except urllib.error.HTTPError as fault:
                body = json.load(fault)
        except (OSError, http.client.HTTPException, ValueError) as fault:
            self.failed(gateway, NO_ANSWER)
            return {"error": repr(fault)}
        if not body.get("errors"):
            return next(iter(body["data"].values()))
        self.failed(gateway, body["errors"][0].get("extensions", {}).get("code"))
        return {"error": body["errors"]}

    def failed(self, gateway, code):
        with self.lock:
            self.failures[gateway, code] += 1

    def call(self, gateway, who, mutation, value, fields=""):
        """The result of a mutation."""
        kind = mutation[0].upper() + mutation[1:] + "Input"
        query = f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ __typename {fields} " \
                "... on UserError { code message } } }"
        return self.send(gateway, who, query, input=value) or {"error": "null"}

    def node(self, gateway, who, kind, id, fields):
        return self.send(gateway, who, f"query($id: ID!) {{ node(id: $id) {{ ... on {kind} {{ {fields} }} }} }}", id=id)

    def settle(self, who, mutation, value, fields="", rnd=random):
        """The result of a mutation that may be repeated: after an error it is repeated at the new gateway if that serves,
        since the old one doesn't know every state of the new one."""
        gateway = rnd.choice(self.serving)
        for _ in range(TRIES):
            answer = self.call(gateway, who, mutation, value, fields)
            if "error" not in answer:
                break
            time.sleep(PAUSE)
            gateway = self.serving[0]
        return answer
