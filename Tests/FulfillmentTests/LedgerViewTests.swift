import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("What the ledger knows of a purchase's owner")
struct LedgerViewTests {
    private static let app = StoreApp(Sample.bundle, in: .production)

    private func owner(
        _ previous: PlayerID?, own: PlayerID? = nil, of previousApp: StoreApp = app, isReleased: Bool = false
    ) -> PlayerID? {
        var purchase = Sample.purchase("2000")
        purchase.previousOriginalTransactionID = "1000"
        var view = LedgerView(claims: ["2000": LedgerView.Claim(player: own)])
        if let previous { view.claims["1000"] = LedgerView.Claim(player: previous) }
        view.claimApps["1000"] = [previousApp]
        return view.claim(of: purchase, in: Self.app, isReleased: isReleased)?.player
    }

    @Test("a subscription that continues another belongs to that one's owner, unless it has an owner")
    func passedOn() {
        #expect(owner("first") == "first")
        #expect(owner("first", own: "second") == "second")
        #expect(owner(nil) == nil)
    }

    @Test("a subscription has no owner if its owner was erased, or an operator ended the dispute about it")
    func notPassedOn() {
        var random = SystemRandomNumberGenerator()
        #expect(owner(Pseudonym.make(using: &random)) == nil)
        #expect(owner("first", isReleased: true) == nil)
        #expect(owner("first", own: "second", isReleased: true) == "second")
    }

    @Test("a subscription of another app, or of the sandbox, passes nothing on")
    func ofAnotherApp() {
        #expect(owner("first", of: StoreApp("com.example.other", in: .production)) == nil)
        #expect(owner("first", of: StoreApp(Sample.bundle, in: .sandbox)) == nil)
    }
}
