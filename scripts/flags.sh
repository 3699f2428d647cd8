# shellcheck shell=bash
# Sourced, never run. What every debug build is built with.
# One set of flags for all of them: with other flags SwiftPM would build .build anew.

# shellcheck disable=SC2034
build_flags=(--explicit-target-dependency-import-check error)

# A crash prints its message and leaves it at that.
export SWIFT_BACKTRACE=enable=no
