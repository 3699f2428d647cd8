import NamesAndTimes
import Synchronization

/// The incidents that operators must not overlook. The process that saw an incident may end before anybody looks, and
/// Prometheus sees no increase in a counter that begins above 0. So a worker stores its incidents in PostgreSQL, and
/// every worker's metrics have the time of the last incident of each kind.
///
/// Any thread may call it.
public final class Incidents: Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        /// Kafka deleted records before a worker read them. The count is in records.
        case deletedUnread = "deleted_unread"
        /// A topic was made anew. The number of unread records in the earlier one is not known.
        case topicMadeAnew = "topic_made_anew"
        /// PostgreSQL lacked decisions on records whose offsets were committed, or published grants or revisions.
        case databaseFellBack = "database_fell_back"
        /// A record or a leased row killed its workers and was set aside.
        case crashed
        case unreadableBatch = "unreadable_batch"
        case kindMismatch = "kind_mismatch"
        case localRefusalDisputed = "local_refusal_disputed"
        case constantToken = "constant_token"
        /// A purchase is held because its account token was first another player's.
        case tokenDisputed = "token_disputed"
    }

    /// The incidents of one kind and subject that are not in PostgreSQL yet.
    public struct Entry: Sendable, Hashable {
        public let kind: Kind
        /// The subject for people; empty if the kind says all. It holds no secret and nothing that a player sent.
        public let subject: String
        public let count: Int

        public init(_ kind: Kind, of subject: String = "", count: Int = 1) {
            self.kind = kind
            self.subject = subject
            self.count = count
        }
    }

    /// The fleet's knowledge of one kind.
    public struct Known: Sendable, Hashable {
        public let kind: Kind
        /// The time of the last incident, in UNIX seconds.
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

    /// The time for which a loss is shown: a day.
    private static let toldSeconds = 86_400.0
    /// The most pairs of kind and subject that wait for PostgreSQL. Further incidents count without their subject.
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

    /// Notes an incident that happened just now. The metrics have it at once; the worker stores it within seconds.
    public func note(_ kind: Kind, of subject: String = "", count: Int = 1) {
        timestamps.with(kind.rawValue).set(Double(WallClock.now.milliseconds) / 1000)
        counts.with(kind.rawValue).add(Double(count))
        wait(Entry(kind, of: subject, count: count))
    }

    /// Returns the losses of the last day for `/readyz` and the worker's page, one clause for each kind.
    func losses(now: Double = Double(WallClock.now.milliseconds) / 1000) -> [String] {
        Kind.losses.compactMap { kind, words in
            let seconds = now - timestamps.with(kind.rawValue).value
            guard seconds < Self.toldSeconds else { return nil }
            let count = Int(counts.with(kind.rawValue).value)
            let minutes = max(0, Int(seconds / 60))
            return "\(words), last \(minutes) min ago, \(count) in 90 days: the table incidents names the topics"
        }
    }

    /// Returns the incidents that wait to be stored, and forgets them here.
    public func take() -> [Entry] {
        let taken = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
        return taken.map { Entry($0.key.kind, of: $0.key.subject, count: $0.value) }
    }

    /// True if no incident waits to be stored.
    public var areStored: Bool { waiting.withLock { $0.isEmpty } }

    /// Puts entries back that could not be stored.
    public func putBack(_ entries: [Entry]) { for entry in entries { wait(entry) } }

    private func wait(_ entry: Entry) {
        waiting.withLock { waiting in
            var key = Key(kind: entry.kind, subject: entry.subject)
            if waiting[key] == nil, waiting.count >= Self.mostWaiting { key = Key(kind: entry.kind, subject: "") }
            waiting[key, default: 0] += entry.count
        }
    }

    /// Replaces the metrics' times and counts by PostgreSQL's, which corrects times by a clock of ours that is ahead.
    /// A kind with an incident that waits to be stored keeps its metrics, because PostgreSQL lacks that incident.
    public func set(_ known: [Known]) {
        let unstored = waiting.withLock { Set($0.keys.map(\.kind)) }
        for one in known where !unstored.contains(one.kind) {
            timestamps.with(one.kind.rawValue).set(one.lastSeconds)
            counts.with(one.kind.rawValue).set(one.count)
        }
    }
}

extension Incidents.Kind {
    /// The kinds after which records are missing, with their words.
    fileprivate static let losses: [(kind: Self, words: String)] = [
        (.deletedUnread, "Kafka deleted records before they were read"), (.topicMadeAnew, "a topic was recreated"),
    ]
}
