import BackOffice
import Fulfillment

struct ListColumn: Sendable {
    let name: String
    var isNumber = false
    /// True if the page shows this column's name and cell below the cell of the column before.
    var isUnder = false
    /// True if the cells are ids. The page links each id to the search for it.
    var isLink = false
    /// True if the cells are times. The page shows how long ago each time was.
    var isSince = false
}

struct ListRow: Sendable {
    /// The stored texts of the cells, one for each column.
    let cells: [String]
    /// The id by which a change names the row; nil if the row cannot be changed.
    var id: String?
    /// The changes that the row allows; nil for all changes of the list.
    var changes: [ConsoleChange]?
    /// The sentence that explains the code in the first cell; empty if there is none. CSV files do not contain it.
    var meaning = ""
}

enum ListPart: Sendable {
    case player, product
}

/// A list of the console, which shows one table of the ledger. Every function throws a `PostgresError`.
protocol ConsoleList: Sendable {
    /// The list's name in the address of its page and in the name of its CSV file.
    var name: String { get }
    var title: String { get }
    var explanation: String { get }
    /// The sentence on the page if the list without a filter is empty.
    var emptiness: String { get }
    /// The label of the filter by reason or state.
    var reasonLabel: String { get }
    var reasons: [String] { get }
    var parts: Set<ListPart> { get }
    /// The ages that the filter offers; empty if the list has no filter by age.
    var ages: [ListAge] { get }
    /// The table whose apps and reasons the filters offer.
    var table: ListedKinds.Table { get }
    /// The columns. The columns that an operator needs for a decision come first.
    var columns: [ListColumn] { get }
    var changes: [ConsoleChange] { get }

    /// Returns the number of rows. Some lists stop counting at a maximum.
    func count(_ filter: ListFilter) async throws -> ListCount
    /// Returns the rows of a page.
    /// - Parameter skipping: the number of earlier rows of the list to leave out.
    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow]
    /// Returns the filter that selects one row; nil if no row can have the id.
    /// - Parameter id: the id, which is not empty and not too long.
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
    /// True if the list has at least this number of rows, and perhaps more.
    var isLeast = false
    /// A note beside the number, such as how many of the rows a worker is trying now; empty for none.
    var note = ""
}

enum ListLimits {
    static let page = 50
    /// The most pages. A user finds later rows with a filter or in the CSV file.
    static let maximumPages = 100
    static let maximumExported = 50_000
    static let maximumChanged = 5_000
}
