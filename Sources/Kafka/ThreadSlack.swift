import CRDKafka

/// The delay with which the kernel may wake librdkafka's threads from a wait that ends by itself. A message to a thread
/// wakes it at once.
///
/// A client's main thread waits for its next timer in whole milliseconds, rounded down, and spins for the rest of the
/// last one (`rd_kafka_thread_main` of 2.0.2). Each client has two or three such timers a second: an idle worker spent
/// two fifths of its processor time there. A thread that may be woken late is woken behind its timer, and does not
/// spin. These timers are of tenths of a second and more.
enum ThreadSlack {
    static let mainNanoseconds: UInt = 10_000_000
    /// The kernel's default. A thread inherits the slack of the thread that makes it. The main thread makes some of the
    /// brokers' threads, which wait for `linger.ms`.
    static let otherNanoseconds: UInt = 50_000

    /// Makes each of the client's threads set its own timer slack when the thread begins.
    static func set(in configuration: OpaquePointer) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "slack",
            { client, _, _, _, _ in
                rd_kafka_interceptor_add_on_thread_start(
                    client, "slack",
                    { _, kind, _, _ in
                        // If the kernel refuses, the thread wakes as before.
                        _ = thread_timer_slack_set(
                            kind == RD_KAFKA_THREAD_MAIN ? ThreadSlack.mainNanoseconds : ThreadSlack.otherNanoseconds)
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, nil)
            }, nil)
    }
}
