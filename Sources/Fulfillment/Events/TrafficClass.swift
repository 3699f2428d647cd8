/// The origin of the answer to a submission.
public enum AnswerOrigin: Sendable {
    case decided
    /// Decided without asking anyone.
    case local
    /// An earlier answer, published again.
    case recalled
}

/// The class of an answered submission, as operators sort their traffic. A reason is not enough to tell junk from what
/// only Apple could refuse: `malformed_receipt` is both.
public enum TrafficClass: String, Sendable, CaseIterable {
    /// Something of it was granted, or waits for a person.
    case genuine
    /// The submission was answered before, or all that it could bring was granted before or is another player's.
    case repeated = "repeat"
    /// Another app's receipt.
    case foreign
    /// No receipt at all, seen here, or for an app that is not in the catalog: what cracking tools send.
    case junk
    /// A signature that fails, seen here.
    case forged
    /// The proof looked like a receipt, could not be proven here, and Apple does not confirm it.
    case unverifiable
    /// Genuine without anything to grant, or refused by policy.
    case other

    /// - Parameter events: of one submission, at least one.
    public init(_ events: [OutcomeEvent], _ origin: AnswerOrigin) {
        if origin == .recalled {
            self = .repeated
            return
        }
        // A subscription's change, or a refund in Apple's answer, is no answer to the submission.
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
