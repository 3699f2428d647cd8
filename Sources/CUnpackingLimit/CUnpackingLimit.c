#define _GNU_SOURCE
#include "CUnpackingLimit.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

// librdkafka unpacks a whole batch, whatever its size. A gzip of 1 MB may unpack to 1 GB, and a fetch may have many
// batches. librdkafka limits only Zstandard (receive.message.max.bytes), and each batch by itself. So this file defines
// the decompressors that librdkafka calls, and counts their output against the calling thread's limit. The dynamic
// linker prefers the executable's definitions to those of shared libraries. A librdkafka that was built with its own
// copies of the decompressors never calls these functions.

static _Thread_local size_t left = SIZE_MAX;

void unpacking_limit_set(size_t bytes) { left = bytes; }
size_t unpacking_limit_left(void) { return left; }

static void *next(const char *name, _Atomic(void *) *cache) {
    void *found = atomic_load_explicit(cache, memory_order_acquire);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(cache, found, memory_order_release);
    }
    return found;
}

static void take(size_t bytes) {
    if (left != SIZE_MAX) left = bytes < left ? left - bytes : 0;
}

// The first fields of zlib's z_stream (https://zlib.net/manual.html). Their layout is part of zlib's ABI.

struct stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
};

enum { inflate_data_error = -3, inflate_mem_error = -4 };

int inflate(void *opaque, int flush) {
    static _Atomic(void *) cache;
    int (*call)(void *, int) = (int (*)(void *, int))next("inflate", &cache);
    if (!call) return inflate_mem_error;
    if (left == SIZE_MAX) return call(opaque, flush);
    struct stream *stream = opaque;
    // librdkafka unpacks twice: the first time only to learn the size. Both times count, so half of the limit is left
    // for the result.
    if (left == 0) return inflate_data_error;
    unsigned long before = stream->total_out;
    int code = call(opaque, flush);
    take(stream->total_out - before);
    return left == 0 ? inflate_data_error : code;
}

// LZ4 frames (lz4frame.h). Each size parameter has the room before the call and the used bytes after it. An error is
// a size_t near its maximum.

size_t LZ4F_decompress(
    void *context, void *out, size_t *out_size, const void *in, size_t *in_size, const void *options) {
    static _Atomic(void *) cache;
    size_t (*call)(void *, void *, size_t *, const void *, size_t *, const void *) =
        (size_t(*)(void *, void *, size_t *, const void *, size_t *, const void *))next("LZ4F_decompress", &cache);
    // This is LZ4F_ERROR_frameSize_wrong. librdkafka does not distinguish the errors.
    const size_t failed = (size_t)-14;
    if (!call || left == 0) {
        *out_size = 0;
        *in_size = 0;
        return failed;
    }
    size_t code = call(context, out, out_size, in, in_size, options);
    take(*out_size);
    return left == 0 ? failed : code;
}

// Zstandard (zstd.h) unpacks a frame in one call. librdkafka takes the buffer's size from the frame, or guesses it.

size_t ZSTD_decompress(void *out, size_t out_size, const void *in, size_t in_size) {
    static _Atomic(void *) cache;
    size_t (*call)(void *, size_t, const void *, size_t) =
        (size_t(*)(void *, size_t, const void *, size_t))next("ZSTD_decompress", &cache);
    // This is ZSTD_error_corruption_detected.
    const size_t failed = (size_t)-20;
    // librdkafka has allocated the buffer, but the kernel provides no memory before the first write.
    if (!call || (left != SIZE_MAX && out_size > left)) return failed;
    size_t code = call(out, out_size, in, in_size);
    // An error is a size near the maximum. If the buffer was too small, librdkafka frees it and tries again with three
    // times its size, so a failed call does not count.
    if (code <= out_size) take(code);
    return code;
}
