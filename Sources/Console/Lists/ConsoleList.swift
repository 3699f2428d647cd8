import BackOffice
import Fulfillment

struct ListColumn: Sendable {
    let name: String
    var isNumber = false
    /// Whether the page shows the column below the column before it, with the column's name.
    var isUnder = false
    /// Whether the cells are ids, which link to the search for the id.
    var isLink = false
    /// Whether the cells are times whose age the page shows.
    var isSince = false
}

struct ListRow: Sendable {
    /// The cells' text as it is stored, one cell for each column.
    let cells: [String]
    /// The id that a change names; nil if the row cannot be changed.
    var id: String?
    /// The changes that the row allows; nil if the row allows all changes of the list.
    var changes: [ConsoleChange]?
    /// A sentence about the first cell's code; empty if the code needs none. CSV files leave the sentence out.
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
    /// The ages of the list's filter; empty if the list has no filter by age.
    var ages: [ListAge] { get }
    /// The table that has the list's apps and reasons.
    var table: ListedKinds.Table { get }
    /// The columns; the ones that an operator needs for a decision come first.
    var columns: [ListColumn] { get }
    var changes: [ConsoleChange] { get }

    /// Returns the number of rows. Some lists count only up to a maximum.
    func count(_ filter: ListFilter) async throws -> ListCount
    /// - Parameter skipping: the number of rows in front that the list leaves out.
    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow]
    /// Returns the filter of the row with an id; nil if no row can have the id.
    /// - Parameter id: neither empty nor longer than a search's id.
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
    /// Whether the list has more rows than the number says.
    var isLeast = false
    /// A note beside the number about work under way.
    var note = ""
}

/// The limits of a list's pages and of its CSV file.
enum ListLimits {
    static let page = 50
    /// The most pages. A user who wants a later row filters the list or takes the file.
    static let maximumPages = 100
    /// Rows of a CSV file.
    static let maximumExported = 50_000
    /// The most rows that one confirmation changes.
    static let maximumChanged = 5_000
}
