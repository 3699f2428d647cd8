/// The state of one app's credentials, as far as Apple's answers show it.
///
/// Apple also answers 21004 to another app's subscription receipt that is sent with our secret. So only receipts that
/// are proven to be the app's count against the secret. The credentials count as wrong if no secret is set, or if Apple
/// refused several players' proven receipts and took none. Refusals of unproven receipts make the credentials
/// *doubted*: receiptd reports the doubt, and holds no request back.
public struct CredentialsState: Sendable {
    /// The number of players with as many refused receipts after which the credentials count as wrong, if Apple has
    /// never accepted the credentials from this replica.
    public static let playersWithoutSuccess = 3
    /// The same number after Apple has accepted the credentials: they were right a while ago.
    static let playersAfterSuccess = 5
    /// The number of refusals of the credentials themselves (401) in a row that shows wrong credentials. A single one
    /// may be a passing fault.
    public static let certainRefusalsNeeded = 2
    /// The seconds after which refusals do not count.
    static let windowSeconds = 600.0
    /// The seconds between two probes of wrong credentials. Proven and unproven proofs probe separately.
    public static let probeSeconds = 5.0

    /// True if the credentials count as wrong until Apple takes a request. Only probes are sent meanwhile.
    private var areWrong = false
    private var refusals = Refusals()
    private var unprovenRefusals = Refusals()
    /// The time of the next probe with a proven proof. Unproven proofs have probes of their own, because Apple may
    /// refuse an unproven proof whatever the credentials are.
    private var nextProbe = 0.0
    private var nextUnprovenProbe = 0.0
    /// The last refusal of a proven receipt or of the credentials themselves; nil once Apple's answers refute it.
    private var proven: ProvenRefusal?
    /// The number of refusals of the credentials themselves (401) since Apple last took them.
    private var certainRefusals = 0
    public private(set) var isMissing = false
    private var hasSucceeded = false

    /// True if Apple refused several players' unproven proofs and has taken no request since.
    public private(set) var areDoubted = false

    private struct ProvenRefusal {
        let at: Double
        /// The receipt's hash; nil if the credentials themselves were refused.
        let receipt: Int?
        /// True if the receipt holds no subscription. Apple checked the secret all the same, and so checks it for any
        /// receipt.
        let wasForAnyReceipt: Bool
    }

    /// The players and receipts that Apple has refused since it last took a request, in bounded memory.
    private struct Refusals {
        private var players: Set<Int> = []
        private var receipts: Set<Int> = []
        private var since = 0.0

        /// Notes a refusal. Returns whether `needed` players with as many different receipts were refused within the
        /// window.
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

    /// Returns whether a request may be sent. While the credentials are wrong, only probes may.
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

    /// Notes that Apple refused a receipt, perhaps because of the secret.
    /// - Parameters:
    ///   - player: a hash of the sender.
    ///   - receipt: a hash of the receipt.
    ///   - isProven: true if Apple signed the receipt for this app.
    ///   - holdsAutoRenewable: true if the receipt holds a subscription. Apple then always checks the secret.
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

    /// Notes that Apple refused the credentials themselves (401) before it looked at the question. No player can cause
    /// such a refusal.
    public mutating func refusedForCertain(now: Double) {
        proven = ProvenRefusal(at: now, receipt: nil, wasForAnyReceipt: false)
        certainRefusals += 1
        if certainRefusals >= Self.certainRefusalsNeeded, !areWrong { holdBack(now: now) }
    }

    /// Notes that Apple took a receipt of the app, or answered a request that needs the app's credentials.
    /// - Parameters:
    ///   - receipt: a hash of the receipt; nil if the request had none.
    ///   - didCheckSecret: true if Apple certainly checked the secret, as for a receipt with a subscription.
    public mutating func succeeded(receipt: Int? = nil, didCheckSecret: Bool) {
        hasSucceeded = true
        certainRefusals = 0
        areDoubted = false
        unprovenRefusals = Refusals()
        areWrong = false
        refusals = Refusals()
        guard let refused = proven else { return }
        // The credentials are right if Apple takes the refused receipt, or any receipt for which it checks the secret.
        if didCheckSecret || refused.wasForAnyReceipt || (receipt != nil && receipt == refused.receipt) { proven = nil }
    }

    private mutating func holdBack(now: Double) {
        areWrong = true
        refusals = Refusals()
        nextProbe = now + Self.probeSeconds
        nextUnprovenProbe = now + Self.probeSeconds
    }
}
