import Identifiers
import Testing

@testable import Fulfillment

@Suite("What the ledger knows of a purchase's owner")
struct LedgerViewTests {
    private func owner(_ previous: PlayerID?, own: PlayerID? = nil, isReleased: Bool = false) -> PlayerID? {
        var purchase = Sample.purchase("2000")
        purchase.previousOriginalTransactionID = "1000"
        var view = LedgerView(claims: ["2000": LedgerView.Claim(player: own)])
        if let previous { view.claims["1000"] = LedgerView.Claim(player: previous) }
        return view.claim(of: purchase, isReleased: isReleased)?.player
    }

    @Test("what goes on from another subscription is its owner's, unless it has one of its own")
    func passedOn() {
        #expect(owner("first") == "first")
        #expect(owner("first", own: "second") == "second")
        #expect(owner(nil) == nil)
    }

    @Test("it is nobody's where that owner was erased, or an operator has ended the dispute about it")
    func notPassedOn() {
        var random = SystemRandomNumberGenerator()
        #expect(owner(Pseudonym.make(using: &random)) == nil)
        #expect(owner("first", isReleased: true) == nil)
        #expect(owner("first", own: "second", isReleased: true) == "second")
    }
}
