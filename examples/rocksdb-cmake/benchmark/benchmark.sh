#!/bin/sh
# RocksDB's tools/benchmark.sh as a workload: benchmark.sh DB_BENCH DIRECTORY JOBS
#
# Prints the report of these jobs and nothing else. The script runs `./db_bench`, succeeds whatever becomes of
# it, and ends every vmstat and iostat of the machine by killall; it finds none of them here.
set -eu

db_bench=$1 dir=$2 jobs=$3
script=$(cd "$(dirname "$0")" && pwd)/rocksdb/tools/benchmark.sh

mkdir -p "$dir/bin" "$dir/db"
cd "$dir"
ln -sf "$db_bench" db_bench
for tool in killall iostat vmstat; do
    printf '#!/bin/sh\n' >"bin/$tool"
    chmod +x "bin/$tool"
done
rm -rf output

log=output.log
if ! env PATH="$dir/bin:$PATH" DB_DIR="$dir/db" WAL_DIR="$dir/db" OUTPUT_DIR="$dir/output" \
    bash "$script" "$jobs" >"$log" 2>&1 || ! grep -q '^ops_sec' output/report.tsv 2>/dev/null; then
    tail -n 30 "$log" >&2
    echo "benchmark.sh: no report of $jobs" >&2
    exit 1
fi
cat output/report.tsv
