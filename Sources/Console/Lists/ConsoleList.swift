import BackOffice
import Fulfillment

struct ListColumn: Sendable {
    let name: String
    var isNumber = false
    /// Shown below the column before it, with its name.
    var isUnder = false
    /// An id, which leads to what is known of it.
    var isLink = false
    /// A time whose age decides.
    var isSince = false
}

struct ListRow: Sendable {
    /// One cell for each column. Text as it is stored.
    let cells: [String]
    /// The id that a change names; nil if the row cannot be changed.
    var id: String?
    /// The changes that the row allows; nil for all of the list's.
    var changes: [ConsoleChange]?
    /// A sentence about the first cell's code; empty: the cell says it all. Files do not have it.
    var meaning = ""
}

/// The filters that only some lists have.
enum ListPart: Sendable {
    case player, product
}

/// A list of the console over one table of the ledger. Every function throws a `PostgresError`.
protocol ConsoleList: Sendable {
    /// The name in addresses and file names.
    var name: String { get }
    var title: String { get }
    /// Explains the list's rows, in a sentence.
    var explanation: String { get }
    /// The sentence that the page shows if the whole list is empty.
    var emptiness: String { get }
    /// The label of the second filter.
    var reasonLabel: String { get }
    var reasons: [String] { get }
    var parts: Set<ListPart> { get }
    /// Empty: it is not filtered by age.
    var ages: [ListAge] { get }
    /// The table that has the list's apps and reasons.
    var table: ListedKinds.Table { get }
    /// The columns that a decision needs first.
    var columns: [ListColumn] { get }
    var changes: [ConsoleChange] { get }

    /// Some stop counting somewhere.
    func count(_ filter: ListFilter) async throws -> ListCount
    /// - Parameter skipping: rows in front that are left out.
    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow]
    /// The filter of a row by its id, which is neither empty nor longer than a search's; nil where no row can have that id.
    func row(_ id: String) -> ListFilter?
}

extension ConsoleList {
    func rows(_ filter: ListFilter, limit: Int) async throws -> [ListRow] {
        try await rows(filter, limit: limit, skipping: 0)
    }

    func row(_ id: String) -> ListFilter? { TransactionIDText.isSound(id) ? ListFilter(id: id) : nil }
}

struct ListCount: Sendable, Equatable {
    let rows: Int
    /// There are more.
    var isLeast = false
    /// A note beside the number about work under way.
    var note = ""
}

/// Pages of a list, and of its file.
enum ListLimits {
    static let page = 50
    /// Beyond them a filter, or the file, is what helps.
    static let maximumPages = 100
    /// Rows of a CSV file.
    static let maximumExported = 50_000
    /// Changed by one confirmation.
    static let maximumChanged = 5_000
}
