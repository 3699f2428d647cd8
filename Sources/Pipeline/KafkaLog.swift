import Clocks
import Foundation
import Kafka
import Logging
import Operations
import Synchronization

enum KafkaLog {
    /// librdkafka's lines at debug, but for what its own level calls an error and for records that are gone unread; what it
    /// says of brokers that cannot be used is folded with what the process' other clients say of them.
    static func forward(to logger: Logger, folding voice: KafkaVoice = KafkaVoice()) -> @Sendable (KafkaLogLine) -> Void
    {
        let client = voice.join()
        return { line in
            for saying in voice.hear(line, from: client) { saying.log(to: logger) }
        }
    }
}

/// The one voice of all the Kafka clients of a process: one line when brokers go, one a minute while they are away, and
/// one when all are back.
public final class KafkaVoice: Sendable {
    private let fold = Mutex(KafkaFold())

    public init() {}

    fileprivate func join() -> Int {
        fold.withLock { fold in
            fold.clients += 1
            return fold.clients
        }
    }

    fileprivate func hear(_ line: KafkaLogLine, from client: Int) -> [KafkaSaying] {
        let now = WallClock.monotonicSeconds
        return fold.withLock { $0.hear(line, from: client, now: now) }
    }

    /// What is wrong with the brokers, as long as no client has been answered since.
    public var trouble: KafkaTrouble? { fold.withLock { $0.trouble } }
}

/// What there is to be logged.
enum KafkaSaying: Equatable {
    case trouble(KafkaTrouble, secondsSince: Double)
    case recovered(seconds: Double)
    case other(KafkaLogLine)
    case debug(KafkaLogLine)

    func log(to logger: Logger) {
        switch self {
        case .trouble(let trouble, let seconds):
            logger.warning(
                trouble.kind == .authentication ? "Kafka refuses the settings" : "Kafka is out of reach",
                [
                    .host: "\(trouble.broker ?? "any")", .error: "\(trouble.words)",
                    .durationSeconds: .stringConvertible(seconds.rounded()),
                ])
        case .recovered(let seconds):
            logger.notice("Kafka is back", [.durationSeconds: .stringConvertible(seconds.rounded())])
        case .other(let line):
            logger.warning("librdkafka says", [.detail: "\(line.facility): \(line.message)"])
        case .debug(let line):
            logger.debug("librdkafka says", [.detail: "\(line.facility): \(line.message)"])
        }
    }
}

/// Decides which of librdkafka's lines are said.
struct KafkaFold {
    /// Between two lines while the trouble lasts.
    static let repeatSeconds = 60.0

    var clients = 0
    /// The clients that have said something since they were last answered.
    private var troubled: Set<Int> = []
    private var since = 0.0
    private var said = 0.0
    private(set) var trouble: KafkaTrouble?

    mutating func hear(_ line: KafkaLogLine, from client: Int, now: Double) -> [KafkaSaying] {
        if line.facility == KafkaLogLine.answer { return [.debug(line)] + answered(client, now: now) }
        guard let heard = KafkaTrouble(line) else {
            // "1/1 brokers are down" follows what is wrong with each of them.
            let isEcho = line.code == KafkaError.Code.allBrokersDown || line.message.contains("brokers are down")
            // Records that are gone unread are more than librdkafka's level makes of them.
            let isWorthSaying = line.level <= 3 || line.offsetReset != nil
            return [isWorthSaying && !isEcho ? .other(line) : .debug(line)]
        }
        troubled.insert(client)
        guard let known = trouble else {
            (trouble, since, said) = (heard, now, now)
            return [.trouble(heard, secondsSince: 0)]
        }
        // A certificate or a password that is refused says more than the connection that breaks because of it.
        let isMoreTelling = heard.kind > known.kind
        if heard.kind >= known.kind, !(heard.kind == .tls && known.kind == .tls) { trouble = heard }
        guard isMoreTelling || now - said >= Self.repeatSeconds else { return [.debug(line)] }
        said = now
        return [.trouble(trouble ?? heard, secondsSince: now - since)]
    }

    private mutating func answered(_ client: Int, now: Double) -> [KafkaSaying] {
        guard troubled.remove(client) != nil, troubled.isEmpty, trouble != nil else { return [] }
        trouble = nil
        return [.recovered(seconds: now - since)]
    }
}
