#define _GNU_SOURCE
#include "CUnpackingLimit.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

// librdkafka unpacks a batch whole, however much comes out of it: a gzip of 1 MB may hold 1 GB, and so may each of the
// batches of one fetch. It bounds Zstandard alone (receive.message.max.bytes), and each batch by itself. Here the
// decompressors that it calls lead through a bound of the calling thread: an executable's definitions win over those of
// shared libraries. Where librdkafka carries its own copies (a static build) these are never called.

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

// zlib (https://zlib.net/manual.html): the beginning of z_stream, whose layout is part of its ABI.

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
    // librdkafka unpacks twice: first into nothing, for the size. Each counts: half of the bound is for the result.
    if (left == 0) return inflate_data_error;
    unsigned long before = stream->total_out;
    int code = call(opaque, flush);
    take(stream->total_out - before);
    return left == 0 ? inflate_data_error : code;
}

// LZ4 frames (lz4frame.h): sizes are in and out parameters, and an error is a size_t near its maximum.

size_t LZ4F_decompress(void *context, void *out, size_t *out_size, const void *in, size_t *in_size, const void *options) {
    static _Atomic(void *) cache;
    size_t (*call)(void *, void *, size_t *, const void *, size_t *, const void *) =
        (size_t(*)(void *, void *, size_t *, const void *, size_t *, const void *))next("LZ4F_decompress", &cache);
    // LZ4F_ERROR_frameSize_wrong is 14: any code will do.
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

// Zstandard (zstd.h): all at once, into a buffer whose size librdkafka takes from the frame, or guesses and raises.

size_t ZSTD_decompress(void *out, size_t out_size, const void *in, size_t in_size) {
    static _Atomic(void *) cache;
    size_t (*call)(void *, size_t, const void *, size_t) =
        (size_t(*)(void *, size_t, const void *, size_t))next("ZSTD_decompress", &cache);
    // ZSTD_error_corruption_detected is 20.
    const size_t failed = (size_t)-20;
    // The memory is allocated by now, and not touched yet.
    if (!call || (left != SIZE_MAX && out_size > left)) return failed;
    size_t code = call(out, out_size, in, in_size);
    // Where it was too small librdkafka frees it, and tries again with three times as much. Errors are sizes near the
    // maximum.
    if (code <= out_size) take(code);
    return code;
}
