import NamesAndTimes
import Synchronization

/// Counts incidents that operators must see. A counter is not enough: its process may end before anybody looks, and
/// Prometheus sees no increase if it begins above 0. So workers store incidents in PostgreSQL, and the metrics of every
/// worker have the time of the fleet's last incident of each kind.
///
/// Any thread may call it.
public final class Incidents: Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// Kafka deleted records before a worker read them. The count is the number of records.
        case deletedUnread = "deleted_unread"
        /// Somebody deleted a topic and created it again. Nobody knows how many records were unread.
        case topicMadeAnew = "topic_made_anew"
        /// PostgreSQL lacked decisions about records with committed offsets, or lacked published grants or revisions.
        case databaseFellBack = "database_fell_back"
        /// A record or a leased row ended workers' processes, and became a dead letter or waits for an operator.
        case crashed
        case unreadableBatch = "unreadable_batch"
        case kindMismatch = "kind_mismatch"
        case localRefusalDisputed = "local_refusal_disputed"
        case constantToken = "constant_token"
        /// A purchase is held because another player was the first with its account token.
        case tokenDisputed = "token_disputed"
    }

    /// The incidents of one kind and subject that PostgreSQL does not have yet.
    public struct Entry: Sendable, Hashable {
        public let kind: Kind
        /// The subject in words; empty if the kind needs none. It contains no secret and no data of a player.
        public let subject: String
        public let count: Int

        public init(_ kind: Kind, of subject: String = "", count: Int = 1) {
            self.kind = kind
            self.subject = subject
            self.count = count
        }
    }

    /// PostgreSQL's count of one kind, for the whole fleet.
    public struct Known: Sendable, Hashable {
        public let kind: Kind
        /// The time of the last incident, in seconds since 1970.
        public let lastSeconds: Double
        /// The number of incidents in the last 90 days.
        public let count: Int

        public init(kind: Kind, lastSeconds: Double, count: Int) {
            self.kind = kind
            self.lastSeconds = lastSeconds
            self.count = count
        }
    }

    private struct Key: Hashable {
        let kind: Kind
        let subject: String
    }

    /// The seconds for which `/readyz` and the worker's page show a loss: a day.
    private static let toldSeconds = 86_400.0
    /// The most pairs of kind and subject that wait to be stored. Beyond this number, new pairs lose their subject.
    private static let mostWaiting = 500

    private let waiting = Mutex<[Key: Int]>([:])
    private let timestamps: GaugeFamily
    private let counts: GaugeFamily

    init(timestamps: GaugeFamily, counts: GaugeFamily) {
        (self.timestamps, self.counts) = (timestamps, counts)
        for kind in Kind.allCases {
            _ = timestamps.with(kind.rawValue)
            _ = counts.with(kind.rawValue)
        }
    }

    /// Counts incidents that happened just now. The metrics show the incidents at once, and the worker stores them
    /// within seconds.
    public func note(_ kind: Kind, of subject: String = "", count: Int = 1) {
        timestamps.with(kind.rawValue).set(Double(WallClock.now.milliseconds) / 1000)
        counts.with(kind.rawValue).add(Double(count))
        wait(Entry(kind, of: subject, count: count))
    }

    /// Returns a clause for each kind of loss in the last day, for `/readyz` and the worker's page.
    func losses(now: Double = Double(WallClock.now.milliseconds) / 1000) -> [String] {
        Kind.losses.compactMap { kind, words in
            let seconds = now - timestamps.with(kind.rawValue).value
            guard seconds < Self.toldSeconds else { return nil }
            let count = Int(counts.with(kind.rawValue).value)
            let minutes = max(0, Int(seconds / 60))
            return "\(words), last \(minutes) min ago, \(count) in 90 days: "
                + "PostgreSQL's table incidents names the topics, and the runbook ReceiptdOffsetReset describes the "
                + "remedy"
        }
    }

    /// Removes and returns the incidents that wait to be stored.
    public func take() -> [Entry] {
        let taken = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
        return taken.map { Entry($0.key.kind, of: $0.key.subject, count: $0.value) }
    }

    /// True if no incident waits to be stored.
    public var areStored: Bool { waiting.withLock { $0.isEmpty } }

    /// Puts incidents back that could not be stored.
    public func putBack(_ entries: [Entry]) { for entry in entries { wait(entry) } }

    private func wait(_ entry: Entry) {
        waiting.withLock { waiting in
            var key = Key(kind: entry.kind, subject: entry.subject)
            if waiting[key] == nil, waiting.count >= Self.mostWaiting { key = Key(kind: entry.kind, subject: "") }
            waiting[key, default: 0] += entry.count
        }
    }

    /// Sets the metrics' times and counts to PostgreSQL's. If an incident of a kind waits to be stored, this kind keeps
    /// its values, because PostgreSQL does not have that incident yet.
    public func set(_ known: [Known]) {
        let unstored = waiting.withLock { Set($0.keys.map(\.kind)) }
        for one in known where !unstored.contains(one.kind) {
            timestamps.with(one.kind.rawValue).set(one.lastSeconds)
            counts.with(one.kind.rawValue).set(one.count)
        }
    }
}

extension Incidents.Kind {
    /// The kinds of incidents that lose records, with a clause for each.
    fileprivate static let losses: [(kind: Self, words: String)] = [
        (.deletedUnread, "Kafka deleted records before they were read"), (.topicMadeAnew, "a topic was recreated"),
    ]
}
