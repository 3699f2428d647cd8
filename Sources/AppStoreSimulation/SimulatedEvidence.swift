import Encodings

/// The content of `receipt-data`: an app receipt (iOS 7 and later), a transaction receipt (iOS 6), or other text.
enum SimulatedEvidence {
    case appReceipt(ParsedAppReceipt)
    case transactionReceipt(ParsedTransactionReceipt)
    case unrecognised

    init(base64: String) {
        guard let bytes = Base64.decode(base64.utf8, .standard) else {
            self = .unrecognised
            return
        }
        if let parsed = ParsedAppReceipt(bytes) {
            self = .appReceipt(parsed)
        } else if let parsed = ParsedTransactionReceipt(bytes) {
            self = .transactionReceipt(parsed)
        } else {
            self = .unrecognised
        }
    }

    var behaviourText: String? {
        switch self {
        case .appReceipt(let parsed): parsed.behaviourText
        case .transactionReceipt(let parsed): parsed.behaviourText
        case .unrecognised: nil
        }
    }

    var environment: SimulatedEnvironment? {
        switch self {
        case .appReceipt(let parsed): parsed.receipt.environment
        case .transactionReceipt(let parsed): parsed.receipt.environment
        case .unrecognised: nil
        }
    }

    var bundleID: String? {
        switch self {
        case .appReceipt(let parsed): parsed.receipt.bundleID
        case .transactionReceipt(let parsed): parsed.receipt.bundleID
        case .unrecognised: nil
        }
    }

    var transactionIDs: [String] {
        switch self {
        case .appReceipt(let parsed): parsed.receipt.purchases.map(\.transactionID)
        case .transactionReceipt(let parsed): [parsed.receipt.purchase.transactionID]
        case .unrecognised: []
        }
    }
}
