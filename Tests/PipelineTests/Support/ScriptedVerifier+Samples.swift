import Fulfillment
import TestSupport

extension ScriptedVerifier {
    /// Makes a verifier that knows the samples' receipts by name, and finds each genuine unless a test scripts answers.
    static func ofSamples(changes: ChangeSignal) -> ScriptedVerifier {
        ScriptedVerifier(
            changes: changes, name: { Sample.name(ofReceipt: $0.receipt ?? "") }, unscripted: { Sample.genuine($0) })
    }

    /// Scripts the answers for a receipt, one after the other. After them the receipt is always genuine.
    func answer(_ name: String, _ answers: AppleAnswer...) {
        script(name, answers + [Sample.genuine(name)])
    }
}
