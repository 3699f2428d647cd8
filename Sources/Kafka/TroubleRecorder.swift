import Synchronization

/// Keeps the most telling trouble in a client's log, for a command that finds Kafka out of reach. Give its `note` to a
/// client as its log.
public final class TroubleRecorder: Sendable {
    private let latest = Mutex<KafkaTrouble?>(nil)

    public init() {}

    @Sendable public func note(_ line: KafkaLogLine) {
        guard let trouble = KafkaTrouble(line) else { return }
        latest.withLock { latest in
            // A refused password or certificate tells more than the connection that breaks because of it. The first
            // words about a certificate say why.
            if let known = latest, known.kind > trouble.kind || known.kind == .tls && trouble.kind == .tls { return }
            latest = trouble
        }
    }

    public var trouble: KafkaTrouble? { latest.withLock { $0 } }
}
