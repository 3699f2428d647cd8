/// The rules in their order, as docs/contract/reasons.md lists them. The first rule that fails gives the reason.
///
/// `Screening`, `Judge` and the settlement check in this order. `receiptd inspect` lists the rules that a decision
/// passed in the same order. RuleOrderTests compares `Rule` with these three and with the contract.
public enum Rule {
    /// The rules of the submission as a whole that `Screening` checks before anyone is asked.
    public static let local: [Reason] = [
        .unknownApp, .malformedReceipt, .foreignApp, .unauthenticReceipt, .sandboxNotAllowed,
    ]

    /// The rules of the submission as a whole: the local ones, the limit of parked proofs, then Apple's answer
    /// (`Judge`).
    public static let ofSubmission: [Reason] =
        local + [
            .tooManyWaiting, .accountNotFound, .transactionNotFound, .noPurchase, .productMismatch, .refusedByApple,
        ]

    /// The rules of each transaction that the ledger's rows decide.
    public static let ofOwnership: [Reason] = [.ownershipDisputed, .ownedByOtherPlayer, .alreadyGranted]

    /// The rules of each transaction: its ownership, the judge's rules (an operator's revocation comes right after
    /// Apple's), then the ledger's count.
    public static let ofTransaction: [Reason] =
        ofOwnership + PurchaseRule.reasons.flatMap { $0 == .cancelled ? [$0, .revokedByOperator] : [$0] } + [
            .dailyLimit
        ]

    public static let order: [Reason] = ofSubmission + ofTransaction
}
