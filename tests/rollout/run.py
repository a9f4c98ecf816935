#!/usr/bin/env python3
"""An old and a new gateway serve one database under load, as during a roll-out.

Usage: run.py NEW_BINARY OLD_BINARY MONGOD [SECONDS]

Starts a mongod and both gateways. Eight callers open carts, add lines, check out and transfer, each call at a random gateway, half
of the checkouts at two at once. Then every acknowledged order is read back, the payers' balances are compared with the
orders, and the new binary's `docgate check` has to find nothing. Needs the standard library only.
"""
import json, os, random, secrets, shutil, socket, struct, subprocess, sys, tempfile, threading, time
import urllib.error, urllib.request, uuid

new_binary, old_binary, mongod = sys.argv[1:4]
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 20
FUNDS, PRICE, CALLERS, SKUS = 1_000_000, 100, 8, "abcd"


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


def initiate(port):
    body = struct.pack("<I", 0) + b"\0" + bson({
        "replSetInitiate": {"_id": "rollout", "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]}, "$db": "admin"})
    for _ in range(150):
        try:
            with socket.create_connection(("127.0.0.1", port), 2) as s:
                s.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body)
                assert s.recv(4096)
                return
        except OSError:
            time.sleep(0.2)
    sys.exit("mongod doesn't answer")


folder = tempfile.mkdtemp(prefix="docgate-rollout-")
started = []


def start(name, command, **more):
    log = open(os.path.join(folder, name + ".log"), "wb")
    started.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **more))


def main():
    db_port = free_port()
    os.mkdir(os.path.join(folder, "db"))
    start("mongod", [mongod, "--dbpath", os.path.join(folder, "db"), "--port", str(db_port), "--bind_ip", "127.0.0.1",
                     "--nounixsocket", "--replSet", "rollout", "--setParameter", "notablescan=true"])
    initiate(db_port)
    env = {k: v for k, v in os.environ.items() if not k.startswith("DOCGATE_")} | {
        "DOCGATE_MONGODB_URI": f"mongodb://127.0.0.1:{db_port}/?replicaSet=rollout", "DOCGATE_DATABASE": "rollout",
        "DOCGATE_SECRET": secrets.token_hex(32), "DOCGATE_AUTH_HS256_SECRET": secrets.token_hex(32),
        "DOCGATE_REQUESTS_PER_SECOND": "100000", "DOCGATE_SITE_LOCALE": "en", "DOCGATE_PAYMENTS": "ledger",
        "DOCGATE_PAYMENTS_MERCHANT": "the-merchant"}
    for attempt in range(30):
        built = subprocess.run([new_binary, "indexes", "apply"], env=env, capture_output=True, text=True)
        if built.returncode == 0:
            break
        time.sleep(1)
    else:
        sys.exit("indexes apply: " + built.stdout + built.stderr)
    ports = {"new": free_port(), "old": free_port()}
    for name, binary in (("new", new_binary), ("old", old_binary)):
        start(name, [binary, "serve"], env=env | {"DOCGATE_LISTEN": f"127.0.0.1:{ports[name]}"})

    def token(sub, roles=None):
        command = [new_binary, "token", "--sub", sub] + (["--roles", roles] if roles else [])
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()[-1]

    tokens = {"merchant": token("the-merchant", "merchant"), "service": token("the-service", "service")}
    tokens |= {f"u{i}": token(f"u{i}") for i in range(CALLERS)}

    def call(gateway, who, field, kind, value, fields=""):
        query = f"mutation($input: {kind}!) {{ {field}(input: $input) {{ __typename {fields} " \
                "... on UserError { code message } } }"
        return send(gateway, who, query, {"input": value})

    def send(gateway, who, query, variables):
        request = urllib.request.Request(
            f"http://127.0.0.1:{ports[gateway]}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"content-type": "application/json", "authorization": "Bearer " + tokens[who]})
        try:
            body = json.load(urllib.request.urlopen(request, timeout=30))
        except urllib.error.HTTPError as fault:
            body = json.load(fault)
        return {"error": body["errors"]} if body.get("errors") else next(iter(body["data"].values()))

    for name in ports:
        for _ in range(150):
            try:
                socket.create_connection(("127.0.0.1", ports[name]), 1).close()
                break
            except OSError:
                time.sleep(0.2)
        else:
            sys.exit(f"the {name} gateway doesn't listen")
    for sku in SKUS:
        made = call("new", "merchant", "createProduct", "CreateProductInput", {
            "sku": sku, "content": {"title": sku, "details": {"book": {}}},
            "pricing": {"list": PRICE, "retail": PRICE, "currency": "EUR"}})
        stocked = call("old", "merchant", "receiveStock", "ReceiveStockInput", {"sku": sku, "quantity": 50_000})
        assert "error" not in made and "error" not in stocked, (made, stocked)
    accounts = {}
    for i in range(CALLERS):
        opened = call("new", f"u{i}", "openAccount", "OpenAccountInput", {"currency": "EUR"}, "... on Account { id }")
        accounts[f"u{i}"] = opened["id"]
        call("old", "service", "deposit", "DepositInput", {"accountId": opened["id"], "amount": FUNDS})

    lock, answers, orders, open_ends, faults = threading.Lock(), {}, [], [], []
    order_fields = "... on Order { id total { minorUnits } }"

    def tally(key):
        with lock:
            answers[key] = answers.get(key, 0) + 1

    moved = {user: 0 for user in accounts}

    def transfer(either, user, rnd):
        """One transfer, sent to both gateways under one key: it moves its amount once."""
        other = rnd.choice([one for one in accounts if one != user])
        value = {"sourceId": accounts[user], "destinationId": accounts[other], "amount": 7,
                 "idempotencyKey": uuid.uuid4().hex}
        for _ in range(30):
            answer = call(either(), user, "transfer", "TransferInput", value)
            repeat = call(either(), user, "transfer", "TransferInput", value)
            if "error" not in answer and answer == repeat and answer["__typename"] == "Transfer":
                tally("transfer")
                with lock:
                    moved[user] -= 7
                    moved[other] += 7
                return
            time.sleep(1)
        with lock:
            faults.append(f"no outcome of a transfer: {answer} {repeat}")

    def worker(user, rnd, end):
        while time.time() < end:
            either = lambda: rnd.choice(["new", "old"])
            if rnd.random() < 0.3:
                transfer(either, user, rnd)
            cart = call(either(), user, "openCart", "OpenCartInput", {
                "policy": rnd.choice(["RESERVE", "AT_CHECKOUT"]), "currency": "EUR"}, "... on Cart { id }")
            if "id" not in cart:
                tally("openCart " + json.dumps(cart)[:150])
                continue
            added = 0
            for sku in rnd.sample(SKUS, 2):
                answer = call(either(), user, "addCartLine", "AddCartLineInput", {
                    "cartId": cart["id"], "sku": sku, "quantity": 1, "idempotencyKey": uuid.uuid4().hex})
                added += answer.get("__typename") == "Cart"
                if answer.get("__typename") != "Cart":
                    tally("addCartLine " + json.dumps(answer)[:150])
            if not added:
                continue
            value = {"cartId": cart["id"], "payment": {"accountId": accounts[user]}, "idempotencyKey": uuid.uuid4().hex,
                     "shipping": {"name": "N", "street": "S 1", "city": "C", "country": "DE"}}
            found = []

            def checkout(gateway):
                answer = call(gateway, user, "checkoutCart", "CheckoutCartInput", value, order_fields)
                if answer.get("__typename") == "Order":
                    tally(f"order of {gateway}")
                    found.append((answer["id"], answer["total"]["minorUnits"]))
                else:
                    tally(f"checkoutCart of {gateway} " + json.dumps(answer)[:150])

            both = [threading.Thread(target=checkout, args=(either(),)) for _ in range(rnd.choice([1, 2]))]
            for one in both: one.start()
            for one in both: one.join()
            with lock:
                if len(set(found)) > 1:
                    faults.append(f"two orders of one checkout: {found}")
                orders.extend((user, *one) for one in set(found))
                if not found:
                    open_ends.append((user, value))

    end = time.time() + seconds
    workers = [threading.Thread(target=worker, args=(f"u{i}", random.Random(i), end)) for i in range(CALLERS)]
    for one in workers: one.start()
    for one in workers: one.join()
    for count, key in sorted(((n, k) for k, n in answers.items()), reverse=True)[:20]:
        print(count, key)
    # What has no order yet is repeated until it has one: a repeat finds the outcome of the first call.
    for user, value in open_ends:
        for _ in range(60):
            answer = call("new", user, "checkoutCart", "CheckoutCartInput", value, order_fields)
            if answer.get("__typename") == "Order":
                orders.append((user, answer["id"], answer["total"]["minorUnits"]))
                break
            time.sleep(1)
        else:
            faults.append(f"no outcome of a checkout: {answer}")
    for gateway in ports:
        if not answers.get(f"order of {gateway}"):
            faults.append(f"no order through the {gateway} gateway")
    for user, order, total in orders:
        read = send("old", user, "query($id: ID!) { node(id: $id) { ... on Order { id total { minorUnits } } } }",
                    {"id": order})
        if not read or read.get("total") != {"minorUnits": total}:
            faults.append(f"acknowledged order {order}: {read}")
    for user, account in accounts.items():
        read = send("new", user, "query($id: ID!) { node(id: $id) { ... on Account { balance { minorUnits } } } }",
                    {"id": account})
        paid = sum(total for owner, _, total in orders if owner == user)
        if not read or read.get("balance") != {"minorUnits": FUNDS - paid + moved[user]}:
            faults.append(f"{user} has paid {paid}, but: {read}")
    check = subprocess.run([new_binary, "check"], env=env, capture_output=True, text=True)
    if check.returncode:
        faults.append("docgate check: " + check.stdout[-3000:] + check.stderr[-1000:])
    print(f"{len(orders)} orders, {len(faults)} faults")
    print("\n".join(faults[:20]))
    return 1 if faults else 0


result = 1
try:
    result = main()
finally:
    for process in reversed(started):
        process.terminate()
        process.wait()
    if result == 0:
        shutil.rmtree(folder)
    else:
        print("logs are in", folder)
sys.exit(result)
