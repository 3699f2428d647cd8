#pragma once
/* glibc's allocator settings, which Swift's own module of it leaves out. */
#include <malloc.h>
