import Encodings
import Fulfillment

/// The crash history of a partition: the number of owners (workers) that started and made no progress, and the record
/// that may have killed them.
///
/// Kafka stores the history in the metadata of the partition's commit. So the history survives every crash and reaches
/// the partition's next owner. When an owner has committed progress and no record is left to isolate, the metadata is
/// empty.
struct CrashHistory: Equatable, Sendable {
    /// The number of starts without progress after which the next owner isolates records: the process works on one
    /// record at a time.
    static let concurrentStarts = 3
    /// The most records of a partition that begin in mode `limited` before this owner has committed progress. If this
    /// owner dies, the next owner isolates this many records.
    static let isolatedRecords = 64
    /// The number of process deaths after which an isolated record is set aside. The worker then parks a submission
    /// (moves it to PostgreSQL), and makes any other record a dead letter.
    static let deathsOfPoison = 3
    /// The number of process deaths after which an isolated submission becomes a dead letter. At the last of these
    /// deaths, the worker was reading the submission only to park it. A submission that is already decided or parked
    /// does not become a dead letter.
    static let deathsOfUnreadable = deathsOfPoison + 1

    /// The way in which the worker takes the partition's records.
    enum Mode: Equatable, Sendable {
        /// Records are taken concurrently. At the third start without progress the mode becomes `limited`.
        case concurrent
        /// Few records are taken concurrently, because the next owner may have to isolate them. The next owner's mode
        /// is `concurrent` if this owner makes progress, and `isolated` if it dies without progress.
        case limited
        /// Records are taken one at a time: the process works on no other record meanwhile. After the last of them the
        /// mode becomes `concurrent`.
        case isolated(remaining: Int)
    }

    /// The record that was isolated last, and may have killed processes.
    struct Suspect: Equatable, Sendable {
        let offset: Int64
        /// The number of processes that died while they worked on this record in isolation.
        fileprivate(set) var deaths = 0
        /// True while the worker works on the record, and the process works on no other record. False while the record
        /// waits.
        fileprivate(set) var isAtWork = true

        var isPoison: Bool { deaths >= CrashHistory.deathsOfPoison }
    }

    /// The number of workers that have owned the partition since its committed offset last moved, including this
    /// worker. A worker that left in order, without a crash, does not count.
    private(set) var starts = 0
    /// The number of records that are still to be isolated.
    private(set) var remaining = 0
    private(set) var suspect: Suspect?
    /// The number of owners that left in order, without a crash, as the database counted them when this history was
    /// written.
    private(set) var departures: Int64 = 0

    var mode: Mode {
        if remaining > 0 { return .isolated(remaining: remaining) }
        return starts >= Self.concurrentStarts ? .limited : .concurrent
    }

    /// Returns the number of deaths that count against this record; 0 if it is not the suspect.
    func deaths(of offset: Int64) -> Int { suspect?.offset == offset ? suspect?.deaths ?? 0 : 0 }

    /// Counts the start of a new owner.
    /// - Parameter departures: the database's count of owners that left in order; nil if the database does not answer.
    ///   If the count is higher than in this history, the last owner left in order, but Kafka refused its commit, for
    ///   example during a rebalance.
    mutating func begin(departures: Int64?) {
        if let departures {
            if departures > self.departures { leave() }
            self.departures = departures
        }
        if suspect?.isAtWork == true { suspect?.deaths += 1 }
        suspect?.isAtWork = false
        starts += 1
        if remaining == 0, starts > Self.concurrentStarts { remaining = Self.isolatedRecords }
    }

    /// Notes that this owner leaves the partition in order, without a crash.
    /// - Parameter departures: the database's count, including this departure; nil if the database did not count it.
    mutating func leave(departures: Int64?) {
        if let departures { self.departures = departures }
        leave()
    }

    private mutating func leave() {
        suspect?.isAtWork = false
        starts = max(0, starts - 1)
    }

    /// Makes the record the suspect, and marks it as at work. The process works on no other record, so a death counts
    /// against it.
    mutating func isolate(_ offset: Int64) {
        suspect = Suspect(offset: offset, deaths: deaths(of: offset))
    }

    /// Sets whether the suspect is at work or waits. A death counts against the suspect only while it is at work.
    mutating func suspectIs(atWork isAtWork: Bool) { suspect?.isAtWork = isAtWork }

    /// Clears the suspect if its offset is below `position`, before which the database has every decision. The last
    /// owner then decided the record before it died. Kafka's metadata still names the record if Kafka refused the
    /// owner's next commit, for example during a rebalance.
    mutating func acquit(before position: Int64) {
        if let suspect, suspect.offset < position { pass() }
    }

    /// Notes that the isolated record is done.
    mutating func pass() {
        suspect = nil
        remaining = max(0, remaining - 1)
        if remaining == 0 { starts = 0 }
    }
}

/// The JSON form in Kafka. Its member names are those of the first version, and must never change.
extension CrashHistory {
    /// The metadata for the commit; empty if there is no history.
    var metadata: String {
        if starts == 0, remaining == 0, suspect == nil { return "" }
        var json = JSONWriter(capacity: 96)
        json.beginObject()
        json.name("v")
        json.number(1)
        json.name("starts")
        json.number(starts)
        if remaining > 0 {
            json.name("left")
            json.number(remaining)
        }
        if let suspect {
            json.name(suspect.isAtWork ? "alone" : "suspect")
            json.number(suspect.offset)
            json.name("deaths")
            json.number(suspect.deaths)
        }
        if departures > 0 {
            json.name("departures")
            json.number(departures)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Reads metadata. Metadata in another form counts as empty, because other tools may write metadata of their own.
    init(metadata: String) {
        guard !metadata.isEmpty, let json = try? JSONParser.parse(Array(metadata.utf8)).value,
            json.count("v") == 1
        else { return }
        starts = Int(clamping: json.count("starts") ?? 0)
        remaining = min(Int(clamping: json.count("left") ?? 0), Self.isolatedRecords)
        let isolated = json.count("alone")
        if let offset = isolated ?? json.count("suspect") {
            suspect = Suspect(
                offset: offset, deaths: Int(clamping: json.count("deaths") ?? 0), isAtWork: isolated != nil)
        }
        departures = json.count("departures") ?? 0
    }
}

extension JSONValue {
    /// Returns the member if it is a whole number of at least 0; otherwise nil.
    fileprivate func count(_ name: String) -> Int64? {
        guard case .number(let text)? = self[name], let value = Int64(text), value >= 0 else { return nil }
        return value
    }
}
