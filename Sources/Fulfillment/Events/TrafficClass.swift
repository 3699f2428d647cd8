/// The origin of the answer to a submission.
public enum AnswerOrigin: Sendable {
    case decided
    /// A worker decided the submission without Apple and without the ledger.
    case local
    /// A worker published an earlier answer again.
    case recalled
}

/// The class of an answered submission, by which operators sort their traffic. An answer's reason alone does not give
/// the class. For example, `malformed_receipt` may mean junk, or a proof that only Apple could refuse.
public enum TrafficClass: String, Sendable, CaseIterable {
    /// A purchase is granted, or held for a person.
    case genuine
    /// The submission was answered before, its purchase was granted before, or its purchase is another player's.
    case repeated = "repeat"
    /// The receipt is another app's.
    case foreign
    /// A worker saw that the proof is not a receipt, or that the app is not in the catalog. Cracking tools send such
    /// proofs.
    case junk
    /// A worker found the signature wrong.
    case forged
    /// The proof looks like a receipt, but no worker could prove it, and Apple does not confirm it.
    case unverifiable
    /// The proof is genuine but grants nothing, or the app's policy refuses it.
    case other

    /// - Parameter events: the events of one submission, at least one.
    public init(_ events: [OutcomeEvent], _ origin: AnswerOrigin) {
        if origin == .recalled {
            self = .repeated
            return
        }
        // An event about a subscription's change, or about a refund in Apple's answer, does not answer the submission.
        let answers = events.filter { $0.kind != .subscriptionChanged && $0.kind != .revoked }
        guard answers.allSatisfy({ $0.kind == .rejected }) else {
            self = .genuine
            return
        }
        switch answers.last?.reason {
        case .alreadyGranted, .ownedByOtherPlayer: self = .repeated
        case .foreignApp: self = .foreign
        case .malformedSubmission, .unknownApp: self = .junk
        case .malformedReceipt: self = origin == .local ? .junk : .unverifiable
        case .unauthenticReceipt: self = origin == .local ? .forged : .unverifiable
        case .tooManyWaiting, .accountNotFound, .transactionNotFound, .refusedByApple: self = .unverifiable
        case .sandboxNotAllowed, .noPurchase, .productMismatch, .ownershipDisputed, .bindingMismatch,
            .upgraded,
            .cancelled, .revokedByOperator, .familyShared, .subscriptionExpired, .unknownOwnership, .kindMismatch,
            .bindingMissing,
            .beforeCutover, .unreadableTransaction, .unknownProduct, .retiredProduct, .currencyNotAllowed, .dailyLimit,
            .refusedByOperator,
            .refund, .revoke, nil:
            self = .other
        }
    }
}
