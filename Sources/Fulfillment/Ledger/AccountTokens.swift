import NamesAndTimes

/// The key of an account token in one app. The key has only the token's hash, because anyone who knows a token can pass
/// for its player.
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

/// The ledger's facts about an account token.
public struct AccountTokenFacts: Sendable, Equatable {
    /// The most players who may send a token that belongs to one player. If a token has more senders, receiptd treats
    /// it as a constant that the client sends for all players.
    public static let maximumSenders = 5

    /// The player of the first granted transaction whose submission and purchase both had the token; nil if there is
    /// none.
    public var learntOf: PlayerID?
    /// The players who have a grant or a hold of a transaction whose submission and purchase both had the token. For a
    /// constant, the set is incomplete.
    public var senders: Set<PlayerID>
    /// The most Apple accounts that the ledger learns for one token. A player buys with few accounts.
    public static let maximumAccounts = 6

    /// The Apple accounts that bought with the token. An account's value is the first player to whom a worker granted a
    /// purchase with the token and this account. A purchase without a signed account adds nothing.
    public var accounts: [AppTransactionID: PlayerID] = [:]
    /// The player whom a record of `player-accounts` names for the token; nil if none does.
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

    /// Returns the player from whom the proof of a purchase with this token may be stolen. If the ledger knows the
    /// purchase's Apple account, returns the first player of this account. Otherwise returns the token's first player.
    /// But returns nil if the ledger knows another account of that player, who then did not pay for this purchase.
    /// - Parameter account: the Apple account of the purchase; nil if unknown, so that the token alone decides.
    func owner(by account: AppTransactionID?) -> PlayerID? {
        guard let account else { return learntOf }
        if let known = accounts[account] { return known }
        return accounts.values.contains { $0 == learntOf } ? nil : learntOf
    }

    /// Returns whether the ledger can learn nothing new about the token from this player's purchases with these Apple
    /// accounts.
    public func hasNothingToLearn(of player: PlayerID, by buying: Set<AppTransactionID>) -> Bool {
        if isConstant { return true }
        return learntOf != nil && senders.contains(player)
            && (accounts.count >= Self.maximumAccounts || buying.allSatisfy { accounts[$0] != nil })
    }

    public var isConstant: Bool { senders.count > Self.maximumSenders }
}

/// A dispute about an account token. A worker holds the purchase, because the ledger learnt the token as another
/// player's.
public struct DisputedToken: Sendable, Equatable {
    public let bundleID: BundleID
    public let transactionID: StoreTransactionID
    /// The player for whom the purchase is held.
    public let player: PlayerID
    /// The first player to whom a worker granted a purchase with the token and with the held purchase's Apple account.
    /// If that account is unknown or new, the first player to whom a worker granted any purchase with the token. Either
    /// `player` or `firstPlayer` may be the thief.
    public let firstPlayer: PlayerID
}

extension PendingDecision {
    /// Returns a dispute for each purchase that `settlement` holds because of a learnt token.
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
    /// The ledger learns nothing, because the token is the player's id.
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
    /// The token that the ledger may learn from this decision; empty if there is none. The ledger learns the
    /// submission's token if Apple signed this token for a purchase that may be granted or held.
    public var learnableTokens: Set<AccountTokenKey> {
        tokenUse == .none ? [] : tokens(but: \.isRejection, of: { isBound($0) ? submission.appAccountToken : nil })
    }

    /// Returns the Apple accounts that the ledger may learn for `token` from this decision.
    public func learnableAccounts(of token: AccountTokenKey) -> Set<AppTransactionID> {
        guard case .each(let judged) = verdict, let submitted = submission.appAccountToken, key(of: submitted) == token
        else { return [] }
        return Set(
            judged.lazy.filter { !$0.verdict.isRejection && self.isBound($0.purchase) }
                .compactMap(\.purchase.appTransactionID))
    }

    /// The tokens whose facts the settlement needs: for each purchase the token that Apple signed, or the submission's
    /// token if Apple signed none.
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

    /// Returns whether `player-accounts` names another player for the purchase's token.
    func isTokenToldOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard announced?.isRenewal != true, let token = mentionedToken(of: purchase),
            let player = view.tokens[key(of: token)]?.told
        else { return false }
        return player != submission.playerID
    }

    /// Returns whether another player is the first player of the purchase's token, or the first player of the
    /// purchase's Apple account with this token.
    func isTokenOfAnother(_ purchase: StorePurchase, in view: LedgerView) -> Bool {
        guard let facts = learntFacts(of: purchase, in: view) else { return false }
        return [facts.learntOf, facts.owner(by: purchase.appTransactionID)].contains {
            $0 != nil && $0 != submission.playerID
        }
    }

    /// Returns the other player from whom the purchase's proof may be stolen, by the learnt facts about its token.
    /// Returns nil if there is no such player, or if the submission lacks the purchase's token.
    func ownerOfCopied(_ purchase: StorePurchase, in view: LedgerView) -> PlayerID? {
        guard isBound(purchase), let facts = learntFacts(of: purchase, in: view),
            let owner = facts.owner(by: purchase.appTransactionID), owner != submission.playerID
        else { return nil }
        return owner
    }

    /// Returns the facts about a purchase's token; nil if the ledger has none. If the submission has the purchase's
    /// token, counts this player as a sender too. Returns nil if the token is then a constant.
    private func learntFacts(of purchase: StorePurchase, in view: LedgerView) -> AccountTokenFacts? {
        guard tokenUse != .none, let token = mentionedToken(of: purchase), let facts = view.tokens[key(of: token)]
        else { return nil }
        let senders = isBound(purchase) ? facts.senders.union([submission.playerID]) : facts.senders
        return senders.count <= AccountTokenFacts.maximumSenders ? facts : nil
    }

    /// Enters the player's new grant or hold of the purchase into the token's facts.
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
