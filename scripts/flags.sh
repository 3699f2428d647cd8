# shellcheck shell=bash
# Sourced, never run. What every debug build is built with.
# One set of flags for all of them: with other flags SwiftPM would build .build anew.

# Without the index that editors make for themselves: it takes a seventh of a build's processor time.
# shellcheck disable=SC2034
build_flags=(--explicit-target-dependency-import-check error --disable-index-store)

# A crash prints its message and leaves it at that.
export SWIFT_BACKTRACE=enable=no
