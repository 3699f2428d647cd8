import AppStore
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Checks that Apple answers at both addresses of verifyReceipt.
package enum VerifyReceiptCheck {
    package typealias Line = (name: String, result: Result<String, CheckFailure>)

    package static func all(_ apple: ReceiptdConfiguration.AppleSettings) async -> [Line] {
        [
            ("apple production", await ask(apple.verifyReceiptProductionURL, apple)),
            ("apple sandbox", await ask(apple.verifyReceiptSandboxURL, apple)),
        ]
    }

    /// Sends Apple a text that is no receipt. Any answer shows that Apple can be reached.
    private static func ask(
        _ address: String, _ apple: ReceiptdConfiguration.AppleSettings
    ) async -> Result<String, CheckFailure> {
        // The settings of Production and the sandbox get one address, so that the client asks only at this address.
        var one = apple.client
        one.productionURL = address
        one.sandboxURL = address
        let note = ReachNote()
        guard let client = try? VerifyReceiptClient(settings: one, secrets: { _ in nil }, observer: note) else {
            return .failure(CheckFailure("receiptd cannot make an HTTP client with these settings"))
        }
        let answer = await client.verify(
            VerificationRequest(bundleID: "receiptd.check", receipt: "AAAA", sharedSecretSetting: nil))
        await client.shutdown()
        if case .trouble(let trouble) = answer {
            return .failure(CheckFailure(note.words(trouble)))
        }
        return .success("answers")
    }
}
