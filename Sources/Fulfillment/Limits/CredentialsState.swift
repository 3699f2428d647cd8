/// The state of one app's credentials, as Apple's answers show it.
///
/// verifyReceipt answers 21004 if the shared secret is wrong, but also if the receipt is another app's and has a
/// subscription. So a refusal counts against the secret only if the receipt is proven to be this app's. The credentials
/// count as wrong if no secret is set, or if Apple refused proven receipts of several players and accepted none. If
/// Apple refuses only unproven receipts, the credentials are doubted. receiptd then reports the doubt, but holds no
/// request back.
public struct CredentialsState: Sendable {
    /// If Apple refuses this many different receipts, from this many players, the credentials count as wrong. This
    /// number applies while Apple has never accepted the credentials from this replica.
    public static let playersWithoutSuccess = 3
    /// The same number for the time after Apple has once accepted the credentials from this replica.
    static let playersAfterSuccess = 5
    /// This many 401 answers in a row show that the credentials are wrong. A single 401 may be a passing fault.
    public static let certainRefusalsNeeded = 2
    /// The seconds after which refusals no longer count.
    static let windowSeconds = 600.0
    /// The seconds between two probes of wrong credentials. Proven and unproven proofs probe separately.
    public static let probeSeconds = 5.0

    /// True if the credentials count as wrong. Until Apple accepts a request, receiptd sends only probes.
    private var areWrong = false
    private var refusals = Refusals()
    private var unprovenRefusals = Refusals()
    /// The time of the next probe with a proven proof. A probe with an unproven proof does not change this time,
    /// because Apple may refuse an unproven proof even if the credentials are right.
    private var nextProbe = 0.0
    private var nextUnprovenProbe = 0.0
    /// The last refusal of a proven receipt, or the last 401; nil once an answer of Apple's has shown that the
    /// credentials are right.
    private var proven: ProvenRefusal?
    /// The number of 401 answers since Apple last accepted the credentials.
    private var certainRefusals = 0
    public private(set) var isMissing = false
    private var hasSucceeded = false

    /// True if Apple refused unproven proofs of several players, and has accepted no request since.
    public private(set) var areDoubted = false

    private struct ProvenRefusal {
        let at: Double
        /// The receipt's hash; nil if Apple answered 401.
        let receipt: Int?
        /// True if the refused receipt has no subscription. Then Apple seems to check the secret for every receipt.
        let wasForAnyReceipt: Bool
    }

    /// The players and receipts that Apple has refused since it last accepted a request. The memory is bounded.
    private struct Refusals {
        private var players: Set<Int> = []
        private var receipts: Set<Int> = []
        private var since = 0.0

        /// Counts a refusal. Returns whether Apple refused at least `needed` players and `needed` different receipts
        /// within `windowSeconds`.
        mutating func note(player: Int, receipt: Int, needed: Int, now: Double) -> Bool {
            if players.isEmpty || now - since > CredentialsState.windowSeconds { self = Refusals(since: now) }
            if players.count < needed { players.insert(player) }
            if receipts.count < needed { receipts.insert(receipt) }
            return min(players.count, receipts.count) >= needed
        }

        init(since: Double = 0) { self.since = since }
    }

    public init() {}

    /// Returns whether the metric `receiptd_misconfigured` is 1.
    public func isMisconfigured(now: Double) -> Bool {
        if isMissing || areWrong { return true }
        return proven.map { now - $0.at < Self.windowSeconds } ?? false
    }

    /// Returns whether receiptd may send a request. While the credentials count as wrong, it may send only probes.
    public mutating func mayAsk(isProven: Bool = true, now: Double) -> Bool {
        guard areWrong else { return true }
        guard now >= (isProven ? nextProbe : nextUnprovenProbe) else { return false }
        if isProven { nextProbe = now + Self.probeSeconds } else { nextUnprovenProbe = now + Self.probeSeconds }
        return true
    }

    /// Stores whether the setting of the secret is empty.
    public mutating func secret(isMissing: Bool) {
        self.isMissing = isMissing
    }

    /// Counts Apple's refusal of a receipt, perhaps because of the secret.
    /// - Parameters:
    ///   - player: a hash of the sender.
    ///   - receipt: a hash of the receipt.
    ///   - isProven: true if Apple signed the receipt for this app.
    ///   - holdsAutoRenewable: true if the receipt has a subscription. Apple always checks the secret for a
    ///     subscription.
    public mutating func refused(
        player: Int, receipt: Int, isProven: Bool, holdsAutoRenewable: Bool = true, now: Double
    ) {
        let needed = hasSucceeded ? Self.playersAfterSuccess : Self.playersWithoutSuccess
        guard isProven else {
            if unprovenRefusals.note(player: player, receipt: receipt, needed: needed, now: now) { areDoubted = true }
            return
        }
        proven = ProvenRefusal(at: now, receipt: receipt, wasForAnyReceipt: !holdsAutoRenewable)
        if !areWrong, refusals.note(player: player, receipt: receipt, needed: needed, now: now) { holdBack(now: now) }
    }

    /// Counts a 401, with which Apple refuses the credentials. The caller must be sure that no transaction id from a
    /// player caused the 401.
    public mutating func refusedForCertain(now: Double) {
        proven = ProvenRefusal(at: now, receipt: nil, wasForAnyReceipt: false)
        certainRefusals += 1
        if certainRefusals >= Self.certainRefusalsNeeded, !areWrong { holdBack(now: now) }
    }

    /// Stores that Apple accepted a receipt of the app, or answered a request that needs the app's credentials.
    /// - Parameters:
    ///   - receipt: a hash of the receipt; nil if the request had none.
    ///   - didCheckSecret: true if Apple certainly checked the secret, because the receipt has a subscription.
    public mutating func succeeded(receipt: Int? = nil, didCheckSecret: Bool) {
        hasSucceeded = true
        certainRefusals = 0
        areDoubted = false
        unprovenRefusals = Refusals()
        areWrong = false
        refusals = Refusals()
        guard let refused = proven else { return }
        // The credentials are right if Apple accepts the refused receipt, or any receipt for which it checks the
        // secret.
        if didCheckSecret || refused.wasForAnyReceipt || (receipt != nil && receipt == refused.receipt) { proven = nil }
    }

    private mutating func holdBack(now: Double) {
        areWrong = true
        refusals = Refusals()
        nextProbe = now + Self.probeSeconds
        nextUnprovenProbe = now + Self.probeSeconds
    }
}
