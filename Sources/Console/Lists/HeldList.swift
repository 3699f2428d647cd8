import Fulfillment
import Ledger
import NamesAndTimes

/// What waits for a person.
struct HeldList: ConsoleList {
    let store: HoldAdministration

    let name = "held"
    let title = "Held"
    let explanation = "Paid purchases that wait for a person's decision."
    let reasonLabel = "Reason"
    let reasons = Reason.allCases.map(\.rawValue).sorted()
    let table: ListedKinds.Table? = .holds
    let columns = [
        ListColumn(name: "Transaction"), ListColumn(name: "Player"), ListColumn(name: "App"),
        ListColumn(name: "Product"), ListColumn(name: "Quantity", isNumber: true), ListColumn(name: "Reason"),
        ListColumn(name: "Bought"), ListColumn(name: "Held"), ListColumn(name: "State"),
    ]
    let changes: [ConsoleChange] = [.release, .rejectHeld]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(Self.filter(filter))
        return ListCount(rows: count.all, note: count.released > 0 ? "\(count.released) released" : "")
    }

    func rows(_ filter: ListFilter, limit: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit).map { hold in
            ListRow(
                cells: [
                    hold.transactionID, hold.playerID, hold.bundleID, hold.productID, "\(hold.quantity)", hold.reason,
                    hold.purchasedAt.rfc3339, hold.heldAt.rfc3339, Self.state(hold),
                ], id: hold.transactionID, search: hold.transactionID)
        }
    }

    static func filter(_ filter: ListFilter, id: String? = nil) -> HoldFilter {
        HoldFilter(
            transactionID: id.map { StoreTransactionID($0) }, bundleID: filter.bundleID,
            reason: filter.reason.flatMap(Reason.init))
    }

    private static func state(_ hold: HoldSummary) -> String {
        let state =
            hold.releasedAt == nil ? "waits" : hold.tries == 0 ? "released" : "released, \(hold.tries) tries"
        let passed = hold.waived.isEmpty ? [] : [hold.waived.joined(separator: " and ") + " let pass"]
        return ([state] + passed + [hold.note].compactMap(\.self)).joined(separator: ", ")
    }
}
