#!/usr/bin/env bash
# Builds the old gateway of the roll-out test from the commit in `old-commit`, and the new one from this tree, then runs
# `run.py`. With --build-old it only builds the old gateway. ROLLOUT_OLD and ROLLOUT_NEW name binaries that are there
# already.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
commit=$(grep -v '^#' "$here/old-commit")

skip() {
    echo "skipped: roll-out: $1" >&2
    exit "${2:-0}"
}
# Where no suite may be skipped, what is missing is a fault.
missing() { skip "$1" "$([[ ${CLIENTS:-} == required ]] && echo 1 || echo 0)"; }

command -v python3 >/dev/null || missing "python3 isn't installed; it runs the test"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || missing "python3 is older than 3.9"

old=${ROLLOUT_OLD:-$target/rollout/docgate-$commit}
if [[ ! -x $old ]]; then
    git cat-file -e "$commit^{commit}" 2>/dev/null || missing "commit $commit isn't in this clone (is it shallow?)"
    source=$target/rollout/source
    rm -rf "$source" && mkdir -p "$source"
    git archive "$commit" | tar -x -C "$source"
    # The same target folder: dependencies of the same version are compiled already. The binary is copied, since the
    # build of this tree has the same name.
    (cd "$source" && CARGO_TARGET_DIR=$target cargo build --locked --bin docgate)
    cp "$target/debug/docgate" "$old"
    rm -rf "$source"
fi
[[ ${1:-} != --build-old ]] || exit 0
new=${ROLLOUT_NEW:-}
if [[ -z $new ]]; then
    cargo build --locked --bin docgate
    new=$target/debug/docgate
fi

# The same mongod as the tests': the one that is named, on PATH, or fetched by them.
mongod=${DOCGATE_MONGOD:-$(command -v mongod || true)}
for fetched in "${XDG_CACHE_HOME:-$HOME/.cache}"/docgate/mongod-*/mongod; do
    [[ -n $mongod || ! -x $fetched ]] || mongod=$fetched
done
[[ -n $mongod ]] || missing "no mongod; the other tests fetch one"
exec python3 -B "$here/run.py" "$new" "$old" "$mongod" "${ROLLOUT_SECONDS:-20}"
