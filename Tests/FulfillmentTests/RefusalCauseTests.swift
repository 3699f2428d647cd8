import Encodings
import Testing

@testable import Fulfillment

@Suite("The causes that rejection events name")
struct RefusalCauseTests {
    private func told(_ decision: PendingDecision) -> (code: String?, sentence: String?) {
        var view = LedgerView()
        let answer = decision.settle(in: &view).answer
        return (answer?.member("detail_code")?.string, answer?.member("detail")?.string)
    }

    @Test("if Apple rejects a receipt, the cause of the rejection names Apple's status 21002 or 21003")
    func refusedByApple() {
        let malformed = told(Sample.decision(.whole(.malformedReceipt, [])))
        #expect(malformed.code == "apple_cannot_read")
        #expect(
            malformed.sentence
                == "Apple answered three times that it cannot read the receipt (21002): send the receipt as the device has it."
        )
        let unauthentic = told(Sample.decision(.whole(.unauthenticReceipt, [])))
        #expect(unauthentic.code == "apple_cannot_authenticate")
        #expect(unauthentic.sentence == "Apple answered that it cannot authenticate the receipt (21003).")
    }

    @Test("every cause of a token mismatch has its own sentence")
    func tokens() {
        #expect(
            Cause.tokenMissing.sentence
                == "The submission has no app_account_token and needs one (the nil UUID counts as none): send the "
                + "purchase's appAccountToken.")
        #expect(
            Cause.tokenNotOnPurchase.sentence
                == "The purchase has no appAccountToken: only a signed proof of the purchase can show who bought it.")
        #expect(
            Cause.tokenDiffers.sentence
                == "The submission's app_account_token is not the purchase's: the purchase was made for another game "
                + "account.")
        #expect(
            Cause.tokenOfOtherPlayer.sentence == "The purchase's account token belongs to another player of the game.")
    }
}
