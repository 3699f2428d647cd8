import BackOffice
import Fulfillment
import NamesAndTimes

struct HeldList: ConsoleList {
    let store: HoldAdministration

    let name = "held"
    let title = "Held"
    let emptiness = "No purchase is held."
    let explanation =
        "These purchases are paid, but a rule stopped them. Each waits until an operator releases or rejects it."
    let reasonLabel = "Reason"
    let reasons = Reason.allCases.map(\.rawValue).sorted()
    let parts: Set<ListPart> = [.player, .product]
    let ages = ListAge.waiting
    let table = ListedKinds.Table.holds
    let columns = [
        ListColumn(name: "Reason"), ListColumn(name: "State", isUnder: true), ListColumn(name: "Held", isSince: true),
        ListColumn(name: "Bought", isUnder: true), ListColumn(name: "Product"),
        ListColumn(name: "Price", isUnder: true), ListColumn(name: "Quantity", isNumber: true, isUnder: true),
        ListColumn(name: "App", isUnder: true), ListColumn(name: "Transaction", isLink: true),
        ListColumn(name: "Player", isUnder: true, isLink: true),
    ]
    let changes: [ConsoleChange] = [.release, .rejectHeld]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(filter.waiting())
        return ListCount(rows: count.all, note: count.released > 0 ? "\(count.released) released" : "")
    }

    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow] {
        try await store.list(filter.waiting(), limit: limit, skipping: skipping).map { hold in
            ListRow(
                cells: [
                    hold.reason, Self.state(hold), hold.heldAt.rfc3339, hold.purchasedAt?.rfc3339 ?? "",
                    hold.productID,
                    ShownPrice.text(hold.priceMilliunits, hold.currency), "\(hold.quantity)", hold.bundleID,
                    hold.transactionID, hold.playerID,
                ], id: HeldRow(transactionID: hold.transactionID, playerID: hold.playerID).id,
                changes: hold.releasedAt == nil ? nil : [.rejectHeld],
                meaning: Reason(rawValue: hold.reason)?.detail ?? "")
        }
    }

    func row(_ id: String) -> ListFilter? {
        HeldRow(id).map { ListFilter(id: $0.transactionID, playerID: $0.playerID) }
    }

    private static func state(_ hold: HoldSummary) -> String {
        let state =
            hold.releasedAt == nil
            ? "waits for a decision" : hold.tries == 0 ? "released" : "released, tried \(hold.tries) times"
        let passed = hold.waived.isEmpty ? [] : [hold.waived.joined(separator: " and ") + " waived"]
        return ([state] + passed + [hold.note].compactMap(\.self)).joined(separator: ", ")
    }
}
