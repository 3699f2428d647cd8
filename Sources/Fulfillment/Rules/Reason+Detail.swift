extension Reason {
    /// One sentence for people. The sentence quotes nothing from the submission, so that it shows no secret.
    public var detail: String {
        switch self {
        case .malformedSubmission: "The record is not a submission; the dead-letter topic has it."
        case .unknownApp: "The catalog does not have this bundle id."
        case .malformedReceipt: "The proof is not a receipt or a signed transaction."
        case .foreignApp: "The receipt was issued for another app."
        case .unauthenticReceipt: "The receipt is not signed by Apple."
        case .sandboxNotAllowed: "The purchase was made in Apple's sandbox, which is not open to this player."
        case .tooManyWaiting:
            "Too many submissions with unproven proofs wait for Apple: send this submission again once one of them has "
                + "an answer."
        case .accountNotFound: "Apple does not know the account of this receipt, or it was deleted."
        case .transactionNotFound: "Apple does not know this transaction."
        case .noPurchase: "The receipt is genuine but holds no purchase."
        case .productMismatch: "No purchase in the receipt is for the submitted product."
        case .refusedByApple: "Apple refused the receipt for good."
        case .ownershipDisputed: "Another player has a claim to the purchase or to its account token."
        case .ownedByOtherPlayer: "The purchase belongs to another player."
        case .alreadyGranted: "The purchase was granted to this player before."
        case .bindingMismatch: "The purchase was made for another game account."
        case .upgraded: "The player gave up this period for another plan before it was granted."
        case .cancelled: "Apple has refunded or revoked the purchase."
        case .revokedByOperator: "An operator took the purchase back."
        case .familyShared: "The purchase was made by another family member."
        case .subscriptionExpired: "The subscription period is over."
        case .unknownOwnership: "Apple names an ownership type that receiptd does not know."
        case .kindMismatch: "Apple's product type differs from the kind in the catalog."
        case .bindingMissing: "The app requires a game account on the purchase, and the purchase has none."
        case .beforeCutover: "The purchase is older than this system, and no grant of it is known."
        case .unreadableTransaction:
            "Apple signed the purchase, but receiptd cannot read a field that decides about it."
        case .unknownProduct: "The catalog does not have this product."
        case .retiredProduct: "The product is no longer sold."
        case .currencyNotAllowed: "The purchase was paid in a currency that this app does not admit."
        case .dailyLimit: "The player has reached the day's limit for this product."
        case .refusedByOperator: "An operator refused the purchase."
        case .refund: "Apple has refunded the purchase."
        case .revoke: "Apple has revoked the purchase."
        }
    }
}
