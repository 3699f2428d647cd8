import Synchronization

/// Keeps the most informative trouble of a client's log, for a command that cannot reach Kafka. Pass `note` to the
/// client as its log.
public final class TroubleRecorder: Sendable {
    private let latest = Mutex<KafkaTrouble?>(nil)

    public init() {}

    @Sendable public func note(_ line: KafkaLogLine) {
        guard let trouble = KafkaTrouble(line) else { return }
        latest.withLock { latest in
            // A refused password or certificate explains more than the connection that breaks because of it. Of several
            // certificate errors, the first has the reason.
            if let known = latest, known.kind > trouble.kind || known.kind == .tls && trouble.kind == .tls { return }
            latest = trouble
        }
    }

    public var trouble: KafkaTrouble? { latest.withLock { $0 } }
}
