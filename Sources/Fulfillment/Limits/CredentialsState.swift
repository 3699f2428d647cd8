/// Whether one app's credentials are right, as far as Apple's answers tell.
///
/// 21004 may be the receipt's fault: a foreign app's subscription receipt, sent with our secret, gets it. So only
/// receipts that are proven to be the app's accuse the secret. The app is believed to be misconfigured when the secret
/// is set nowhere, or when several players' proven receipts were refused and none was taken. Refused receipts that are
/// not proven make the credentials *doubted*: that is reported, and holds nobody back.
public struct CredentialsState: Sendable {
    /// The number of players, each with a receipt of their own, that shows wrong credentials if this replica never saw
    /// an answer for the app.
    public static let playersWithoutSuccess = 3
    /// The same number if it saw one. The credentials were right a while ago.
    static let playersAfterSuccess = 5
    /// The number of refusals in a row of the credentials themselves that shows the same. One may be a passing fault.
    public static let certainRefusalsNeeded = 2
    /// The seconds after which a refusal is forgotten.
    static let windowSeconds = 600.0
    /// The seconds between two probes of an app whose credentials are wrong. Proven and unproven proofs probe
    /// separately.
    public static let probeSeconds = 5.0

    /// True if the app's requests are answered as blocked, except probes, until Apple takes one.
    private var areWrong = false
    private var refusals = Refusals()
    private var unprovenRefusals = Refusals()
    /// The next probe with a proven proof. An unproven proof never takes its turn: Apple may refuse that one whatever
    /// the credentials are.
    private var nextProbe = 0.0
    private var nextUnprovenProbe = 0.0
    /// The last refusal that certainly is about the credentials.
    private var proven: ProvenRefusal?
    /// The refusals of the credentials themselves since the last answer.
    private var certainRefusals = 0
    public private(set) var isMissing = false
    private var hasSucceeded = false

    /// True if several players' unproven proofs were refused and Apple has taken nothing since.
    public private(set) var areDoubted = false

    private struct ProvenRefusal {
        let at: Double
        /// The receipt's hash; nil if the credentials themselves were refused.
        let receipt: Int?
        /// True if it holds no subscription and Apple checked the secret all the same. Then Apple checks it for any
        /// receipt.
        let wasForAnyReceipt: Bool
    }

    /// The refusals since the last answer, in bounded memory.
    private struct Refusals {
        private var players: Set<Int> = []
        private var receipts: Set<Int> = []
        private var since = 0.0

        /// Returns whether enough different players' receipts, each another one, were refused within the window.
        mutating func note(player: Int, receipt: Int, needed: Int, now: Double) -> Bool {
            if players.isEmpty || now - since > CredentialsState.windowSeconds { self = Refusals(since: now) }
            if players.count < needed { players.insert(player) }
            if receipts.count < needed { receipts.insert(receipt) }
            return min(players.count, receipts.count) >= needed
        }

        init(since: Double = 0) { self.since = since }
    }

    public init() {}

    /// Returns whether `receiptd_misconfigured` is 1.
    public func isMisconfigured(now: Double) -> Bool {
        if isMissing || areWrong { return true }
        return proven.map { now - $0.at < Self.windowSeconds } ?? false
    }

    /// Returns false if asking is useless now.
    public mutating func mayAsk(isProven: Bool = true, now: Double) -> Bool {
        guard areWrong else { return true }
        guard now >= (isProven ? nextProbe : nextUnprovenProbe) else { return false }
        if isProven { nextProbe = now + Self.probeSeconds } else { nextUnprovenProbe = now + Self.probeSeconds }
        return true
    }

    /// Notes whether the setting that should hold the secret is empty.
    public mutating func secret(isMissing: Bool) {
        self.isMissing = isMissing
    }

    /// Notes that Apple refused a receipt or its secret.
    /// - Parameters:
    ///   - player: a hash of the sender.
    ///   - receipt: a hash of the receipt.
    ///   - isProven: true if Apple signed it for this app.
    ///   - holdsAutoRenewable: true if it holds a subscription, for which Apple is known to check the secret.
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

    /// Notes that Apple refused the credentials themselves (401), before it looked at the question. No player can cause
    /// that.
    public mutating func refusedForCertain(now: Double) {
        proven = ProvenRefusal(at: now, receipt: nil, wasForAnyReceipt: false)
        certainRefusals += 1
        if certainRefusals >= Self.certainRefusalsNeeded, !areWrong { holdBack(now: now) }
    }

    /// Notes that Apple took a receipt of the app, or answered a request that its credentials were needed for.
    /// - Parameters:
    ///   - receipt: a hash of the receipt; nil without one.
    ///   - didCheckSecret: true if the receipt holds a subscription. For others Apple need not check the secret.
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
