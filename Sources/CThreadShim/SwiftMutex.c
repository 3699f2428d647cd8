#include "CThreadShim.h"

// Swift inlines the code that locks a free Mutex, so the thread sanitizer sees this code. Swift's library has the code
// that waits for a locked Mutex. The library is built without the sanitizer, which would therefore report a race
// between two holders. The functions below replace the library's functions, and call the replaced functions. They also
// tell the sanitizer when a holder acquires and releases the mutex. The inlined code and these functions name the same
// address to the sanitizer: the mutex's word.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && defined(__linux__)

#include <dlfcn.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

void __tsan_acquire(void *address);
void __tsan_release(void *address);

typedef SWIFT void (*lock_function)(uint32_t thread, SELF void *mutex);
typedef SWIFT void (*unlock_function)(SELF void *mutex);

SWIFT void shim_lock_slow(uint32_t thread, SELF void *mutex) __asm__(LOCK_SLOW);
SWIFT void shim_unlock_slow(SELF void *mutex) __asm__(UNLOCK_SLOW);

SWIFT void shim_lock_slow(uint32_t thread, SELF void *mutex) {
    ((lock_function)dlsym((void *)-1l /* RTLD_NEXT */, LOCK_SLOW))(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void shim_unlock_slow(SELF void *mutex) {
    __tsan_release(mutex);
    ((unlock_function)dlsym((void *)-1l /* RTLD_NEXT */, UNLOCK_SLOW))(mutex);
}

#endif
#endif
