import Fulfillment

/// Says in words for support what a parked submission waits for.
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

    var sentence: String {
        switch self {
        case .appleTrouble: "Apple has not answered it so that it can be decided, and is asked again."
        case .doubt: "Apple may change its answer, and is asked again."
        case .blockedSharedSecret:
            "The app's shared secret is missing, or Apple refuses it: an operator has to mend the setting."
        case .blockedRequest: "Apple does not take the app's requests: an operator has to mend its settings."
        case .blockedNoServerAPI:
            "Only the App Store Server API can answer it, and the app has no credentials for it: an operator has to set them."
        case .blockedServerAPI:
            "The app's key for the App Store Server API is missing, or Apple refuses it: an operator has to mend the setting."
        case .playerShare: "The player sent many at once: they are taken in order."
        case .databaseRefused: "The database does not take its data, which is a fault: tell an operator."
        case .crashed: "Workers died of it, which is a fault: tell an operator."
        }
    }
}

/// Why an announced purchase is nobody's, in words for support.
extension UnclaimedReason {
    var sentence: String {
        switch self {
        case .unknownApp: "The catalog does not have its app."
        case .unknownPlayer: "It belongs to no known player: a submission of it does, or a record about its token."
        case .notDelivered: "The catalog says to deliver none that nobody submitted: it needs a submission."
        case .boughtBefore: "It is older than what is delivered without a submission: it needs one."
        case .unreadable: "Its data cannot be read, which is a fault: tell an operator."
        case .crashed: "Workers died of it, which is a fault: tell an operator."
        }
    }
}
