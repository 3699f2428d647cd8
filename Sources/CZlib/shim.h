#pragma once
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not see. 16: gzip's header and trailer, and no others.
static inline int inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 16 + MAX_WBITS); }
