#!/usr/bin/env bash
# The evidence on a machine with a GPU and no network: see README.md beside this.
#
#   DATA=FOLDER OUT=FOLDER benchmarks/gpu/evidence.sh
#
# DATA          what pack.py made, with units.jsonl of an earlier run in it where there is one
# OUT           gets units.jsonl (a line a finished training: the state) and results.json
# WORK          collections and models, a temporary folder by default; the same one again continues interrupted trainings
# TOTAL         seconds in all (900); what is not done by then is named in results.json
# STEP_LIMIT    seconds of a step (480)
# WORKERS       trainings side by side (7 on a GPU, else 1)
# SIZE          full, or toy: the same steps in a minute on a CPU
set -uo pipefail
: "${DATA:?the folder that pack.py made}" "${OUT:?a folder for the results}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=${WORK:-$(mktemp -d)}
TOTAL=${TOTAL:-900} STEP_LIMIT=${STEP_LIMIT:-480} PYTHON=${PYTHON:-python3}
RESULTS_TIME=$((TOTAL < 300 ? TOTAL / 5 + 1 : 60)) # of TOTAL, kept for the last step
mkdir -p "$OUT" "$WORK/site"
for wheel in "$DATA"/wheels/*.whl; do
    [ -e "$wheel" ] && "$PYTHON" -m zipfile -e "$wheel" "$WORK/site"
done
[ -e "$OUT/units.jsonl" ] || [ ! -e "$DATA/units.jsonl" ] || cp "$DATA/units.jsonl" "$OUT/"
export DATA OUT WORK PYTHONPATH="$WORK/site:$here/../..${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=${TOKENIZERS_PARALLELISM:-true} POSBIAS_HOME="$WORK/home"

step() { # NAME SECONDS: run a step of evidence.py, and end it when its time is up
    local began=$SECONDS status
    # a training asks STEP whether one more fits; timeout ends all processes of the step
    STEP=$(($2 - 5)) timeout --kill-after=10 "$2" "$PYTHON" "$here/evidence.py" "$1"
    status=$?
    echo "$1: $((SECONDS - began)) s, exit $status"
    return $status
}

left() { # seconds for the next step
    local rest=$((TOTAL - RESULTS_TIME - SECONDS))
    echo $((rest < STEP_LIMIT ? rest : STEP_LIMIT))
}

step prepare "$(left)" || exit
status=75
while [ "$(left)" -gt 10 ]; do
    step train "$(left)"
    status=$?
    # 75: units are left; 124 and 137: ended by timeout; the next step goes on
    case $status in 75 | 124 | 137) ;; *) break ;; esac
done
step results $((RESULTS_TIME)) || exit
exit $((status == 1))
