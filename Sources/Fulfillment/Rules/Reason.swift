/// The reason of a rejection, a hold or a revocation: the codes of docs/contract/reasons.md.
public enum Reason: String, Sendable, CaseIterable {
    case malformedSubmission = "malformed_submission"
    case unknownApp = "unknown_app"
    case malformedReceipt = "malformed_receipt"
    case foreignApp = "foreign_app"
    case unauthenticReceipt = "unauthentic_receipt"
    case sandboxNotAllowed = "sandbox_not_allowed"
    case tooManyWaiting = "too_many_waiting"
    case accountNotFound = "account_not_found"
    case transactionNotFound = "transaction_not_found"
    case noPurchase = "no_purchase"
    case productMismatch = "product_mismatch"
    case refusedByApple = "refused_by_apple"
    case ownershipDisputed = "ownership_disputed"
    case ownedByOtherPlayer = "owned_by_other_player"
    case alreadyGranted = "already_granted"
    case bindingMismatch = "binding_mismatch"
    case upgraded
    case cancelled
    case revokedByOperator = "revoked_by_operator"
    case familyShared = "family_shared"
    case subscriptionExpired = "subscription_expired"
    case unknownOwnership = "unknown_ownership"
    case kindMismatch = "kind_mismatch"
    case bindingMissing = "binding_missing"
    case beforeCutover = "before_cutover"
    case unreadableTransaction = "unreadable_transaction"
    case unknownProduct = "unknown_product"
    case retiredProduct = "retired_product"
    case currencyNotAllowed = "currency_not_allowed"
    case dailyLimit = "daily_limit"
    case refusedByOperator = "refused_by_operator"
    case refund
    case revoke
}
