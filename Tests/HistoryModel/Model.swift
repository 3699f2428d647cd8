/// The contract as code: what each paid transaction and each submission may have become, and must have become once all is
/// quiet. It imports nothing of the worker.
public struct Model: Sendable {
    let facts: Facts
    let seen: Seen
    /// The families by transaction id: one player owns all of a family. Another period, a restored copy and what goes
    /// on from an original are one family; each consumable is one by itself.
    private let families: [String: String]
    /// The newest grant event of each transaction.
    let granted: [String: Event]
    /// Families of which an erased player may have something.
    private(set) var erased: Set<String> = []
    private let submissionsByID: [String: [Submission]]

    public init(_ facts: Facts, _ seen: Seen) {
        self.facts = facts
        self.seen = seen
        families = Self.families(facts.purchases)
        granted = Dictionary(
            seen.events.filter { $0.type == "receipt.granted" }.map { ($0.transaction ?? "", $0) }
        ) { first, _ in first }
        submissionsByID = Dictionary(grouping: facts.submissions) { $0.id }
        guard !facts.conditions.erased.isEmpty else { return }
        erased = Set(
            facts.purchases.values.filter { purchase in
                claims(on: purchase).contains { facts.conditions.erased.contains($0.player) }
            }.map { family(of: $0.id) })
    }

    /// Empty where everything is as the contract says. Everything must be quiet.
    public func differences() -> [Difference] {
        form() + contents() + revisions() + owners() + arrivals() + arrivalsBehindRefusals() + grantFacts() + refunds()
            + ledger() + winners() + subscriptions() + toldSubscriptions() + answers() + orderOfGrants() + commits()
            + spared()
            + (facts.conditions.isCalm ? order() : [])
    }

    /// An operator's order about it was lost with the database, or whose it was has been erased.
    func isUnknown(_ id: String) -> Bool {
        facts.conditions.lostOrders.contains(id) || erased.contains(family(of: id))
    }

    func submissions(_ id: String) -> [Submission] { submissionsByID[id] ?? [] }

    func family(of id: String) -> String { families[id] ?? id }

    /// The player to whom a transaction was granted, as the events say.
    func owner(of id: String) -> String? { granted[id]?.player }

    /// Refunds of what a purchase is: the same period may be told under two ids.
    func refunds(of purchase: Purchase) -> [RefundWord] {
        guard purchase.kind == .autoRenewable else { return purchase.refunds }
        return facts.purchases.values.filter { $0.goods == purchase.goods }.flatMap(\.refunds)
            .sorted { $0.signedAt < $1.signedAt }
    }

    /// Unites what refers to one another until nothing changes: histories are short.
    private static func families(_ purchases: [String: Purchase]) -> [String: String] {
        var root: [String: String] = [:]
        func find(_ id: String) -> String {
            var id = id
            while let next = root[id], next != id { id = next }
            return id
        }
        var byGoods: [String: String] = [:]
        for purchase in purchases.values.sorted(by: { $0.id < $1.id }) {
            switch purchase.kind {
            case .consumable, .nonRenewing: continue
            case .nonConsumable, .autoRenewable: break
            }
            var links = [purchase.originalID]
            if let previous = purchase.previousOriginalID { links.append(previous) }
            if let other = byGoods.updateValue(purchase.id, forKey: purchase.goods) { links.append(other) }
            for link in links {
                let (one, two) = (find(purchase.id), find(link))
                if one != two { root[max(one, two)] = min(one, two) }
            }
        }
        return Dictionary(purchases.keys.map { ($0, find($0)) }) { first, _ in first }
    }
}
