# shellcheck shell=bash
# Other scripts source this file. It sets the flags of every debug build. All debug builds must have the same flags,
# because with other flags SwiftPM would build .build again from nothing.

# shellcheck disable=SC2034
build_flags=(--explicit-target-dependency-import-check error)

# A crash prints its message and no backtrace.
export SWIFT_BACKTRACE=enable=no
