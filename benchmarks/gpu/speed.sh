#!/usr/bin/env bash
# The speed of a machine with a GPU and no network, beside its peers: see README.md beside this.
#
#   DATA=FOLDER OUT=FOLDER benchmarks/gpu/speed.sh
#
# DATA    what pack.py made (its tokenizer and its wheels)
# OUT     gets speed.jsonl (the state: call again to go on) and speed.json
# WORK    models; a temporary folder by default
# TOTAL   seconds in all (420)
# SIZE    full, or toy: the same parts in minutes on a CPU
set -uo pipefail
: "${DATA:?the folder that pack.py made}" "${OUT:?a folder for the results}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$(mktemp -d)}
TOTAL=${TOTAL:-420} PYTHON=${PYTHON:-python3} BEGAN=$(date +%s)
mkdir -p "$OUT" "$WORK/site"
for wheel in "$DATA"/wheels/*.whl; do
    [ -e "$wheel" ] && "$PYTHON" -m zipfile -e "$wheel" "$WORK/site"
done
export DATA OUT WORK TOTAL BEGAN PYTHONUNBUFFERED=1 PYTHONPATH="$here/../..${PYTHONPATH:+:$PYTHONPATH}:$WORK/site"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=${TOKENIZERS_PARALLELISM:-true} POSBIAS_HOME="$WORK/home"

left() { echo $((BEGAN + TOTAL - $(date +%s))); }

# a part that ends the process, or hangs, costs only itself; it gets 10 s more than its own limit
lines() { cat "$OUT/speed.jsonl" 2>/dev/null | wc -l; }

while [ "$(left)" -gt 25 ]; do
    before=$(lines)
    timeout --kill-after=5 "$(left)" "$PYTHON" "$here/speed.py"
    status=$?
    echo "exit $status, $(left) s left"
    case $status in 0 | 75) break ;; esac
    [ "$(lines)" != "$before" ] || break # it does not even begin
done
"$PYTHON" "$here/speed.py" table
