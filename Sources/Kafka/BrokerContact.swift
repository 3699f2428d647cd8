import CRDKafka
import Dispatch
import Synchronization

/// Tracks which brokers of a client are in trouble, and counts fetches that brought records. librdkafka logs when a
/// connection breaks, but not when a new connection works. So the first answer of a broker ends its trouble.
final class BrokerContact: Sendable {
    private static let fetchRequest: Int16 = 1
    /// SaslHandshake, ApiVersions and SaslAuthenticate. A broker answers these requests before it has let the client
    /// in.
    private static let greetings: Set<Int16> = [17, 18, 36]
    /// If librdkafka logs no trouble of a broker for this time, the broker's trouble is over. While librdkafka tries to
    /// connect, it logs the trouble every 30 s. If it no longer tries, the broker now has another name (its advertised
    /// name), or has left the cluster.
    private static let silenceNanoseconds: UInt64 = 90_000_000_000

    /// An answer to a fetch of one partition has records if it is longer than this many bytes and the topic's name. In
    /// version 11 of Fetch, the newest that librdkafka 2.0.2 sends, such an answer without records has 66 bytes and the
    /// name. A batch has 61 bytes at least.
    private static let emptyFetchBytes = 100

    private let fetchCount = Atomic<Int>(0)
    /// The most bytes of an answer without records. Until `countFetches` is called, no answer counts.
    private let emptyBytes = Atomic<Int>(.max)
    /// The time of each broker's last trouble, in nanoseconds of uptime. A broker that has answered since has no entry.
    private let troubled = Mutex<[String: UInt64]>([:])
    /// True if `troubled` has entries, so that an ordinary answer takes no lock.
    private let isInTrouble = Atomic(false)
    private let listens = Atomic(false)

    /// True if librdkafka has called this client's interceptor.
    var isListening: Bool { listens.load(ordering: .relaxed) }

    /// The number of fetches that a broker answered with records, whether or not librdkafka can read them. An answer
    /// with an error has no records. The answer of a broker that throttles the client has no records either.
    var fetchesWithRecords: Int { fetchCount.load(ordering: .relaxed) }

    /// Begins to count the fetches with records. Call it before the client fetches its only partition, which must be of
    /// this topic.
    func countFetches(of topic: String) {
        emptyBytes.store(Self.emptyFetchBytes + topic.utf8.count, ordering: .relaxed)
    }

    /// Notes the broker's trouble, if the line reports any. May be called on any thread.
    func note(_ line: KafkaLogLine) {
        guard let trouble = KafkaTrouble(line) else { return }
        troubled.withLock { $0[trouble.broker ?? ""] = DispatchTime.now().uptimeNanoseconds }
        isInTrouble.store(true, ordering: .releasing)
    }

    /// Removes the broker's trouble. Returns true if no broker is in trouble any more, and one was before.
    private func noteAnswer(of broker: @autoclosure () -> String, to request: Int16, bytes: Int) -> Bool {
        guard !Self.greetings.contains(request) else { return false }
        if request == Self.fetchRequest, bytes > emptyBytes.load(ordering: .relaxed) {
            fetchCount.wrappingAdd(1, ordering: .relaxed)
        }
        guard isInTrouble.load(ordering: .acquiring) else { return false }
        let (broker, now) = (broker(), DispatchTime.now().uptimeNanoseconds)
        return troubled.withLock { troubled in
            guard !troubled.isEmpty else { return false }
            troubled[broker] = nil
            troubled = troubled.filter { now < $0.value + Self.silenceNanoseconds }
            // A trouble without a broker, such as a name that DNS did not resolve, ends with any broker's answer.
            troubled[""] = nil
            if troubled.isEmpty { isInTrouble.store(false, ordering: .releasing) }
            return troubled.isEmpty
        }
    }

    /// Makes librdkafka call `received` for each answer of a broker, on that broker's thread, before librdkafka parses
    /// the answer.
    static func listen(in configuration: OpaquePointer, _ context: Unmanaged<ClientContext>) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "contact",
            { client, _, opaque, _, _ in
                ClientContext.of(opaque)?.contact.listens.store(true, ordering: .relaxed)
                return rd_kafka_interceptor_add_on_response_received(
                    client, "contact",
                    { _, _, broker, _, request, _, _, bytes, _, error, opaque in
                        // librdkafka unpacks the broker's batches next, on this thread.
                        UnpackingLimit.begin()
                        if error == RD_KAFKA_RESP_ERR_NO_ERROR {
                            BrokerContact.received(broker, request, bytes, opaque)
                        }
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, opaque)
            }, context.toOpaque())
    }

    private static func received(
        _ broker: UnsafePointer<CChar>?, _ request: Int16, _ bytes: Int, _ opaque: UnsafeMutableRawPointer?
    ) {
        guard let context = ClientContext.of(opaque) else { return }
        guard context.contact.noteAnswer(of: host(of: broker), to: request, bytes: bytes) else { return }
        context.log(KafkaLogLine(level: 5, facility: KafkaLogLine.answer, message: host(of: broker)))
    }

    private static func host(of broker: UnsafePointer<CChar>?) -> String {
        KafkaTrouble.host(in: broker.map { String(cString: $0) } ?? "")
    }
}

extension KafkaLogLine {
    /// The facility of the line that reports the end of all brokers' trouble.
    public static let answer = "ANSWER"
}
