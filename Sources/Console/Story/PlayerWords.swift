import Fulfillment

/// The sentences that support can send a player. No sentence promises a purchase that a rule or Apple may still refuse.
enum PlayerWords {
    static let granted = "You have the purchase. Restart the game if the game does not show it."
    static let held = "Your payment has arrived, and we are checking the purchase. Do not buy it again."
    static let waitsForApple = "We are waiting for Apple's answer about your purchase. Do not buy it again."
    static let waitsForUs = "We have to mend a fault on our side first. Do not buy it again."
    static let unclaimed =
        "Open the game once more, with the game account that made the purchase: the game then sends it."
    static let refunded = "Apple has refunded the purchase, so the game took it back. Ask Apple about the refund."
    static let paymentFailed = "Apple could not charge you. Update the payment method in your Apple account."
    static let notFound =
        "We cannot find your purchase yet. Send us your player id and the date of the purchase, from Apple's receipt."

    private static let sendAgain = "We could not read your purchase. Update the game, and open it once more."
    private static let otherAccount =
        "Another game account has this purchase. Sign in to the account that you bought it with."

    /// Returns the sentence about a rejection.
    /// - Parameter reason: the reason's code; nil or an unknown code for a record that could not be read.
    static func refused(_ reason: String?) -> String {
        switch reason.flatMap(Reason.init(rawValue:)) {
        case .alreadyGranted: granted
        case .ownedByOtherPlayer, .bindingMismatch, .bindingMissing, .ownershipDisputed: otherAccount
        case .cancelled, .refund, .revoke: refunded
        case .subscriptionExpired, .upgraded:
            "This subscription period is over. Look at your subscriptions in your Apple account."
        case .familyShared: "Another member of your family bought this, and the game does not share it."
        case .sandboxNotAllowed: "This is a test purchase, which costs nothing and counts for nothing."
        case .tooManyWaiting: waitsForApple
        case .refusedByOperator, .revokedByOperator:
            "We have refused this purchase after a check. You can ask Apple for a refund."
        case .accountNotFound, .transactionNotFound, .noPurchase, .productMismatch, .refusedByApple:
            "Apple does not confirm this purchase. Send us Apple's receipt if you were charged."
        case .malformedSubmission, .malformedReceipt, .unauthenticReceipt, .foreignApp, nil: sendAgain
        case .unknownApp, .unknownOwnership, .kindMismatch, .beforeCutover, .unreadableTransaction, .unknownProduct,
            .retiredProduct, .currencyNotAllowed, .dailyLimit:
            "We could not deliver the purchase, and are looking into it. Do not buy it again."
        }
    }
}

extension ParkingReason {
    /// The sentence for the player about a submission that is parked with this reason.
    var answer: String {
        switch self {
        case .appleTrouble, .doubt, .playerShare: PlayerWords.waitsForApple
        case .blockedSharedSecret, .blockedRequest, .blockedNoServerAPI, .blockedServerAPI, .databaseRefused, .crashed:
            PlayerWords.waitsForUs
        }
    }
}
