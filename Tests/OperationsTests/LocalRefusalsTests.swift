import Fulfillment
import Testing

@testable import Operations

@Suite("Local refusals that wait to be stored")
struct LocalRefusalsTests {
    private func entry(_ number: Int, _ reason: String, player: String) -> LocalRefusal {
        LocalRefusal(
            eventID: "e\(number)", submissionID: "s\(number)", playerID: player, bundleID: nil, reason: reason,
            detailCode: reason, detail: "", occurredAt: "")
    }

    private func note(_ refusals: LocalRefusals, _ number: Int, _ reason: String, player: String? = nil) {
        let player = player ?? "p\(number)"
        refusals.note(reason: reason, player: player) { entry(number, reason, player: player) }
    }

    @Test("in a flood of refusals for one reason, the buffer of local refusals keeps every refusal for a rarer reason")
    func flood() {
        let refusals = LocalRefusals()
        for number in 0..<10_000 { note(refusals, number, "foreign_app") }
        for number in 10_000..<10_020 { note(refusals, number, "malformed_receipt") }
        for number in 20_000..<30_000 { note(refusals, number, "foreign_app") }
        let kept = refusals.take()
        #expect(kept.count == LocalRefusals.maximum)
        #expect(kept.filter { $0.reason == "malformed_receipt" }.count == 20)
        #expect(refusals.take().isEmpty)
    }

    @Test("the buffer of local refusals keeps at most four refusals of one player until `take` empties the buffer")
    func onePlayer() {
        let refusals = LocalRefusals()
        for number in 0..<100 { note(refusals, number, "malformed_receipt", player: "loud") }
        note(refusals, 100, "malformed_receipt")
        #expect(refusals.take().map(\.playerID).sorted() == ["loud", "loud", "loud", "loud", "p100"])
        note(refusals, 101, "malformed_receipt", player: "loud")
        #expect(refusals.take().count == 1)
    }

    @Test("`take` returns the local refusals that `putBack` returned to the buffer")
    func putBack() {
        let refusals = LocalRefusals()
        note(refusals, 1, "foreign_app")
        let taken = refusals.take()
        refusals.putBack(taken)
        #expect(refusals.take() == taken)
    }
}
