#pragma once

/// The commit that this program is built from, as scripts/release.sh says it; empty in every other build.
const char *_Nonnull receiptd_commit(void);
