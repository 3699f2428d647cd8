import CRDKafka

/// The timer slack of librdkafka's threads: the delay with which the kernel may end a timed wait. The slack does not
/// delay a message to a thread.
///
/// A client's main thread waits for its next timer in whole milliseconds, rounded down, and spins for the rest of the
/// last millisecond (`rd_kafka_thread_main` of 2.0.2). Each client has two or three such waits a second, each of tenths
/// of a second or more. An idle worker spent two fifths of its processor time spinning. With the slack, the wait ends
/// after the timer is due, and the thread does not spin.
enum ThreadSlack {
    static let mainNanoseconds: UInt = 10_000_000
    /// The kernel's default, for all threads except a client's main thread. A new thread inherits its creator's slack.
    /// The main thread creates some of the brokers' threads, which wait for `linger.ms` and must not keep the main
    /// thread's slack.
    static let otherNanoseconds: UInt = 50_000

    /// Makes each thread of the client set its timer slack when it starts.
    static func set(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "slack",
            { client, _, _, _, _ in
                rd_kafka_interceptor_add_on_thread_start(
                    client, "slack",
                    { _, kind, _, _ in
                        // If the kernel refuses, the thread keeps its slack.
                        _ = thread_timer_slack_set(
                            kind == RD_KAFKA_THREAD_MAIN ? ThreadSlack.mainNanoseconds : ThreadSlack.otherNanoseconds)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, nil)
            }, nil)
    }
}
