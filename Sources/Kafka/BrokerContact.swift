import CRDKafka
import Dispatch
import Synchronization

/// Knows when a client's brokers last answered, and which are in trouble. librdkafka tells of a connection that ends,
/// and of none that works again.
final class BrokerContact: Sendable {
    private static let fetchRequest: Int16 = 1
    /// SaslHandshake, ApiVersions, SaslAuthenticate: an answer to them is no proof that a client is let in.
    private static let greetings: Set<Int16> = [17, 18, 36]
    /// librdkafka repeats what is wrong with a broker every 30 s while it tries. One of which it says nothing any more
    /// is known by another name by now (its advertised one), or is gone from the cluster.
    private static let silenceNanoseconds: UInt64 = 90_000_000_000

    private let fetchCount = Atomic<Int>(0)
    /// The time of the last word about each broker that did not answer since.
    private let troubled = Mutex<[String: UInt64]>([:])
    /// An ordinary answer takes no lock by this.
    private let isInTrouble = Atomic(false)
    private let listens = Atomic(false)

    /// librdkafka has called the interceptor of a client that it makes.
    var isListening: Bool { listens.load(ordering: .relaxed) }

    /// Requests to fetch that were answered.
    var answeredFetches: Int { fetchCount.load(ordering: .relaxed) }

    /// Notes a line. May be called on any thread.
    func note(_ line: KafkaLogLine) {
        guard let trouble = KafkaTrouble(line) else { return }
        troubled.withLock { $0[trouble.broker ?? ""] = DispatchTime.now().uptimeNanoseconds }
        isInTrouble.store(true, ordering: .releasing)
    }

    /// Returns true if this answer ends the last trouble.
    private func noteAnswer(of broker: @autoclosure () -> String, to request: Int16) -> Bool {
        guard !Self.greetings.contains(request) else { return false }
        if request == Self.fetchRequest { fetchCount.wrappingAdd(1, ordering: .relaxed) }
        guard isInTrouble.load(ordering: .acquiring) else { return false }
        let (broker, now) = (broker(), DispatchTime.now().uptimeNanoseconds)
        return troubled.withLock { troubled in
            guard !troubled.isEmpty else { return false }
            troubled[broker] = nil
            troubled = troubled.filter { now < $0.value + Self.silenceNanoseconds }
            // A trouble without a broker, such as a name that could not be looked up, ends at any answer.
            troubled[""] = nil
            if troubled.isEmpty { isInTrouble.store(false, ordering: .releasing) }
            return troubled.isEmpty
        }
    }

    /// Has librdkafka call for each answer, on its brokers' threads, before the answer is read.
    static func listen(in configuration: OpaquePointer, _ context: Unmanaged<ClientContext>) {
        rd_kafka_conf_interceptor_add_on_new(
            configuration, "contact",
            { client, _, opaque, _, _ in
                ClientContext.of(opaque)?.contact.listens.store(true, ordering: .relaxed)
                return rd_kafka_interceptor_add_on_response_received(
                    client, "contact",
                    { _, _, broker, _, request, _, _, _, _, error, opaque in
                        // librdkafka unpacks the broker's batches next, on this thread.
                        UnpackingLimit.begin()
                        if error == RD_KAFKA_RESP_ERR_NO_ERROR { BrokerContact.received(broker, request, opaque) }
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    }, opaque)
            }, context.toOpaque())
    }

    private static func received(_ broker: UnsafePointer<CChar>?, _ request: Int16, _ opaque: UnsafeMutableRawPointer?)
    {
        guard let context = ClientContext.of(opaque) else { return }
        guard context.contact.noteAnswer(of: host(of: broker), to: request) else { return }
        context.log(KafkaLogLine(level: 5, facility: KafkaLogLine.answer, message: host(of: broker)))
    }

    private static func host(of broker: UnsafePointer<CChar>?) -> String {
        KafkaTrouble.host(in: broker.map { String(cString: $0) } ?? "")
    }
}

extension KafkaLogLine {
    /// The facility of the line that says that brokers which were in trouble answer again.
    public static let answer = "ANSWER"
}
