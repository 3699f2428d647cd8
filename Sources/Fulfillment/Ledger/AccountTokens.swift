import NamesAndTimes

/// A token of one app. Only its hash is kept: a token is personal, and anyone who knows it can pass for its player.
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

/// The ledger's facts about a learnt token.
public struct AccountTokenFacts: Sendable, Equatable {
    /// The most players of a token that names one. If more players sent it, the token is a constant of the client's.
    public static let maximumSenders = 5

    /// The player who got the first known purchase with the token and the same Apple account. Either of the two players
    /// may be the thief.
    public var learntOf: PlayerID?
    /// The players who were granted or hold a transaction with it on both sides. For a constant, some are missing.
    public var senders: Set<PlayerID>
    /// The most Apple accounts that are learnt for one token. A player buys by few.
    public static let maximumAccounts = 6

    /// The owner of each Apple account's purchases with this token: the player who was granted the first one. Purchases
    /// without a signed account are missing.
    public var accounts: [AppTransactionID: PlayerID] = [:]
    /// The player whom `player-accounts` names for the token; nil if it names none.
    public var told: PlayerID?

    public init(
        learntOf: PlayerID? = nil, senders: Set<PlayerID> = [], accounts: [AppTransactionID: PlayerID] = [:],
        told: PlayerID? = nil
    ) {
        self.learntOf = learntOf
        self.senders = senders
        self.accounts = accounts
        self.told = told
    }

    /// Returns the player whose purchase this one may copy; nil if it copies nobody's: the token's first player buys by
    /// another account.
    /// - Parameter account: the account of the purchase; nil if unknown, so that the token alone decides.
    func owner(by account: AppTransactionID?) -> PlayerID? {
        guard let account else { return learntOf }
        if let known = accounts[account] { return known }
        return accounts.values.contains { $0 == learntOf } ? nil : learntOf
    }

    /// Returns whether no purchase of the player's can teach anything new.
    public func hasNothingToLearn(of player: PlayerID, by buying: Set<AppTransactionID>) -> Bool {
        if isConstant { return true }
        return learntOf != nil && senders.contains(player)
            && (accounts.count >= Self.maximumAccounts || buying.allSatisfy { accounts[$0] != nil })
    }

    public var isConstant: Bool { senders.count > Self.maximumSenders }
}

/// A purchase that is held because its token was learnt as another player's.
public struct DisputedToken: Sendable, Equatable {
    public let bundleID: BundleID
    public let transactionID: StoreTransactionID
    /// The player for whom it is held.
    public let player: PlayerID
    /// The player who was granted the first purchase with the token and the same Apple account, as far as that is
    /// known. Either of the two players may be the thief.
    public let firstPlayer: PlayerID
}

extension PendingDecision {
    /// Returns the purchases that `settlement` holds because of learnt tokens.
    /// - Parameter view: the view in which the decision was settled.
    public func disputedTokens(in settlement: Settlement, _ view: LedgerView) -> [DisputedToken] {
        settlement.holds.compactMap { hold in
            guard hold.reason == .ownershipDisputed, let owner = ownerOfCopied(hold.purchase, in: view) else {
                return nil
            }
            return DisputedToken(
                bundleID: submission.bundleID, transactionID: hold.purchase.transactionID, player: submission.playerID,
                firstPlayer: owner)
        }
    }
}

/// An app's use of learnt tokens.
public enum AccountTokenUse: Sendable {
    /// Nothing is learnt, because the token is the player's id.
    case none
    /// Another player's token is a risk signal.
    case signals
    /// The app requires tokens: a purchase with another player's token is held.
    case holds
}

extension AppPolicy {
    public var accountTokenUse: AccountTokenUse {
        if accountTokenIs == .playerID { return .none }
        return accountToken == .require ? .holds : .signals
    }
}

extension PendingDecision {
    /// The tokens that a decision can teach the ledger: those of transactions that may be granted or held, from the
    /// submission and from Apple.
    public var learnableTokens: Set<AccountTokenKey> {
        tokenUse == .none ? [] : tokens(but: \.isRejection, of: { isBound($0) ? submission.appAccountToken : nil })
    }

    /// Returns the Apple accounts that a decision can connect with a token.
    public func learnableAccounts(of token: AccountTokenKey) -> Set<AppTransactionID> {
        guard case .each(let judged) = verdict, let submitted = submission.appAccountToken, key(of: submitted) == token
        else { return [] }
        return Set(
            judged.lazy.filter { !$0.verdict.isRejection && self.isBound($0.purchase) }
                .compactMap(\.purchase.appTransactionID))
    }

    /// The tokens whose players the settlement must know: the submission's and its transactions'.
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

    /// Whether the token is another player's by `player-accounts`.
    func isTokenToldOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard announced?.isRenewal != true, let token = mentionedToken(of: purchase),
            let player = view.tokens[key(of: token)]?.told
        else { return false }
        return player != submission.playerID
    }

    /// Returns whether the transaction's token was learnt as another player's.
    func isTokenOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard let facts = learntFacts(of: purchase, in: view) else { return false }
        return [facts.learntOf, facts.owner(by: purchase.appTransactionID)].contains {
            $0 != nil && $0 != submission.playerID
        }
    }

    /// Returns the other player whose purchase this may copy, by what was learnt of its token; nil if there is none.
    func ownerOfCopied(_ purchase: StorePurchase, in view: LedgerView) -> PlayerID? {
        guard isBound(purchase), let facts = learntFacts(of: purchase, in: view),
            let owner = facts.owner(by: purchase.appTransactionID), owner != submission.playerID
        else { return nil }
        return owner
    }

    /// Returns the facts about a purchase's token; nil if nothing is learnt, or if the token is a constant once this
    /// submission counts.
    private func learntFacts(of purchase: StorePurchase, in view: LedgerView) -> AccountTokenFacts? {
        guard tokenUse != .none, let token = mentionedToken(of: purchase), let facts = view.tokens[key(of: token)]
        else { return nil }
        let senders = isBound(purchase) ? facts.senders.union([submission.playerID]) : facts.senders
        return senders.count <= AccountTokenFacts.maximumSenders ? facts : nil
    }

    /// Enters that the player was granted the purchase, or that it is held for the player.
    func enterToken(of purchase: StorePurchase, isGranted: Bool, in view: inout LedgerView) {
        guard tokenUse != .none, isBound(purchase), let token = submission.appAccountToken else { return }
        var facts = view.tokens[key(of: token)] ?? AccountTokenFacts()
        if isGranted {
            facts.learntOf = facts.learntOf ?? submission.playerID
            if let account = purchase.appTransactionID, facts.accounts[account] == nil, !facts.isConstant,
                facts.accounts.count < AccountTokenFacts.maximumAccounts
            {
                facts.accounts[account] = submission.playerID
            }
        }
        if !facts.isConstant { facts.senders.insert(submission.playerID) }
        view.tokens[key(of: token)] = facts
    }
}

extension JudgedPurchase.Verdict {
    public var isRejection: Bool {
        if case .reject = self { true } else { false }
    }
}
