import Foundation
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

enum KafkaLog {
    /// Forwards librdkafka's lines at debug, except what its own level calls an error and records that are gone unread.
    /// Lines about brokers that cannot be used are folded with those of the process' other clients.
    static func forward(to logger: Logger, folding voice: KafkaVoice = KafkaVoice()) -> @Sendable (KafkaLogLine) -> Void
    {
        let client = voice.join()
        return { line in
            for saying in voice.hear(line, from: client) { saying.log(to: logger) }
        }
    }
}

/// The log of all Kafka clients of a process about their brokers. It has one line when brokers go, one a minute while
/// they are away, and one when all are back, unless the process' failures say so.
final class KafkaVoice: Sendable {
    private let fold = Mutex(KafkaFold())
    private let failures: Failures?

    /// - Parameter failures: the failures that say when Kafka is out of reach for the whole process; nil without any.
    init(besides failures: Failures? = nil) { self.failures = failures }

    fileprivate func join() -> Int {
        fold.withLock { fold in
            fold.clients += 1
            return fold.clients
        }
    }

    fileprivate func hear(_ line: KafkaLogLine, from client: Int) -> [KafkaSaying] {
        let now = WallClock.monotonicSeconds
        let told = failures?.told(of: .kafka)
        return fold.withLock { $0.hear(line, from: client, told: told ?? (0, 0), now: now) }
    }

    /// The brokers' trouble; nil once any client was answered since.
    var trouble: KafkaTrouble? { fold.withLock { $0.trouble } }
}

/// A line to be logged.
enum KafkaSaying: Equatable {
    case trouble(KafkaTrouble, secondsSince: Double)
    case recovered(seconds: Double)
    /// Brokers are back, and the process' failures have told it or are about to.
    case recoveredUnsaid(seconds: Double)
    /// A line, with the number of equal ones that were left out since the last.
    case other(KafkaLogLine, leftOut: Int)
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
        case .recoveredUnsaid(let seconds):
            logger.debug("Kafka is back", [.durationSeconds: .stringConvertible(seconds.rounded())])
        case .other(let line, let leftOut):
            var fields: Logger.Fields = [.detail: "\(line.facility): \(line.message)"]
            if leftOut > 0 { fields[.count] = .stringConvertible(leftOut) }
            logger.warning("librdkafka says", fields)
        case .debug(let line):
            logger.debug("librdkafka says", [.detail: "\(line.facility): \(line.message)"])
        }
    }
}

/// Decides which of librdkafka's lines are logged.
struct KafkaFold {
    /// The seconds between two lines while the trouble lasts.
    static let repeatSeconds = 60.0

    var clients = 0
    /// The clients that have said something since they were last answered.
    private var troubled: Set<Int> = []
    private var since = 0.0
    private var said = 0.0
    private(set) var trouble: KafkaTrouble?
    /// The number of the whole process' failures that were over when the trouble began.
    private var toldBefore = 0
    /// The lines that are no trouble with a broker.
    private var others = RepeatedWords()

    /// - Parameter told: the numbers of failures of Kafka as a whole that the process reported as begun and as over.
    mutating func hear(
        _ line: KafkaLogLine, from client: Int, told: (begun: Int, over: Int) = (0, 0), now: Double
    ) -> [KafkaSaying] {
        if line.facility == KafkaLogLine.answer {
            return [.debug(line)] + answered(client, isToldElsewhere: told.begun > toldBefore, now: now)
        }
        guard let heard = KafkaTrouble(line) else {
            // "1/1 brokers are down" follows what is wrong with each of them.
            let isEcho = line.code == KafkaError.Code.allBrokersDown || line.message.contains("brokers are down")
            // Records that are gone unread are more than librdkafka's level makes of them.
            let isWorthSaying = line.level <= 3 || line.offsetReset != nil
            guard isWorthSaying, !isEcho,
                let leftOut = others.leftOut(of: RepeatedWords.key("\(line.facility) \(line.message)"), now: now)
            else { return [.debug(line)] }
            return [.other(line, leftOut: leftOut)]
        }
        troubled.insert(client)
        guard let known = trouble else {
            (trouble, since, said, toldBefore) = (heard, now, now, told.over)
            return [.trouble(heard, secondsSince: 0)]
        }
        // A certificate or a password that is refused says more than the connection that breaks because of it.
        let isMoreTelling = heard.kind > known.kind
        if heard.kind >= known.kind, !(heard.kind == .tls && known.kind == .tls) { trouble = heard }
        guard isMoreTelling || now - said >= Self.repeatSeconds else { return [.debug(line)] }
        said = now
        return [.trouble(trouble ?? heard, secondsSince: now - since)]
    }

    private mutating func answered(_ client: Int, isToldElsewhere: Bool, now: Double) -> [KafkaSaying] {
        guard troubled.remove(client) != nil, troubled.isEmpty, trouble != nil else { return [] }
        trouble = nil
        return [isToldElsewhere ? .recoveredUnsaid(seconds: now - since) : .recovered(seconds: now - since)]
    }
}
