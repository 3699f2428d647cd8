/// What an answered submission was, as operators sort their traffic. A reason is not enough to tell junk from what only
/// Apple could refuse: `malformed_receipt` is both.
public enum TrafficClass: String, Sendable, CaseIterable {
    /// Something of it was granted, or waits for a person.
    case genuine
    /// All that it could bring was granted before, or is another player's.
    case repeated = "repeat"
    /// Another app's receipt.
    case foreign
    /// No receipt at all, seen here, or for an app that is not in the catalog: what cracking tools send.
    case junk
    /// A signature that fails, seen here.
    case forged
    /// It looked like a receipt, could not be proven here, and Apple does not confirm it.
    case unverifiable
    /// Genuine without anything to grant, or refused by policy.
    case other

    /// - Parameters:
    ///   - events: of one submission, at least one.
    ///   - isLocal: decided without asking anyone.
    public init(_ events: [OutcomeEvent], isLocal: Bool) {
        // What a subscription has become, or what Apple's answer shows to be refunded, is no answer to the submission.
        let answers = events.filter { $0.kind != .subscriptionChanged && $0.kind != .revoked }
        guard answers.allSatisfy({ $0.kind == .rejected }) else {
            self = .genuine
            return
        }
        switch answers.last?.reason {
        case .alreadyGranted, .ownedByOtherPlayer: self = .repeated
        case .foreignApp: self = .foreign
        case .malformedSubmission, .unknownApp: self = .junk
        case .malformedReceipt: self = isLocal ? .junk : .unverifiable
        case .unauthenticReceipt: self = isLocal ? .forged : .unverifiable
        case .tooManyWaiting, .accountNotFound, .transactionNotFound, .refusedByApple: self = .unverifiable
        case .sandboxNotAllowed, .noPurchase, .productMismatch, .ownershipDisputed, .bindingMismatch,
            .upgraded,
            .cancelled, .revokedByOperator, .familyShared, .subscriptionExpired, .unknownOwnership, .kindMismatch,
            .bindingMissing,
            .beforeCutover, .unknownProduct, .retiredProduct, .currencyNotAllowed, .dailyLimit, .refusedByOperator,
            .refund, .revoke, nil:
            self = .other
        }
    }
}
