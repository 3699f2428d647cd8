/* Preloaded into a worker: counts its allocations, and writes the count as the process ends to the file that ALLOCATIONS_FILE
   names, with the process's number behind it. glibc only. scripts/check-cost.sh builds and reads it. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_ulong allocations;

static void count(void) { atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t members, size_t size) {
    count();
    return __libc_calloc(members, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count();
    *block = __libc_memalign(alignment, size);
    return *block == NULL ? 12 /* ENOMEM */ : 0;
}

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("ALLOCATIONS_FILE");
    char path[4096];
    if (name == NULL || snprintf(path, sizeof path, "%s.%d", name, (int)getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%lu\n", atomic_load(&allocations));
    fclose(file);
}
