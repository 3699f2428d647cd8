import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

@Suite("Settlement of random batches")
struct SettlementPropertyTests {
    /// A purchase with its kind. Every submission of a purchase has the same original transaction and the same kind.
    private struct Item {
        let purchase: StorePurchase
        let kind: ProductKind?
    }

    private static func items(_ random: inout SeededRandom) -> [Item] {
        (0..<12).map { number in
            let kind = random.pick(ProductKind.allCases.map { Optional($0) } + [nil])
            let original = kind == .consumable || random.chance(40) ? "t\(number)" : "o\(random.below(3))"
            let purchase = Sample.purchase(
                StoreTransactionID("t\(number)"), original: StoreTransactionID(original), after: Int64(random.below(4)))
            return Item(purchase: purchase, kind: kind)
        }
    }

    private static func decision(_ items: [Item], _ random: inout SeededRandom, offset: Int64) -> PendingDecision {
        let submission = Sample.submission(
            Identifier("s\(random.below(6))"), player: PlayerID("p\(random.below(3))"))
        let chosen = items.shuffled(using: &random).prefix(1 + random.below(5))
            .sorted { StorePurchase.isBefore($0.purchase, $1.purchase) }
        if random.chance(5) {
            return Sample.decision(
                .whole(.productMismatch, chosen.map(\.purchase)), submission: submission, offset: offset)
        }
        let verdicts: [JudgedPurchase.Verdict] = [
            .grant(payload: nil), .grant(payload: "{}"), .grant(payload: nil), .hold(.retiredProduct),
            .hold(.beforeCutover), .reject(.cancelled), .reject(.bindingMismatch),
        ]
        let judged = chosen.map { Sample.judged($0.purchase, $0.kind, random.pick(verdicts)) }
        return Sample.decision(.each(judged), submission: submission, offset: offset)
    }

    @Test(
        "random batches grant no transaction twice and no original to two players, and answer every submission",
        arguments: 0..<60 as Range<UInt64>)
    func promises(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let items = Self.items(&random)
        var view = LedgerView()
        var owners: [StoreTransactionID: PlayerID] = [:]
        var originalOwners: [StoreTransactionID: PlayerID] = [:]
        var grantedOriginals: Set<StoreTransactionID> = []
        var events: [NameBasedUUID: [UInt8]] = [:]
        for offset in Int64(0)..<60 {
            let decision = Self.decision(items, &random, offset: offset)
            let settlement = decision.settle(in: &view)
            let player = decision.submission.playerID
            for grant in settlement.grants {
                let id = grant.purchase.transactionID
                #expect(owners.updateValue(player, forKey: id) == nil, "seed \(seed): \(id) is granted twice")
                guard let kind = grant.kind, kind != .consumable else { continue }
                let original = grant.purchase.originalTransactionID
                let owner = originalOwners[original, default: player]
                #expect(owner == player, "seed \(seed): \(original) is two players'")
                originalOwners[original] = owner
                if kind == .nonConsumable {
                    #expect(grantedOriginals.insert(original).inserted, "seed \(seed): \(original) is restored twice")
                }
            }
            for event in settlement.events {
                #expect(event.playerID == player)
                let earlier = events.updateValue(event.value, forKey: event.eventID)
                #expect(earlier == nil || earlier == event.value, "seed \(seed): one id, two bodies")
                if event.kind == .granted { #expect(owners[event.subject] == player, "seed \(seed)") }
            }
            expectPromisedAnswer(settlement, to: decision, "seed \(seed), offset \(offset)")
            simulateOperator(&view, &random)
        }
        #expect(!owners.isEmpty, "seed \(seed) grants nothing")
    }

    /// Checks the contract's section "what one submission yields".
    private func expectPromisedAnswer(_ settlement: Settlement, to decision: PendingDecision, _ note: String) {
        let outcomes = settlement.outcomes
        #expect(outcomes.map(\.transactionID) == decision.verdict.purchases.map(\.transactionID), "\(note)")
        let granted = outcomes.filter { $0.outcome == .granted }.map(\.transactionID)
        let held = outcomes.filter { $0.outcome == .held }
        let grantedEvents = settlement.events.filter { $0.kind == .granted }
        #expect(grantedEvents.map(\.subject) == granted, "\(note)")
        #expect(settlement.events.dropFirst(granted.count) == (settlement.answer.map { [$0] } ?? [])[...], "\(note)")
        if !held.isEmpty {
            #expect(settlement.answer?.kind == .held, "\(note)")
            #expect(settlement.answer?.reason == held.last?.reason, "\(note)")
        } else if granted.isEmpty {
            #expect(settlement.answer?.kind == .rejected, "\(note)")
            let isGrantedAlready = outcomes.contains { $0.outcome == .alreadyGranted }
            #expect(
                settlement.answer?.reason == (isGrantedAlready ? .alreadyGranted : outcomes.last?.reason), "\(note)")
        } else {
            #expect(settlement.answer == nil, "\(note)")
        }
        #expect(!settlement.events.isEmpty, "\(note)")
        for outcome in outcomes { #expect((outcome.reason == nil) == (outcome.outcome == .granted), "\(note)") }
    }

    /// Refuses a hold as an operator does, in one call of five. The refusal frees the claim if no other row is under
    /// the claim.
    private func simulateOperator(_ view: inout LedgerView, _ random: inout SeededRandom) {
        let open = view.holds.keys.sorted()
        guard !open.isEmpty, random.chance(20) else { return }
        let refused = random.pick(open)
        let player = random.pick(view.holds[refused]?.keys.sorted() ?? [])
        view.endHold(of: refused, player)
        view.refusals[refused, default: []].insert(player)
    }
}
