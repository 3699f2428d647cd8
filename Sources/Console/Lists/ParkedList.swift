import BackOffice
import Fulfillment
import NamesAndTimes

struct ParkedList: ConsoleList {
    let store: ParkedAdministration

    let name = "parked"
    let title = "Parked"
    let emptiness = "No submission is parked."
    let explanation =
        """
        These submissions wait in PostgreSQL for their next try. If a submission has no next try, an operator has to \
        retry or reject it.
        """
    let reasonLabel = "Reason"
    let reasons = ParkingReason.allCases.map(\.rawValue).sorted()
    let parts: Set<ListPart> = [.player]
    let ages = ListAge.waiting
    let table = ListedKinds.Table.parked
    let columns = [
        ListColumn(name: "Reason"), ListColumn(name: "Detail", isUnder: true),
        ListColumn(name: "Parked", isSince: true), ListColumn(name: "Next try", isUnder: true),
        ListColumn(name: "App"), ListColumn(name: "Failed tries", isNumber: true, isUnder: true),
        ListColumn(name: "Submission", isLink: true), ListColumn(name: "Player", isUnder: true, isLink: true),
    ]
    let changes: [ConsoleChange] = [.retry, .rejectParked]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(filter.waiting())
        return ListCount(rows: count.all, note: count.leased > 0 ? "\(count.leased) being tried now" : "")
    }

    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow] {
        try await store.list(filter.waiting(), limit: limit, skipping: skipping).map { parked in
            let detail = [parked.detail, parked.sqlState].compactMap(\.self).joined(separator: ", ")
            let next = parked.isLeased ? "now" : parked.dueAt?.rfc3339 ?? "none: an operator has to retry it"
            return ListRow(
                cells: [
                    parked.reason, detail, parked.parkedAt.rfc3339, next, parked.bundleID, "\(parked.failures)",
                    parked.submissionID, parked.playerID,
                ], id: parked.submissionID, changes: parked.isLeased ? [.rejectParked] : nil,
                meaning: ParkingReason(rawValue: parked.reason)?.sentence(detail: parked.detail) ?? "")
        }
    }

    func row(_ id: String) -> ListFilter? { ListFilter(id: id) }
}
