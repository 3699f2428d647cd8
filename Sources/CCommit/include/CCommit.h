#pragma once

/// Returns the commit that scripts/release.sh built this program from; empty in every other build.
const char *_Nonnull receiptd_commit(void);
