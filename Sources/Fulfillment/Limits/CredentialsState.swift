/// Whether one app's credentials are right, as far as Apple's answers tell.
///
/// 21004 may be the receipt's fault: a foreign app's subscription receipt, sent with our secret, gets it. So one
/// refusal says nothing about the app. The app is only believed to be misconfigured when the secret is set nowhere,
/// when a receipt that is proven to be the app's was refused, or when several players' receipts were and none was
/// taken.
public struct CredentialsState: Sendable {
    enum Belief: Sendable, Equatable {
        /// Can become: suspected.
        case sound
        /// Refusals, and no answer since. Can become: sound, wrong.
        case suspected
        /// The app's requests are answered as blocked, but for probes. Can become: sound, when Apple takes one.
        case wrong(nextProbe: Double)
    }

    /// Players, each with a receipt of their own, that it takes where this replica never saw an answer for the app.
    public static let playersWithoutSuccess = 3
    /// The same, where it did: the credentials were right a while ago.
    public static let playersAfterSuccess = 5
    /// Of the credentials themselves, in a row: a single one may be a passing fault.
    public static let certainRefusalsNeeded = 2
    /// Refusals older than this are forgotten.
    public static let windowSeconds = 600.0
    /// Between two requests of an app whose credentials are wrong.
    public static let probeSeconds = 5.0

    private var belief = Belief.sound
    private var players: Set<Int> = []
    private var receipts: Set<Int> = []
    private var suspectedAt = 0.0
    /// The last refusal that is certainly the credentials'.
    private var proven: ProvenRefusal?
    /// Of the credentials themselves, with no answer since.
    private var certainRefusals = 0
    private var isMissing = false
    private var hasSucceeded = false

    private struct ProvenRefusal {
        let at: Double
        /// A hash; nil where the credentials themselves were refused.
        let receipt: Int?
        /// It holds no subscription, and Apple looked at the secret all the same: so it does for any receipt.
        let wasForAnyReceipt: Bool
    }

    public init() {}

    /// What `receiptd_misconfigured` tells.
    public func isMisconfigured(now: Double) -> Bool {
        if isMissing { return true }
        if case .wrong = belief { return true }
        return proven.map { now - $0.at < Self.windowSeconds } ?? false
    }

    /// False where asking is useless now.
    public mutating func mayAsk(now: Double) -> Bool {
        guard case .wrong(let nextProbe) = belief else { return true }
        guard now >= nextProbe else { return false }
        belief = .wrong(nextProbe: now + Self.probeSeconds)
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
        if isProven { proven = ProvenRefusal(at: now, receipt: receipt, wasForAnyReceipt: !holdsAutoRenewable) }
        if belief == .suspected, now - suspectedAt > Self.windowSeconds { forget() }
        if belief == .sound {
            belief = .suspected
            suspectedAt = now
        }
        guard belief == .suspected else { return }
        players.insert(player)
        receipts.insert(receipt)
        let needed = hasSucceeded ? Self.playersAfterSuccess : Self.playersWithoutSuccess
        guard min(players.count, receipts.count) >= needed else { return }
        forget()
        belief = .wrong(nextProbe: now + Self.probeSeconds)
    }

    /// Apple refused the credentials themselves (401), before it looked at what was asked: no player can cause that.
    public mutating func refusedForCertain(now: Double) {
        proven = ProvenRefusal(at: now, receipt: nil, wasForAnyReceipt: false)
        certainRefusals += 1
        guard certainRefusals >= Self.certainRefusalsNeeded, belief == .sound || belief == .suspected else { return }
        forget()
        belief = .wrong(nextProbe: now + Self.probeSeconds)
    }

    /// Apple took a receipt of the app, or answered a request that its credentials were needed for.
    /// - Parameters:
    ///   - receipt: a hash of what was sent.
    ///   - didCheckSecret: the receipt holds a subscription; for others Apple need not look at the secret.
    public mutating func succeeded(receipt: Int? = nil, didCheckSecret: Bool) {
        hasSucceeded = true
        certainRefusals = 0
        if belief != .sound { forget() }
        guard let refused = proven else { return }
        // What proves the credentials right is the very receipt that was refused, or one that they were as needed for.
        if didCheckSecret || refused.wasForAnyReceipt || (receipt != nil && receipt == refused.receipt) { proven = nil }
    }

    private mutating func forget() {
        belief = .sound
        players = []
        receipts = []
    }
}
