import Fulfillment

/// Describes for support why a submission is parked.
extension ParkingReason {
    var state: String {
        switch self {
        case .appleTrouble, .doubt: "waits for Apple"
        case .blockedSharedSecret, .blockedRequest, .blockedNoServerAPI, .blockedServerAPI:
            "waits for the app's settings"
        case .playerShare: "waits for its turn"
        case .databaseRefused, .crashed: "waits for an operator"
        }
    }

    /// Returns the sentence about this reason.
    /// - Parameter detail: the detail of the parked row: a kind of Apple's trouble, or a reason.
    func sentence(detail: String?) -> String {
        switch self {
        case .appleTrouble:
            (detail.flatMap(AppleAnswer.TroubleKind.init)?.sentence ?? "Apple gave no usable answer.")
                + " receiptd keeps asking."
        case .doubt: "Apple refused the proof, but may change its answer. receiptd asks again."
        case .blockedSharedSecret:
            "The app's shared secret is missing, or Apple refuses it. An operator has to correct the setting."
        case .blockedRequest: "Apple refuses the app's requests. An operator has to correct the app's settings."
        case .blockedNoServerAPI:
            "The app has no key for the App Store Server API, which alone can answer. An operator has to set the key."
        case .blockedServerAPI:
            "The app's key for the App Store Server API is missing, or Apple refuses it. An operator has to correct "
                + "the key."
        case .playerShare: "The player sent many submissions at once. receiptd takes them one after the other."
        case .databaseRefused: "PostgreSQL refuses the submission. This is a defect of receiptd: tell an operator."
        case .crashed: "The submission crashed workers. This is a defect of receiptd: tell an operator."
        }
    }
}

extension AppleAnswer.TroubleKind {
    fileprivate var sentence: String {
        switch self {
        case .timeout: "Apple did not answer in time."
        case .connection: "No connection to Apple was possible."
        case .rateLimited: "Apple asked for fewer requests."
        case .serverError: "Apple's server had an error."
        case .notJSON, .incomplete: "Apple's answer could not be read."
        case .status: "Apple answered with a status that decides nothing."
        case .environmentLoop:
            "Apple's production server said that the proof belongs to the sandbox, "
                + "and the sandbox server said that it belongs to production."
        case .credentials: "Apple did not accept the app's credentials."
        case .unproven: "Apple's answer has no valid signature for this purchase."
        case .emptyAnswer: "Apple answered, but said nothing about the purchase."
        case .longHistory: "The account has more purchases than receiptd reads for one submission."
        }
    }
}

/// Describes for support why no player has an announced purchase.
extension UnclaimedReason {
    var sentence: String {
        switch self {
        case .unknownApp: "The catalog does not have the purchase's app."
        case .unknownPlayer:
            "receiptd learns the player once the game submits the purchase, or names the owner of the account token."
        case .notDelivered: "The catalog says that this product needs a submission from the game."
        case .boughtBefore: "The purchase is too old: receiptd delivers it only if the game submits it."
        case .unreadable: "receiptd cannot read the stored purchase. This is a defect of receiptd: tell an operator."
        case .crashed: "The purchase crashed workers. This is a defect of receiptd: tell an operator."
        }
    }
}
