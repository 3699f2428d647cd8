#pragma once
#include <stddef.h>

/// Bounds what this thread may unpack by zlib, LZ4 and Zstandard from now on: a decompression that would pass it fails
/// as if its input were damaged. SIZE_MAX, which every thread begins with: no bound.
void unpacking_limit_set(size_t bytes);

/// What is left of it.
size_t unpacking_limit_left(void);
