/// The contract as code: the results that each paid transaction and each submission may have, and must have once the
/// workers are idle. It shares no code with the worker.
public struct Model: Sendable {
    let facts: Facts
    let seen: Seen
    /// The family of each transaction. One player owns a whole family: all periods, restored copies and continuations
    /// of an original transaction. A consumable is a family by itself.
    private let families: [String: String]
    let purchasesByFamily: [String: [Purchase]]
    private let purchasesByGoods: [String: [Purchase]]
    let granted: [String: Event]
    /// The families with a purchase that an erased player may own.
    private(set) var erased: Set<String> = []
    private let submissionsByID: [String: [Submission]]

    public init(_ facts: Facts, _ seen: Seen) {
        self.facts = facts
        self.seen = seen
        let families = Self.families(facts.purchases)
        let purchases = facts.purchases.values.sorted { $0.id < $1.id }
        self.families = families
        purchasesByFamily = Dictionary(grouping: purchases) { families[$0.id] ?? $0.id }
        purchasesByGoods = Dictionary(grouping: purchases, by: \.goods)
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

    /// Returns every difference from the contract. The workers must be idle.
    public func differences() -> [Difference] {
        form() + contents() + revisions() + owners() + arrivals() + arrivalsBehindRefusals() + grantFacts() + refunds()
            + units() + ledger() + winners() + subscriptions() + toldSubscriptions() + answers() + orderOfGrants()
            + commits() + spared() + finishes() + refundRequests() + consumptionAnswers() + renewals() + daysOver()
            + (facts.conditions.isCalm ? order() : [])
    }

    /// Returns the differences that must not exist even between two steps of the history. The workers must be idle.
    public func differencesAtRest() -> [Difference] { ledger() + toldSubscriptions() }

    /// Returns true if the restore lost an operator's order about the transaction, or if an operator erased a player
    /// who may own its family.
    func isUnknown(_ id: String) -> Bool {
        facts.conditions.lostOrders.contains(id) || erased.contains(family(of: id))
    }

    func submissions(_ id: String) -> [Submission] { submissionsByID[id] ?? [] }

    func family(of id: String) -> String { families[id] ?? id }

    /// Returns all purchases of the purchase's family, the purchase itself too.
    func relatives(of purchase: Purchase) -> [Purchase] { purchasesByFamily[family(of: purchase.id)] ?? [] }

    /// Returns the purchases of the same goods: the ids of one period, or the copies of a non-consumable.
    func copies(of goods: String) -> [Purchase] { purchasesByGoods[goods] ?? [] }

    /// Returns the player in the grant event of the transaction; nil without such an event.
    func owner(of id: String) -> String? { granted[id]?.player }

    /// Returns Apple's notifications of refunds of the purchase. A period may have two ids. The notifications about
    /// both ids count.
    func refunds(of purchase: Purchase) -> [RefundWord] {
        guard purchase.kind == .autoRenewable else { return purchase.refunds }
        return copies(of: purchase.goods).flatMap(\.refunds)
            .sorted { $0.signedAt < $1.signedAt }
    }

    /// Returns the family of each transaction. Transactions belong together if they share an original transaction, a
    /// previous original transaction or the goods.
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
