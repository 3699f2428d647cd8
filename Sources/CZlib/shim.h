#pragma once
#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. With 16 added, zlib requires gzip's header and trailer.
static inline int inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 16 + MAX_WBITS); }
