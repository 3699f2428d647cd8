import Identifiers

/// A token of one app. Only its hash is kept: a token is personal, and whoever knows one can pass for its player.
public struct AccountTokenKey: Sendable, Hashable, Comparable {
    public let bundleID: BundleID
    public let hash: Digest256

    public init(bundleID: BundleID, token: String) {
        self.bundleID = bundleID
        hash = Digest256(hashing: Array(token.utf8))
    }

    public static func < (left: AccountTokenKey, right: AccountTokenKey) -> Bool {
        left.bundleID != right.bundleID
            ? left.bundleID < right.bundleID : left.hash.bytes.lexicographicallyPrecedes(right.hash.bytes)
    }
}

/// What the ledger has learnt of a token.
public struct AccountTokenFacts: Sendable, Equatable {
    /// A token that more players sent is a constant of the client's: it names nobody.
    public static let maximumSenders = 5

    /// Who was granted the first transaction that carried it, with it on both sides.
    public var learntOf: PlayerID?
    /// Who was granted or holds a transaction with it on both sides; of a constant not all.
    public var senders: Set<PlayerID>
    /// Whose it is by `player-accounts`.
    public var told: PlayerID?

    public init(learntOf: PlayerID? = nil, senders: Set<PlayerID> = [], told: PlayerID? = nil) {
        self.learntOf = learntOf
        self.senders = senders
        self.told = told
    }

    public var isConstant: Bool { senders.count > Self.maximumSenders }
}

/// What an app does with the tokens that were learnt.
public enum AccountTokenUse: Sendable {
    /// Nothing is learnt: the token is the player's id, and needs no learning.
    case none
    /// Another player's token is a risk signal.
    case signals
    /// The app requires tokens: with another player's it is held.
    case holds
}

extension AppPolicy {
    public var accountTokenUse: AccountTokenUse {
        if accountTokenIs == .playerID { return .none }
        return accountToken == .require ? .holds : .signals
    }
}

extension PendingDecision {
    /// Tokens of which something may be learnt: those of transactions that may be granted or held, on both sides.
    public var learnableTokens: Set<AccountTokenKey> {
        tokenUse == .none ? [] : tokens(but: \.isRejection, of: { isBound($0) ? submission.appAccountToken : nil })
    }

    /// Tokens whose player is of interest: the submission's and its transactions'.
    public var mentionedTokens: Set<AccountTokenKey> {
        if announced?.isRenewal == true { return [] }
        return tokens(but: { $0 == .reject(.bindingMismatch) }, of: { mentionedToken(of: $0) })
    }

    private func tokens(
        but isExempt: (JudgedPurchase.Verdict) -> Bool, of token: (StorePurchase) -> String?
    ) -> Set<AccountTokenKey> {
        guard case .each(let judged) = verdict else { return [] }
        var keys: Set<AccountTokenKey> = []
        for purchase in judged where !isExempt(purchase.verdict) {
            if let token = token(purchase.purchase) { keys.insert(key(of: token)) }
        }
        return keys
    }

    private func mentionedToken(of purchase: StorePurchase) -> String? {
        purchase.appAccountToken ?? submission.appAccountToken
    }

    private func key(of token: String) -> AccountTokenKey {
        AccountTokenKey(bundleID: submission.bundleID, token: token)
    }

    /// By `player-accounts` the token is another player's.
    func isTokenToldOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard announced?.isRenewal != true, let token = mentionedToken(of: purchase),
            let player = view.tokens[key(of: token)]?.told
        else { return false }
        return player != submission.playerID
    }

    /// The transaction's token was learnt as another player's.
    func isTokenOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard tokenUse != .none, let token = mentionedToken(of: purchase), let facts = view.tokens[key(of: token)],
            let player = facts.learntOf, player != submission.playerID
        else { return false }
        let senders = isBound(purchase) ? facts.senders.union([submission.playerID]) : facts.senders
        return senders.count <= AccountTokenFacts.maximumSenders
    }

    /// The player was granted this, or it is held for the player.
    func enterToken(of purchase: StorePurchase, isGranted: Bool, in view: inout LedgerView) {
        guard tokenUse != .none, isBound(purchase), let token = submission.appAccountToken else { return }
        var facts = view.tokens[key(of: token)] ?? AccountTokenFacts()
        if isGranted, facts.learntOf == nil { facts.learntOf = submission.playerID }
        if !facts.isConstant { facts.senders.insert(submission.playerID) }
        view.tokens[key(of: token)] = facts
    }
}

extension JudgedPurchase.Verdict {
    public var isRejection: Bool {
        if case .reject = self { true } else { false }
    }
}
