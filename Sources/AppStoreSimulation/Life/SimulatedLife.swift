/// Simulated players who buy, renew, lapse, get a grace period, change plans, and ask for refunds. Chance depends only
/// on `Plan.seed`, so two lives with equal plans do the same.
///
/// `Plan.dayMilliseconds` is the length of a day. With short days a month passes in a minute. All timestamps are times
/// of the real clock, as in Apple's sandbox.
public struct SimulatedLife: Sendable {
    public let plan: Plan
    public let app: SimulatedApp
    private(set) var players: [Player]
    var random: SplitMix64
    var agenda = Agenda()
    private let end: Int64

    struct Player: Sendable {
        let account: SimulatedAccount
        let token: String?
        let isFamilyMember: Bool
    }

    /// One event of the life, for people to read, and for a program that submits purchases as a client would.
    public struct Happening: Sendable {
        public let at: Int64
        public let account: String
        public let text: String
        /// The transaction that the client gets; nil if the player bought nothing.
        public let bought: StoreTransaction?
    }

    /// Adds the app to the store, and the first visit of each player to the agenda.
    /// - Parameter start: milliseconds since 1970.
    public init(_ plan: Plan, startingAt start: Int64, in store: inout SimulatedStore) {
        self.plan = plan
        app = plan.app
        store.add(app)
        random = SplitMix64(seed: plan.seed)
        end = start + Int64(plan.days) * plan.dayMilliseconds
        players = []
        for number in 1...max(1, plan.players) {
            let account = SimulatedAccount("player-\(number)", bundleID: app.bundleID, environment: plan.environment)
            let token = random.unit() < plan.tokenShare ? Self.uuid(&random) : nil
            players.append(
                Player(account: account, token: token, isFamilyMember: random.unit() < plan.familyShare))
            agenda.add(.visit(player: number - 1), at: start + duration(days: random.unit() * 2))
        }
    }

    /// The time of the next event in milliseconds since 1970; nil if no event is left before the end.
    public var nextAt: Int64? { agenda.next.flatMap { $0 < end ? $0 : nil } }

    /// Performs the events that are due by `now`, in order. Until the next call, the store answers as of `now`. If the
    /// store answered as of a later time, it would show a period as expired before the life performs the renewal.
    public mutating func advance(to now: Int64, in store: inout SimulatedStore) -> [Happening] {
        var happened: [Happening] = []
        defer { store.livedUntil = min(now, end - 1) }
        while let at = nextAt, at <= now, let event = agenda.take() {
            store.now = at
            happened += happen(event, in: &store)
        }
        return happened
    }

    /// Stops the life, and returns the final state of the store.
    public func stop(_ store: inout SimulatedStore) -> StoreSummary {
        let at = min(store.now, end - 1)
        store.livedUntil = at
        return store.summary(at: at)
    }

    func duration(days: Double) -> Int64 { max(1, Int64(days * Double(plan.dayMilliseconds))) }

    mutating func chance(_ probability: Double) -> Bool { random.unit() < probability }

    private mutating func happen(_ event: Agenda.Event, in store: inout SimulatedStore) -> [Happening] {
        switch event {
        case .visit(let player): visit(player, in: &store)
        case .periodEnds(let id): endPeriod(id, in: &store)
        case .retry(let id): retry(id, in: &store)
        case .graceEnds(let id): endGrace(id, in: &store)
        case .giveUp(let id): giveUp(id, in: &store)
        case .refundDecided(let id): decideRefund(of: id, in: &store)
        case .disputeDecided(let id): decideDispute(over: id, in: &store)
        }
    }

    /// Returns a UUID of version 4, in lower case.
    private static func uuid(_ random: inout SplitMix64) -> String {
        var store = SimulatedStore(seed: random.next())
        return store.nextUUID()
    }
}
