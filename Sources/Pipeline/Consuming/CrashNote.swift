import Fulfillment

/// What the commit metadata of a partition tells its next owner of how the ones before it ended.
///
/// Kafka keeps it with the offset, so that it survives every crash and goes with the partition. Empty while all is well.
struct CrashNote: Equatable, Sendable {
    /// Starts without progress before records are taken alone.
    static let startsInCompany = 3
    /// Records in flight of a partition at the last start in company, and so those to be taken alone afterwards.
    static let records = 64
    /// Deaths of the process with one record alone in flight that make it a dead letter.
    static let deathsOfPoison = 3

    /// Owners of the partition, this one included, since it last moved. One that left in order does not count.
    private(set) var starts = 0
    /// Records that are still to be taken alone; 0: records are taken in company.
    private(set) var left = 0
    /// The record that was alone last, and how often the process died of it or beside it.
    private(set) var suspect: Int64?
    private(set) var deaths = 0
    /// The suspect is in flight at this moment, and nothing else is in the whole process.
    private(set) var isAlone = false
    /// Owners that the database knew to have left in order, when this was written.
    private(set) var departures: Int64 = 0

    /// Few records at a time: the next owner may have to take them alone.
    var isNarrow: Bool { left == 0 && starts >= Self.startsInCompany }

    func isPoison(_ offset: Int64) -> Bool { suspect == offset && deaths >= Self.deathsOfPoison }

    /// Nothing to tell the next owner.
    private var isEmpty: Bool { starts == 0 && left == 0 && suspect == nil }

    /// A new owner begins where the last one ended.
    /// - Parameter departures: that the database knows of, nil where it does not answer. One more than the last owner knew
    ///   of: it left in order, though Kafka would not hear of it, as while a group rebalances.
    mutating func begin(departures: Int64?) {
        if let departures {
            if departures > self.departures { leave() }
            self.departures = departures
        }
        if isAlone { deaths += 1 }
        isAlone = false
        starts += 1
        if left == 0, starts > Self.startsInCompany { left = Self.records }
    }

    /// The owner leaves in order, and so the database has noted: nobody died.
    mutating func leave(departures: Int64?) {
        if let departures { self.departures = departures }
        leave()
    }

    private mutating func leave() {
        isAlone = false
        starts = max(0, starts - 1)
    }

    mutating func name(_ offset: Int64) {
        if suspect != offset { deaths = 0 }
        suspect = offset
        isAlone = true
    }

    /// A death from now on is not the record's.
    mutating func forgive() { isAlone = false }

    /// The database is known to have everything before `position`: a suspect there was done, and whatever ended its owner
    /// came later. Kafka may have refused to hear of it, as while a group rebalances.
    mutating func acquit(before position: Int64) {
        if let suspect, suspect < position { pass() }
    }

    /// The record that was taken alone is done.
    mutating func pass() {
        isAlone = false
        suspect = nil
        deaths = 0
        left = max(0, left - 1)
        if left == 0 { starts = 0 }
    }
}

extension CrashNote {
    /// Empty where there is nothing to tell.
    var metadata: String {
        if isEmpty { return "" }
        var json = JSONWriter(capacity: 96)
        json.beginObject()
        json.name("v")
        json.number(1)
        json.name("starts")
        json.number(starts)
        if left > 0 {
            json.name("left")
            json.number(left)
        }
        if let suspect {
            json.name(isAlone ? "alone" : "suspect")
            json.number(suspect)
            json.name("deaths")
            json.number(deaths)
        }
        if departures > 0 {
            json.name("departures")
            json.number(departures)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// What cannot be read tells nothing: other tools write metadata of their own.
    init(metadata: String) {
        guard !metadata.isEmpty, let json = try? JSONParser.parse(Array(metadata.utf8)).value,
            json.count("v") == 1
        else { return }
        starts = Int(clamping: json.count("starts") ?? 0)
        left = min(Int(clamping: json.count("left") ?? 0), Self.records)
        isAlone = json.count("alone") != nil
        suspect = json.count("alone") ?? json.count("suspect")
        deaths = suspect == nil ? 0 : Int(clamping: json.count("deaths") ?? 0)
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
