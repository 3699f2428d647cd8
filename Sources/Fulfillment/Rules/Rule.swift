/// The rules in their order, as docs/contract/reasons.md lists them. The first rule that fails gives the reason.
///
/// `Screening`, `Judge` and the settlement check the rules in this order. `receiptd inspect` lists the passed rules of
/// a decision in this order too. Only `.ownershipDisputed` has a second place: the settlement checks a dispute about
/// the token, or about the owner of the original transaction, only if no rule rejects the purchase. `RuleOrderTests`
/// compares `Rule` with the checks and with the contract.
public enum Rule {
    /// The rules of the submission as a whole that `Screening` checks, without Apple and without the ledger.
    public static let local: [Reason] = [
        .unknownApp, .malformedReceipt, .foreignApp, .unauthenticReceipt, .sandboxNotAllowed,
    ]

    /// The rules of the submission as a whole: the local rules, the limit of parked proofs, then `Judge`'s rules for
    /// Apple's answer.
    public static let ofSubmission: [Reason] =
        local + [
            .tooManyWaiting, .accountNotFound, .transactionNotFound, .noPurchase, .productMismatch, .refusedByApple,
        ]

    /// The rules about a transaction's owner. The ledger's rows decide whether the transaction passes them.
    public static let ofOwnership: [Reason] = [.ownershipDisputed, .ownedByOtherPlayer, .alreadyGranted]

    /// The rules of each transaction: its ownership, the rules of `PurchaseRule` with `.revokedByOperator` after
    /// `.cancelled`, then the daily limit.
    public static let ofTransaction: [Reason] =
        ofOwnership + PurchaseRule.reasons.flatMap { $0 == .cancelled ? [$0, .revokedByOperator] : [$0] } + [
            .dailyLimit
        ]

    public static let order: [Reason] = ofSubmission + ofTransaction
}
