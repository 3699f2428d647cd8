import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The owner of a purchase, according to the ledger's claims")
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

    @Test("a subscription inherits the owner of the previous subscription, unless the subscription has its own owner")
    func passedOn() {
        #expect(owner("first") == "first")
        #expect(owner("first", own: "second") == "second")
        #expect(owner(nil) == nil)
    }

    @Test(
        "a subscription inherits no owner if the previous owner was erased or an operator ended the ownership dispute")
    func notPassedOn() {
        var random = SystemRandomNumberGenerator()
        #expect(owner(Pseudonym.make(using: &random)) == nil)
        #expect(owner("first", isReleased: true) == nil)
        #expect(owner("first", own: "second", isReleased: true) == "second")
    }

    @Test("a subscription inherits no owner from a subscription of another app or environment")
    func ofAnotherApp() {
        #expect(owner("first", of: StoreApp("com.example.other", in: .production)) == nil)
        #expect(owner("first", of: StoreApp(Sample.bundle, in: .sandbox)) == nil)
    }
}
