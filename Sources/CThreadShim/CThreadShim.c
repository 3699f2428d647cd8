#include "CThreadShim.h"

// The thread sanitizer watches pthreads only, and librdkafka uses C11 threads. The sanitizer crashes at the first
// thread whose start it did not see. It also does not see that librdkafka's locks order memory accesses. So this file
// defines the C11 functions by pthread functions. The dynamic linker prefers the executable's definitions to the C
// library's. In a build without the sanitizer this file is empty.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && defined(__linux__)

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "a C11 mutex has room for a pthread mutex");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "a C11 condition has room for a pthread condition");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "both thread types have one size");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "both once types have one size");

#define MUTEX(mutex) ((pthread_mutex_t *)(mutex))
#define CONDITION(condition) ((pthread_cond_t *)(condition))

static int outcome(int code) {
    switch (code) {
    case 0: return thrd_success;
    case ENOMEM: return thrd_nomem;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    default: return thrd_error;
    }
}

struct start { thrd_start_t body; void *argument; };

static void *run(void *opaque) {
    struct start start = *(struct start *)opaque;
    free(opaque);
    return (void *)(intptr_t)start.body(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t body, void *argument) {
    struct start *start = malloc(sizeof *start);
    if (!start) return thrd_nomem;
    *start = (struct start){body, argument};
    int code = pthread_create((pthread_t *)thread, NULL, run, start);
    if (code) free(start);
    return outcome(code);
}

int thrd_join(thrd_t thread, int *result) {
    void *value = NULL;
    int code = pthread_join((pthread_t)thread, &value);
    if (!code && result) *result = (int)(intptr_t)value;
    return outcome(code);
}

int thrd_detach(thrd_t thread) { return outcome(pthread_detach((pthread_t)thread)); }

void call_once(once_flag *flag, void (*body)(void)) { pthread_once((pthread_once_t *)flag, body); }

int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int code = pthread_mutex_init(MUTEX(mutex), &attributes);
    pthread_mutexattr_destroy(&attributes);
    return outcome(code);
}

int mtx_lock(mtx_t *mutex) { return outcome(pthread_mutex_lock(MUTEX(mutex))); }
int mtx_trylock(mtx_t *mutex) { return outcome(pthread_mutex_trylock(MUTEX(mutex))); }
int mtx_unlock(mtx_t *mutex) { return outcome(pthread_mutex_unlock(MUTEX(mutex))); }
void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy(MUTEX(mutex)); }

int cnd_init(cnd_t *condition) { return outcome(pthread_cond_init(CONDITION(condition), NULL)); }
int cnd_signal(cnd_t *condition) { return outcome(pthread_cond_signal(CONDITION(condition))); }
int cnd_broadcast(cnd_t *condition) { return outcome(pthread_cond_broadcast(CONDITION(condition))); }
int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    return outcome(pthread_cond_wait(CONDITION(condition), MUTEX(mutex)));
}
int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *deadline) {
    return outcome(pthread_cond_timedwait(CONDITION(condition), MUTEX(mutex), deadline));
}
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy(CONDITION(condition)); }

#endif
#endif
