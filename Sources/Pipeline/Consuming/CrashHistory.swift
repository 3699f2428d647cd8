import Encodings
import Fulfillment

/// The record of how a partition's earlier owners ended, in the metadata of its commit.
///
/// Kafka keeps the metadata with the offset, so the record survives every crash and reaches the partition's next owner.
/// The metadata is empty while all is well.
struct CrashHistory: Equatable, Sendable {
    /// The number of starts without progress after which records are isolated.
    static let concurrentStarts = 3
    /// The most records of a partition in flight at the last concurrent start, and so the number that the next owner
    /// isolates.
    static let isolatedRecords = 64
    /// The number of deaths in isolation that sets a record aside. A submission is then parked, unless reading it kills
    /// too. Any other record becomes a dead letter.
    static let deathsOfPoison = 3
    /// The number of deaths that makes a submission a dead letter. The last of them shows that reading it in order to
    /// park it kills.
    static let deathsOfUnreadable = deathsOfPoison + 1

    /// The way in which the partition's records are taken.
    enum Mode: Equatable, Sendable {
        /// Records are taken side by side. At the third start without progress the mode becomes `limited`.
        case concurrent
        /// Few records are taken side by side, because the next owner may have to isolate them. If that owner finds no
        /// progress, the mode becomes `isolated`, else `concurrent`.
        case limited
        /// Records are taken one at a time, with nothing else in flight. After the last of them the mode becomes
        /// `concurrent`.
        case isolated(remaining: Int)
    }

    /// The record that was isolated last.
    struct Suspect: Equatable, Sendable {
        let offset: Int64
        /// The number of times that a process died while this record was isolated and at work.
        fileprivate(set) var deaths = 0
        /// True while the record is at work, with nothing else in flight in the process; false while it waits for an
        /// answer.
        fileprivate(set) var isAtWork = true

        var isPoison: Bool { deaths >= CrashHistory.deathsOfPoison }
    }

    /// The number of owners since the partition's offset last moved, including this one. An owner that left in order
    /// does not count.
    private(set) var starts = 0
    /// The number of records that are still to be isolated.
    private(set) var remaining = 0
    private(set) var suspect: Suspect?
    /// The database's count of owners that left in order, at the time of this history.
    private(set) var departures: Int64 = 0

    var mode: Mode {
        if remaining > 0 { return .isolated(remaining: remaining) }
        return starts >= Self.concurrentStarts ? .limited : .concurrent
    }

    /// Returns the number of deaths that count against this record; 0 unless it is the suspect.
    func deaths(of offset: Int64) -> Int { suspect?.offset == offset ? suspect?.deaths ?? 0 : 0 }

    /// Notes that a new owner begins.
    /// - Parameter departures: the database's count of departures; nil if the database does not answer. If it is higher
    ///   than the last owner knew, that owner left in order, although Kafka refused its commit, as while a group
    ///   rebalances.
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

    /// Notes that this owner leaves in order.
    /// - Parameter departures: the database's count with this departure; nil if the database did not count it.
    mutating func leave(departures: Int64?) {
        if let departures { self.departures = departures }
        leave()
    }

    private mutating func leave() {
        suspect?.isAtWork = false
        starts = max(0, starts - 1)
    }

    /// Notes that the record is at work from now on, with nothing else in flight.
    mutating func isolate(_ offset: Int64) {
        suspect = Suspect(offset: offset, deaths: deaths(of: offset))
    }

    /// Notes whether the record is at work, so that a death from now on counts against it, or waits.
    mutating func suspectIs(atWork isAtWork: Bool) { suspect?.isAtWork = isAtWork }

    /// Clears the suspect if its offset is below `position`. The database has the record's decision, so that the
    /// partition's last owner died after it. Kafka may have refused the commit of its offset, for instance while the
    /// group rebalanced.
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

/// The JSON form in Kafka. The names of its members are those of the first version and do not change.
extension CrashHistory {
    /// The text for the commit; empty if there is nothing to say.
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

    /// Reads metadata. Metadata in another form counts as empty, because other tools write metadata of their own.
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
    /// Returns the member if it is a whole number from 0 up; nil otherwise.
    fileprivate func count(_ name: String) -> Int64? {
        guard case .number(let text)? = self[name], let value = Int64(text), value >= 0 else { return nil }
        return value
    }
}
