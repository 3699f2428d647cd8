import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The transactions that an event lists")
struct TransactionListTests {
    /// Returns the settlement of 60 purchases that another submission got before, and of `count` new purchases.
    private func settlement(newly count: Int, _ verdict: JudgedPurchase.Verdict) -> Settlement {
        var view = LedgerView()
        let old = (0..<60).map { Sample.judged(Sample.purchase(StoreTransactionID("old-\($0)"))) }
        _ = Sample.decision(.each(old), submission: Sample.submission("earlier")).settle(in: &view)
        let new = (0..<count).map { number in
            Sample.judged(
                Sample.purchase(StoreTransactionID("new-\(number)"), after: 1 + Int64(number)), .consumable, verdict)
        }
        return Sample.decision(.each(old + new)).settle(in: &view)
    }

    @Test("an event lists at most 100 transactions: its own first, then those decided now, then those decided earlier")
    func bound() throws {
        let settlement = settlement(newly: 70, .grant(payload: nil))
        #expect(settlement.events.count == 70)
        let event = try #require(settlement.events.last)
        #expect(event.subject == "new-69")
        #expect(event.listed.count == 100)
        #expect(event.listed.first == "new-69 granted -")
        #expect(event.listed[1..<70] == (0..<69).map { "new-\($0) granted -" }[...])
        #expect(event.listed[70...] == (0..<30).map { "old-\($0) already_granted already_granted" }[...])
        #expect(event.member("transactions_total") == .number("130"))
    }

    @Test("if a decision is about more than 100 new transactions, each event still lists its own transaction first")
    func ownAmongMany() {
        for event in settlement(newly: 150, .grant(payload: nil)).events {
            #expect(event.listed.count == 100)
            #expect(event.listed.first == "\(event.subject) granted -")
            #expect(Set(event.listed).count == 100)
            #expect(event.member("transactions_total") == .number("210"))
        }
    }

    @Test("the event of a hold lists the newest held transaction first")
    func held() {
        let answer = settlement(newly: 101, .hold(.beforeCutover)).answer
        #expect(answer?.listed.first == "new-100 held before_cutover")
        #expect(answer?.listed.count == 100)
        #expect(answer?.member("transactions_total") == .number("161"))
    }

    @Test(
        "a rejection event first lists the newest transaction with the event's reason, and lists no transaction twice")
    func rejected() {
        let answer = settlement(newly: 5, .reject(.cancelled)).answer
        #expect(answer?.reason == .alreadyGranted)
        #expect(answer?.listed.first == "old-59 already_granted already_granted")
        #expect(answer?.listed[1..<6] == (0..<5).map { "new-\($0) rejected cancelled" }[...])
        #expect(Set(answer?.listed ?? []).count == 65)
    }

    @Test("if there are 99 or 100 transactions, an event lists all of them")
    func exactly() throws {
        #expect(settlement(newly: 40, .reject(.cancelled)).answer?.listed.count == 100)
        #expect(settlement(newly: 39, .reject(.cancelled)).answer?.listed.count == 99)
    }
}
