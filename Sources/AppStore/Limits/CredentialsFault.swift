import Fulfillment

/// The fault of an app's credentials for one of Apple's endpoints. The app's submissions wait until an operator
/// corrects the credentials.
public struct CredentialsFault: Sendable, Equatable {
    /// `verifyReceipt` or `transactions`.
    public let endpoint: String
    /// The setting of the shared secret or the private key; nil if the catalog names none.
    public let setting: String?
    /// Apple's refusal; nil if the setting is empty or has no key.
    public let refusal: AppleAnswer.Blockage?

    public init(endpoint: String, setting: String?, refusal: AppleAnswer.Blockage?) {
        (self.endpoint, self.setting, self.refusal) = (endpoint, setting, refusal)
    }

    /// One clause for an operator: the fault and the remedy.
    public var sentence: String {
        if refusal == .request {
            return "Apple refuses the request itself (21000): look for a proxy that changes requests"
        }
        let isRefused = refusal != nil
        guard endpoint == VerifyReceiptClient.endpoint else {
            let key = "\(setting ?? "its key"), the app's private_key_setting"
            return isRefused
                ? "Apple refuses the key in \(key) (401): compare issuer_id, key_id and key with App Store Connect, "
                    + "and check the machine's clock"
                : "\(key), holds no private key: give the workers the .p8 file's text under that name"
        }
        guard let setting else {
            return
                "Apple wants a shared secret (21004), and the catalog names none: give the app a shared_secret_setting"
        }
        return isRefused
            ? "Apple refuses the secret in \(setting), the app's shared_secret_setting (21004): "
                + "compare it with App Store Connect"
            : "\(setting), the app's shared_secret_setting, is not set: give the workers the secret under that name"
    }
}
