import CRDKafka
import Dispatch
import Synchronization

/// Tracks which brokers of a client are in trouble, and counts answered fetches. librdkafka logs a connection that
/// ends, but no connection that works again: so answers end the trouble.
final class BrokerContact: Sendable {
    private static let fetchRequest: Int16 = 1
    /// SaslHandshake, ApiVersions and SaslAuthenticate: their answers do not prove that the broker lets the client in.
    private static let greetings: Set<Int16> = [17, 18, 36]
    /// librdkafka logs a broker's trouble again every 30 s while it tries to connect. A broker without such a line for
    /// longer has another name by now (its advertised name), or has left the cluster.
    private static let silenceNanoseconds: UInt64 = 90_000_000_000

    private let fetchCount = Atomic<Int>(0)
    /// The uptime of the last trouble of each broker that has not answered since, in nanoseconds.
    private let troubled = Mutex<[String: UInt64]>([:])
    /// Whether `troubled` has entries, so that an ordinary answer takes no lock.
    private let isInTrouble = Atomic(false)
    private let listens = Atomic(false)

    /// Whether librdkafka has called the interceptor of the client that it makes.
    var isListening: Bool { listens.load(ordering: .relaxed) }

    /// The number of answered fetches.
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

    /// Makes librdkafka report each answer, on its brokers' threads, before it reads the answer.
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
