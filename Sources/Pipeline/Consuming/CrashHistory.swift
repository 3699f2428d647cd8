import Encodings
import Fulfillment

/// The message in a partition's commit metadata to its next owner: how the owners before it ended.
///
/// Kafka keeps it with the offset, so that it survives every crash and goes with the partition. It is empty while all
/// is well.
struct CrashHistory: Equatable, Sendable {
    /// The starts without progress after which records are isolated.
    static let concurrentStarts = 3
    /// The most records in flight of a partition at the last concurrent start, and so those to be isolated afterwards.
    static let isolatedRecords = 64
    /// The deaths of the process with one record isolated after which that record is set aside. A submission is parked,
    /// unless reading it kills too. Any other record is a dead letter.
    static let deathsOfPoison = 3
    /// The deaths after which a submission is a dead letter, because reading it in order to park it killed.
    static let deathsOfUnreadable = deathsOfPoison + 1

    /// How the partition's records are taken.
    enum Mode: Equatable, Sendable {
        /// Records are taken side by side. At the third start without progress the mode becomes `limited`.
        case concurrent
        /// Records are taken side by side, but few: the next owner may have to isolate them. If that owner finds no
        /// progress, the mode becomes `isolated`, else `concurrent`.
        case limited
        /// Records are taken one at a time, with nothing else in flight. After the last of them the mode becomes
        /// `concurrent`.
        case isolated(remaining: Int)
    }

    /// The record that was isolated last.
    struct Suspect: Equatable, Sendable {
        let offset: Int64
        /// The number of times that the process died of it, or beside it.
        fileprivate(set) var deaths = 0
        /// Whether the record is at work on the processor, with nothing else in the whole process. It is false while
        /// the record only waits.
        fileprivate(set) var isAtWork = true

        var isPoison: Bool { deaths >= CrashHistory.deathsOfPoison }
    }

    /// The number of owners, including this one, since the partition last moved. One that left in order does not count.
    private(set) var starts = 0
    /// The number of records that are still to be isolated.
    private(set) var remaining = 0
    private(set) var suspect: Suspect?
    /// The number of owners that left in order, as the database knew when this was written.
    private(set) var departures: Int64 = 0

    var mode: Mode {
        if remaining > 0 { return .isolated(remaining: remaining) }
        return starts >= Self.concurrentStarts ? .limited : .concurrent
    }

    /// Returns the number of deaths of the process with this record isolated.
    func deaths(of offset: Int64) -> Int { suspect?.offset == offset ? suspect?.deaths ?? 0 : 0 }

    /// Begins a new owner where the last one ended.
    /// - Parameter departures: the number of departures that the database knows; nil if it does not answer. One more
    ///   than the last owner knew means that it left in order, though Kafka did not take its commit, as while a group
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

    /// Ends the owner in order, which the database has recorded. Nobody died.
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

    /// Notes whether a death from now on counts against the record. It does not while the record only waits.
    mutating func suspectIs(atWork isAtWork: Bool) { suspect?.isAtWork = isAtWork }

    /// Clears a suspect before `position`, because the database has everything before it: whatever ended its owner came
    /// later. Kafka may have refused that commit, as while a group rebalances.
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

/// The form in Kafka since the first version: the names of its members do not change.
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

    /// Reads metadata. Unreadable ones say nothing, because other tools write metadata of their own.
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
    /// Returns nil unless it is a whole number from 0 up.
    fileprivate func count(_ name: String) -> Int64? {
        guard case .number(let text)? = self[name], let value = Int64(text), value >= 0 else { return nil }
        return value
    }
}
