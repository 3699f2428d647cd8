#pragma once
#include <stddef.h>

/// Sets the number of bytes that zlib, LZ4 and Zstandard may still unpack on the calling thread. A decompression beyond
/// this limit fails as if its input were damaged. Each thread begins with SIZE_MAX, which means no limit.
void unpacking_limit_set(size_t bytes);

/// Returns the bytes that are left of the calling thread's limit.
size_t unpacking_limit_left(void);
