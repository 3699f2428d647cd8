import Fulfillment
import TestSupport

extension ScriptedVerifier {
    /// Knows the samples' receipts by their names, and finds each genuine unless told otherwise.
    static func ofSamples(changes: ChangeSignal) -> ScriptedVerifier {
        ScriptedVerifier(
            changes: changes, name: { Sample.name(ofReceipt: $0.receipt ?? "") }, unscripted: { Sample.genuine($0) })
    }

    /// One answer after the other, then genuine for good.
    func answer(_ name: String, _ answers: AppleAnswer...) {
        script(name, answers + [Sample.genuine(name)])
    }
}
