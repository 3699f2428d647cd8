/* A library to preload into a worker, with glibc. It counts the worker's allocations and the most bytes held at once.
   When the process ends, it writes both to the file that ALLOCATIONS_FILE names, with the process id after the name.
   scripts/check-cost.sh uses it. */
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_ulong allocations;
static atomic_long held, peak;

static void change(long bytes) {
    long now = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed) + bytes;
    long before = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now)) {
    }
}

static void *count(void *block) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    change((long)malloc_usable_size(block));
    return block;
}

void *malloc(size_t size) { return count(__libc_malloc(size)); }

void *calloc(size_t members, size_t size) { return count(__libc_calloc(members, size)); }

void *realloc(void *block, size_t size) {
    long before = (long)malloc_usable_size(block);
    void *other = __libc_realloc(block, size);
    if (other != NULL || size == 0) change(-before);
    return count(other);
}

void free(void *block) {
    change(-(long)malloc_usable_size(block));
    __libc_free(block);
}

void *aligned_alloc(size_t alignment, size_t size) { return count(__libc_memalign(alignment, size)); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = count(__libc_memalign(alignment, size));
    return *block == NULL ? 12 /* ENOMEM */ : 0;
}

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("ALLOCATIONS_FILE");
    char path[4096];
    if (name == NULL || snprintf(path, sizeof path, "%s.%d", name, (int)getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "%lu %ld\n", atomic_load(&allocations), atomic_load(&peak));
    fclose(file);
}
