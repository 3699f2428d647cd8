/* A library to preload into a worker, with glibc. It counts what the worker does. When the process ends, it writes each
   count with its name to the file that COSTS_FILE names, with the process id after the name. scripts/check-cost.sh uses
   it. Link it with -z initfirst, because other libraries call the counted functions while they start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

/* The functions whose calls are counted, each with the name of its count. Two functions may share a count. */
#define CALLS(EACH)                                                                                                    \
    EACH(swift_task_create, tasks)                                                                                     \
    EACH(dispatch_async_f, pool_jobs)                                                                                  \
    EACH(swift_task_switch, executor_checks)                                                                           \
    EACH(pthread_mutex_lock, locks)                                                                                    \
    EACH(mtx_lock, kafka_locks)                                                                                        \
    EACH(cnd_signal, kafka_wake_ups)
/* The functions that copy as many bytes as their third argument says. */
#define COPIES(EACH) EACH(memcpy, copied_bytes) EACH(memmove, moved_bytes)

#ifdef __x86_64__
/* Defines a function that adds to its count, and jumps to the next library's function of the same name. It changes no
   register, so it serves Swift's calling conventions too. */
#define INTERPOSE(function, name, add)                                                                                 \
    __attribute__((visibility("hidden"))) unsigned long count_##name;                                                  \
    __attribute__((visibility("hidden"))) void *next_##function;                                                       \
    __asm__(".text\n.globl " #function "\n.type " #function ",@function\n" #function ":\nlock " add                    \
            " count_" #name "(%rip)\njmp *next_" #function "(%rip)\n.size " #function ",.-" #function "\n");
#define CALL(function, name) INTERPOSE(function, name, "incq")
#define COPY(function, name) INTERPOSE(function, name, "addq %rdx,")
CALLS(CALL)
COPIES(COPY)

__attribute__((constructor)) static void find(void) {
#define FIND(function, name) next_##function = dlsym(RTLD_NEXT, #function);
    COPIES(FIND)
    CALLS(FIND)
}
#endif

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("COSTS_FILE");
    char path[4096];
    if (name == NULL || snprintf(path, sizeof path, "%s.%d", name, (int)getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fprintf(file, "allocations %lu\nheld_bytes %ld\n", atomic_load(&allocations), atomic_load(&peak));
#ifdef __x86_64__
#define TELL(function, name) fprintf(file, #name " %lu\n", count_##name);
    CALLS(TELL)
    COPIES(TELL)
#endif
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) fprintf(file, "context_switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
    fclose(file);
}
