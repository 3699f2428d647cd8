#pragma once
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <sys/prctl.h>

/// Sets the delay with which the kernel may end the calling thread's timed waits, in nanoseconds. Swift cannot call
/// `prctl`, because it is variadic.
static inline int thread_timer_slack_set(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0);
}
