import Foundation
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

enum KafkaLog {
    /// Returns a function that logs librdkafka's lines at debug level. Lines about errors, and lines about records that
    /// Kafka deleted unread, get a higher level. Clients that share `voice` log the same trouble with brokers only
    /// once.
    static func forward(to logger: Logger, folding voice: KafkaVoice = KafkaVoice()) -> @Sendable (KafkaLogLine) -> Void
    {
        let client = KafkaVoice.Client(of: voice)
        return { line in
            for saying in client.hear(line) { saying.log(to: logger) }
        }
    }
}

/// Logs broker trouble once for all Kafka clients of a process. One line comes when the trouble begins, one a minute
/// while the trouble lasts, and one when brokers have answered every client again. If the process's failure report says
/// that Kafka is back, the last line is left out.
final class KafkaVoice: Sendable {
    private let fold = Mutex(KafkaFold())
    private let failures: Failures?

    /// - Parameter failures: the process's failure report, which also covers Kafka as a whole; nil if the process has
    ///   none.
    init(besides failures: Failures? = nil) { self.failures = failures }

    /// One librdkafka client. Its trouble ends when the client is closed, because no broker will answer a closed
    /// client.
    fileprivate final class Client: Sendable {
        private let voice: KafkaVoice
        private let number: Int

        init(of voice: KafkaVoice) {
            self.voice = voice
            number = voice.fold.withLock { $0.join() }
        }

        deinit { voice.fold.withLock { $0.leave(number) } }

        func hear(_ line: KafkaLogLine) -> [KafkaSaying] {
            let now = WallClock.monotonicSeconds
            let told = voice.failures?.told(of: .kafka)
            return voice.fold.withLock { $0.hear(line, from: number, told: told ?? (0, 0), now: now) }
        }
    }

    /// The present trouble with brokers; nil when brokers have answered every client that had trouble.
    var trouble: KafkaTrouble? { fold.withLock { $0.trouble } }
}

/// A line that the process logs about Kafka.
enum KafkaSaying: Equatable {
    case trouble(KafkaTrouble, secondsSince: Double)
    case recovered(seconds: Double)
    /// Brokers are back, and the process's failure report says so.
    case recoveredUnsaid(seconds: Double)
    /// A line about another subject. `leftOut` is the number of equal lines that the process left out since it last
    /// logged the line.
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

/// Decides which of librdkafka's lines the process logs.
struct KafkaFold {
    /// The seconds between two lines while trouble with brokers lasts.
    static let repeatSeconds = 60.0

    private var clients = 0
    /// The clients that reported trouble and that no broker has answered since.
    private var troubled: Set<Int> = []
    private var since = 0.0
    private var said = 0.0
    private(set) var trouble: KafkaTrouble?
    /// The number of failures of Kafka that the process had reported as over when the trouble began.
    private var toldBefore = 0
    /// The recently logged lines that do not report trouble with a broker.
    private var others = RepeatedWords()

    /// Returns the number of a new client.
    mutating func join() -> Int {
        clients += 1
        return clients
    }

    /// Forgets a closed client. If no other client has trouble, the trouble ends without a log line, because nothing
    /// shows that Kafka is back.
    mutating func leave(_ client: Int) {
        troubled.remove(client)
        if troubled.isEmpty { trouble = nil }
    }

    /// - Parameter told: the numbers of failures of Kafka as a whole that the process has reported as begun, and as
    ///   over.
    mutating func hear(
        _ line: KafkaLogLine, from client: Int, told: (begun: Int, over: Int) = (0, 0), now: Double
    ) -> [KafkaSaying] {
        if line.facility == KafkaLogLine.answer {
            return [.debug(line)] + answered(client, isToldElsewhere: told.begun > toldBefore, now: now)
        }
        guard let heard = KafkaTrouble(line) else {
            // The line "1/1 brokers are down" is left out, because librdkafka logs it after it has logged each broker's
            // trouble.
            let isEcho = line.code == KafkaError.Code.allBrokersDown || line.message.contains("brokers are down")
            // librdkafka logs the loss of unread records at a low level.
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
        // A refused certificate or password explains more than the broken connection that the refusal causes.
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
