#!/bin/sh
# Makes unwound-*.elf, programs to unwind, from the assembler beside this script.
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang}
for machine in x86_64 aarch64; do
    "$clang" --target="$machine-linux-gnu" -fuse-ld=lld -nostdlib -static \
        -Wl,--build-id=0x0123456789abcdef -Wl,--eh-frame-hdr -Wl,-z,noseparate-code \
        "unwound-$machine.s" -o "unwound-$machine.elf"
done
