import BackOffice
import NamesAndTimes
import ReceiptdConfiguration

/// Selects the rows of a list that match all members. A member that is nil excludes no row.
struct ListFilter: Sendable {
    /// The id of one row. With an id no other member counts, except `playerID` for holds.
    var id: String?
    var bundleID: String?
    var reason: String?
    var playerID: String?
    var productID: String?
    var age: ListAge?
    /// The time from which an age counts back. The form that confirms a change contains this time, so that the change
    /// finds the rows that the page counted.
    var now = WallClock.now

    init(id: String? = nil, playerID: String? = nil, bundleID: String? = nil, reason: String? = nil) {
        (self.id, self.playerID, self.bundleID, self.reason) = (id, playerID, bundleID, reason)
    }

    /// Returns nil if the fields name a filter that the list does not have. If the filter were ignored, a change would
    /// affect more rows than the operator meant.
    init?(_ fields: [String: String], of list: any ConsoleList) {
        self.init(fields, reasons: list.reasons, parts: list.parts, ages: list.ages)
    }

    init?(_ fields: [String: String], reasons: [String], parts: Set<ListPart>, ages: [ListAge]) {
        // Ids are compared byte by byte, so white space stays.
        func value(_ name: String) -> String? { fields[name].flatMap { $0.isEmpty ? nil : $0 } }
        (bundleID, reason) = (value("bundle"), value("reason"))
        (playerID, productID) = (value("player"), value("product"))
        age = value("age").flatMap(ListAge.init)
        if let time = value("now") {
            guard let time = Int64(time), time.magnitude < Self.farthest else { return nil }
            now = Timestamp(milliseconds: time)
        }
        guard reason.map(reasons.contains) ?? true, playerID == nil || parts.contains(.player),
            productID == nil || parts.contains(.product), value("age") == nil || age.map(ages.contains) ?? false,
            [bundleID, playerID, productID].compactMap(\.self).allSatisfy(Self.isSound)
        else { return nil }
    }

    /// The most milliseconds between 1970 and the time in a form: some thousands of years.
    private static let farthest: UInt64 = 1 << 47

    private static func isSound(_ text: String) -> Bool {
        text.count <= SearchLimits.maximumID && !text.utf8.contains(0)
    }

    /// The time limit of `age`: rows from before it match an "over" age, later rows an "under" age. nil without an age.
    var time: Timestamp? { age.map { now.adding(milliseconds: -$0.seconds * 1000) } }

    var text: String { words(playerID.map { "player \($0)" }) }

    /// The filter in words, for the log of changes. The text does not contain the player id, because the log outlives a
    /// player's data. `hold_decisions` and the outcomes have the player id.
    var subject: String { id ?? words(playerID.map { _ in "one player's" }) }

    private func words(_ player: String?) -> String {
        ConsoleChanges.subject(
            bundleID: bundleID, reason: reason,
            [player, productID.map { "product \($0)" }, age.map { "\($0.words) old" }])
    }

    func waiting<Reason: WaitingReason>() -> WaitingFilter<Reason> {
        WaitingFilter(
            id: id, bundleID: bundleID, reason: reason.flatMap(Reason.init), playerID: playerID, productID: productID,
            until: time)
    }

    /// The filter as fields of a URL's query.
    var fields: [(String, String)] {
        [
            ("bundle", bundleID), ("reason", reason), ("player", playerID), ("product", productID),
            ("age", age?.rawValue),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// The fields of the filter in a form that confirms a change. They include the time from which an age counts back.
    var fixedFields: [(String, String)] { fields + (age == nil ? [] : [("now", "\(now.milliseconds)")]) }
}

enum ListAge: String, CaseIterable, Sendable {
    case overHour = "over-hour"
    case overDay = "over-day"
    case overWeek = "over-week"
    case overMonth = "over-month"
    case underHour = "under-hour"
    case underDay = "under-day"
    case underWeek = "under-week"
    case underMonth = "under-month"

    static let waiting: [ListAge] = [.overHour, .overDay, .overWeek, .overMonth]
    static let recent: [ListAge] = [.underHour, .underDay, .underWeek, .underMonth]

    var words: String {
        rawValue.replacing("-hour", with: " an hour").replacing("-", with: " a ")
    }

    var seconds: Int64 {
        switch self {
        case .overHour, .underHour: 3_600
        case .overDay, .underDay: 86_400
        case .overWeek, .underWeek: 7 * 86_400
        case .overMonth, .underMonth: 30 * 86_400
        }
    }
}
