#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <sys/prctl.h>

/// How late the kernel may wake the calling thread from a wait with an end, in nanoseconds. `prctl` itself is variadic, which
/// Swift does not call.
static inline int thread_timer_slack_set(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}
