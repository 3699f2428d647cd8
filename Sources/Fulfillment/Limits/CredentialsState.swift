/// Whether one app's credentials are right, as far as Apple's answers tell.
///
/// 21004 may be the receipt's fault: a foreign app's subscription receipt, sent with our secret, gets it. So only
/// receipts that are proven to be the app's accuse the secret. The app is believed to be misconfigured when the secret
/// is set nowhere, or when several players' proven receipts were refused and none was taken. Refused receipts that are
/// not proven make the credentials *doubted*: that is reported, and holds nobody back.
public struct CredentialsState: Sendable {
    /// Players, each with a receipt of their own, that it takes where this replica never saw an answer for the app.
    public static let playersWithoutSuccess = 3
    /// The same, where it did: the credentials were right a while ago.
    static let playersAfterSuccess = 5
    /// The refusals of the credentials themselves, in a row: a single one may be a passing fault.
    public static let certainRefusalsNeeded = 2
    /// Refusals older than this are forgotten.
    static let windowSeconds = 600.0
    /// The seconds between two requests of an app whose credentials are wrong, with a proven proof; and the same for
    /// others.
    public static let probeSeconds = 5.0

    /// The app's requests are answered as blocked, but for probes, until Apple takes one.
    private var areWrong = false
    private var refusals = Refusals()
    private var unprovenRefusals = Refusals()
    /// An unproven proof never takes a proven one's turn: Apple may refuse it whatever the credentials are.
    private var nextProbe = 0.0
    private var nextUnprovenProbe = 0.0
    /// The last refusal that is certainly the credentials'.
    private var proven: ProvenRefusal?
    /// The refusals of the credentials themselves, with no answer since.
    private var certainRefusals = 0
    public private(set) var isMissing = false
    private var hasSucceeded = false

    /// Several players' proofs that are not proven were refused, and Apple has taken nothing since.
    public private(set) var areDoubted = false

    private struct ProvenRefusal {
        let at: Double
        /// A hash; nil where the credentials themselves were refused.
        let receipt: Int?
        /// Whether it holds no subscription, and Apple looked at the secret all the same: so it does for any receipt.
        let wasForAnyReceipt: Bool
    }

    /// The refusals with no answer since, in bounded memory.
    private struct Refusals {
        private var players: Set<Int> = []
        private var receipts: Set<Int> = []
        private var since = 0.0

        /// Whether so many different players' receipts, each another one, were refused within the window.
        mutating func note(player: Int, receipt: Int, needed: Int, now: Double) -> Bool {
            if players.isEmpty || now - since > CredentialsState.windowSeconds { self = Refusals(since: now) }
            if players.count < needed { players.insert(player) }
            if receipts.count < needed { receipts.insert(receipt) }
            return min(players.count, receipts.count) >= needed
        }

        init(since: Double = 0) { self.since = since }
    }

    public init() {}

    /// Whether `receiptd_misconfigured` is 1.
    public func isMisconfigured(now: Double) -> Bool {
        if isMissing || areWrong { return true }
        return proven.map { now - $0.at < Self.windowSeconds } ?? false
    }

    /// False where asking is useless now.
    public mutating func mayAsk(isProven: Bool = true, now: Double) -> Bool {
        guard areWrong else { return true }
        guard now >= (isProven ? nextProbe : nextUnprovenProbe) else { return false }
        if isProven { nextProbe = now + Self.probeSeconds } else { nextUnprovenProbe = now + Self.probeSeconds }
        return true
    }

    /// The setting that should hold the secret is empty, or not any more.
    public mutating func secret(isMissing: Bool) {
        self.isMissing = isMissing
    }

    /// - Parameters:
    ///   - player: a hash of who sent it.
    ///   - receipt: a hash of what was sent.
    ///   - isProven: its signature is Apple's and it is this app's.
    ///   - holdsAutoRenewable: a subscription, for which Apple is known to look at the secret.
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

    /// Apple refused the credentials themselves (401), before it looked at what was asked: no player can cause that.
    public mutating func refusedForCertain(now: Double) {
        proven = ProvenRefusal(at: now, receipt: nil, wasForAnyReceipt: false)
        certainRefusals += 1
        if certainRefusals >= Self.certainRefusalsNeeded, !areWrong { holdBack(now: now) }
    }

    /// Apple took a receipt of the app, or answered a request that its credentials were needed for.
    /// - Parameters:
    ///   - receipt: a hash of what was sent.
    ///   - didCheckSecret: the receipt holds a subscription; for others Apple need not look at the secret.
    public mutating func succeeded(receipt: Int? = nil, didCheckSecret: Bool) {
        hasSucceeded = true
        certainRefusals = 0
        areDoubted = false
        unprovenRefusals = Refusals()
        areWrong = false
        refusals = Refusals()
        guard let refused = proven else { return }
        // The credentials are right if Apple takes the very receipt that was refused, or one that needed them as much.
        if didCheckSecret || refused.wasForAnyReceipt || (receipt != nil && receipt == refused.receipt) { proven = nil }
    }

    private mutating func holdBack(now: Double) {
        areWrong = true
        refusals = Refusals()
        nextProbe = now + Self.probeSeconds
        nextUnprovenProbe = now + Self.probeSeconds
    }
}
