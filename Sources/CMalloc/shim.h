#pragma once
/* glibc's allocator settings, which Swift's Glibc module does not have. */
#include <malloc.h>
