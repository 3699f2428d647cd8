import Encodings
import Fulfillment

/// The message of a partition's commit metadata to the next owner: how the owners before it ended.
///
/// Kafka keeps it with the offset, so that it survives every crash and goes with the partition. Empty while all is well.
struct CrashHistory: Equatable, Sendable {
    /// Starts without progress before records are isolated.
    static let concurrentStarts = 3
    /// Records in flight of a partition at the last concurrent start, and so those to be isolated afterwards.
    static let isolatedRecords = 64
    /// Deaths of the process with one record isolated, behind which the record is set aside: a submission is parked, unless
    /// reading it kills, too; any other record is a dead letter.
    static let deathsOfPoison = 3
    /// The deaths behind which a submission is a dead letter: reading it, in order to park it, killed.
    static let deathsOfUnreadable = deathsOfPoison + 1

    /// The way in which the partition's records are taken.
    enum Mode: Equatable, Sendable {
        /// Side by side. Can become: `limited`, at the third start without progress.
        case concurrent
        /// Side by side, and few: the next owner may have to isolate them. Can become: `isolated`, with an owner that
        /// finds no progress; `concurrent`, with one that finds some.
        case limited
        /// One at a time, with nothing else in flight. Can become: `concurrent`, after the last of them.
        case isolated(remaining: Int)
    }

    /// The record that was isolated last.
    struct Suspect: Equatable, Sendable {
        let offset: Int64
        /// The number of times that the process died of it, or beside it.
        fileprivate(set) var deaths = 0
        /// Whether the record is at work on the processor, and nothing else is in the whole process. While it only
        /// waits it is not.
        fileprivate(set) var isAtWork = true

        var isPoison: Bool { deaths >= CrashHistory.deathsOfPoison }
    }

    /// Owners of the partition, this one included, since it last moved. One that left in order does not count.
    private(set) var starts = 0
    /// Records that are still to be isolated.
    private(set) var remaining = 0
    private(set) var suspect: Suspect?
    /// Owners that the database knew to have left in order, when this was written.
    private(set) var departures: Int64 = 0

    var mode: Mode {
        if remaining > 0 { return .isolated(remaining: remaining) }
        return starts >= Self.concurrentStarts ? .limited : .concurrent
    }

    /// Deaths of the process with this record isolated.
    func deaths(of offset: Int64) -> Int { suspect?.offset == offset ? suspect?.deaths ?? 0 : 0 }

    /// A new owner begins where the last one ended.
    /// - Parameter departures: that the database knows of, nil where it does not answer. One more than the last owner knew
    ///   of: it left in order, though Kafka would not hear of it, as while a group rebalances.
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

    /// The owner leaves in order, and so the database has recorded: nobody died.
    mutating func leave(departures: Int64?) {
        if let departures { self.departures = departures }
        leave()
    }

    private mutating func leave() {
        suspect?.isAtWork = false
        starts = max(0, starts - 1)
    }

    /// The record is at work from now on, and nothing else is in flight.
    mutating func isolate(_ offset: Int64) {
        suspect = Suspect(offset: offset, deaths: deaths(of: offset))
    }

    /// A death from now on is the record's (true), or is not, for it only waits (false).
    mutating func suspectIs(atWork isAtWork: Bool) { suspect?.isAtWork = isAtWork }

    /// The database is known to have everything before `position`: a suspect there was done, and whatever ended its owner
    /// came later. Kafka may have refused to hear of it, as while a group rebalances.
    mutating func acquit(before position: Int64) {
        if let suspect, suspect.offset < position { pass() }
    }

    /// The record that was isolated is done.
    mutating func pass() {
        suspect = nil
        remaining = max(0, remaining - 1)
        if remaining == 0 { starts = 0 }
    }
}

/// The form in Kafka since the first version: the names of its members do not change.
extension CrashHistory {
    /// Empty where there is nothing to tell.
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

    /// Unreadable metadata says nothing: other tools write metadata of their own.
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
    /// Nil where it is no whole number from 0 up.
    fileprivate func count(_ name: String) -> Int64? {
        guard case .number(let text)? = self[name], let value = Int64(text), value >= 0 else { return nil }
        return value
    }
}
