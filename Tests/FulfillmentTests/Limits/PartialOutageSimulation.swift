import TestSupport

@testable import Fulfillment

/// A simulation of a worker at default settings and of Apple, which answers some requests only. The clock is simulated.
/// The limits, the retry delays and the parking are the real types. The seed decides everything else.
struct PartialOutageSimulation {
    static let tick = 0.01
    /// The seconds without a fault before the outage, then the seconds of the run after the outage.
    static let begins = 30.0
    static let afterwards = 900.0
    /// The seconds after the outage in which submissions still arrive.
    static let arrivesAfterwards = 60.0
    static let perSecond = 10.0
    static let latency = 0.05
    static let timeout = 10.0
    static let scopes = 20
    static let players = 1000
    static let maximumConcurrency = 256
    /// The number of parked submissions that each answer to a failed submission wakes, as in `RecoverySigns`.
    static let wokenByAnswer = 2

    struct Submission {
        var player = 0
        var scope = 0
        var arrived = 0.0
        var isSick = false
        var isParked = false
        var history = WaitingHistory()
        var failedSince: Double?
        var downBefore = 0.0
        var answered: Double?
        var holdsRetryPlace = false
    }

    /// The records in Kafka.
    private struct Arrivals {
        var next = 0.0
        var backlog: [Int] = []
        var head = 0
        var sick = 0
    }

    /// The submissions in the worker's hands.
    private struct Load {
        var inMemory = 0
        var retrying = 0
        var parked = 0
        /// The signs of a recovery that have woken no submission yet.
        var signs = 0
    }

    private struct Schedules {
        var sleeping = Schedule()
        var parked = Schedule()
        var underWay = Schedule()
        var nextPoll = 0.0
    }

    private let outage: PartialOutage
    private let ends: Double
    private var front = SimulatedFront(maximum: PartialOutageSimulation.maximumConcurrency)
    private var random: SeededRandom
    private var now = 0.0
    private var submissions: [Submission] = []
    private var arrivals = Arrivals()
    private var load = Load()
    private var schedules = Schedules()
    private var fates: [Int: Bool] = [:]
    private var downSeconds = 0.0
    private var figures = OutageFigures()
    private var failedRequests = 0

    init(_ outage: PartialOutage) {
        self.outage = outage
        ends = Self.begins + outage.seconds
        random = SeededRandom(seed: outage.seed)
    }

    private mutating func unit() -> Double { Double(random.below(1_000_000)) / 1_000_000 }

    private func isFailing(_ submission: Submission) -> Bool {
        guard now >= Self.begins, now < ends else { return false }
        switch outage.pattern {
        case .receipts, .players, .apps, .stuckPlayers, .stuckPlayersFirst: return submission.isSick
        case .bursts: return (now - Self.begins).truncatingRemainder(dividingBy: 10) < Double(outage.amount) / 10
        }
    }

    private mutating func arrive() {
        while arrivals.next <= now {
            let player = random.below(Self.players)
            let scope = outage.pattern == .apps ? player % Self.scopes : 0
            var one = Submission(player: player, scope: scope, arrived: arrivals.next)
            switch outage.pattern {
            case .receipts: one.isSick = random.chance(outage.amount)
            case .players: one.isSick = player % 100 < outage.amount
            case .apps: one.isSick = scope * 100 / Self.scopes < outage.amount
            case .bursts: one.isSick = false
            case .stuckPlayers, .stuckPlayersFirst:
                let isEach = outage.pattern == .stuckPlayersFirst
                let isEarly = arrivals.next >= Self.begins && arrivals.next < Self.begins + 30
                if isEarly, arrivals.sick < outage.amount, isEach || random.chance(60) {
                    one.isSick = true
                    arrivals.sick += 1
                    one.player = Self.players + submissions.count
                }
            }
            submissions.append(one)
            arrivals.backlog.append(submissions.count - 1)
            arrivals.next += (0.5 + unit()) / Self.perSecond
        }
        while arrivals.head < arrivals.backlog.count, load.inMemory < outage.maximumInFlight {
            let id = arrivals.backlog[arrivals.head]
            arrivals.head += 1
            load.inMemory += 1
            ask(id)
        }
        figures.mostInMemory = max(figures.mostInMemory, load.inMemory)
    }

    private mutating func ask(_ id: Int) {
        let one = submissions[id]
        front.arrive(
            id: id, scope: one.scope, isRetry: one.history.failures > 0, isParked: one.isParked,
            suspect: Suspect(player: one.player, proof: -1 - id), now: now)
    }

    mutating func run() -> OutageFigures {
        var recovered: Double?
        while now < ends + Self.afterwards {
            now += Self.tick
            if now < ends + Self.arrivesAfterwards { arrive() }
            while let id = schedules.underWay.next(now) { finish(id, isFine: fates.removeValue(forKey: id) ?? true) }
            while let id = schedules.sleeping.next(now) { ask(id) }
            pollParked()
            for id in front.start(now: now) {
                let isFine = !isFailing(submissions[id])
                let takes = isFine || outage.failure != .hang ? Self.latency * (0.5 + unit()) : Self.timeout
                schedules.underWay.add(id, at: now + takes)
                fates[id] = isFine
            }
            for id in front.impatient(now: now) { unanswered(id, isSent: false) }
            if front.isDown(now: now) { downSeconds += Self.tick }
            if now <= ends { figures.secondsDown = downSeconds }
            if now > ends, recovered == nil, !front.isAnyOpen { recovered = now - ends }
        }
        figures.recovery = recovered ?? .infinity
        var waits: [Double] = []
        var late: [Double] = []
        for one in submissions where one.arrived >= Self.begins && one.arrived < ends {
            if one.isSick {
                late.append((one.answered ?? ends + Self.afterwards) - ends)
                continue
            }
            figures.healthy += 1
            waits.append((one.answered ?? ends + Self.afterwards) - one.arrived)
            if let answered = one.answered, answered < ends + 1 { figures.answeredInTime += 1 }
        }
        figures.wasted = Double(failedRequests) / outage.seconds
        waits.sort()
        late.sort()
        if !waits.isEmpty {
            figures.median = waits[waits.count / 2]
            figures.p99 = waits[min(waits.count - 1, waits.count * 99 / 100)]
        }
        if !late.isEmpty { figures.drained = max(0, late[min(late.count - 1, late.count * 99 / 100)]) }
        return figures
    }

    private mutating func leave(_ id: Int) {
        if submissions[id].isParked { load.parked -= 1 } else { load.inMemory -= 1 }
        if submissions[id].holdsRetryPlace {
            submissions[id].holdsRetryPlace = false
            load.retrying -= 1
        }
    }

    private mutating func finish(_ id: Int, isFine: Bool) {
        front.ended(id: id, isFine: isFine, isDoubtful: outage.failure == .status, now: now, jitter: unit())
        if isFine {
            submissions[id].answered = now
            if submissions[id].history.failures > 0 { load.signs += Self.wokenByAnswer }
            leave(id)
            return
        }
        failedRequests += 1
        unanswered(id, isSent: true)
    }

    private mutating func unanswered(_ id: Int, isSent: Bool) {
        var one = submissions[id]
        if !one.isParked, !one.holdsRetryPlace, load.retrying < outage.maximumInFlight / 2 {
            one.holdsRetryPlace = true
            load.retrying += 1
        }
        let step = front.step(
            &one, isSent: isSent, hasRoom: one.holdsRetryPlace, downSeconds: downSeconds, jitter: unit(), now: now)
        submissions[id] = one
        switch step {
        case .tryAgain(let seconds): schedules.sleeping.add(id, at: now + seconds)
        case .park(_, let seconds):
            leave(id)
            if !submissions[id].isParked { figures.parked += 1 }
            submissions[id].isParked = true
            schedules.parked.add(id, at: now + seconds)
        }
    }

    private mutating func pollParked() {
        guard now >= schedules.nextPoll else { return }
        schedules.nextPoll = now + 0.5 + unit()
        for _ in 0..<load.signs { schedules.parked.wake(random.below(max(1, schedules.parked.count)), at: now) }
        load.signs = 0
        let places = min(outage.maximumInFlight, Self.maximumConcurrency)
        while true {
            let room = max(0, max(1, places / (load.inMemory > 0 ? 5 : 2)) - load.parked)
            let limit = min(room, front.isDown(now: now) ? 1 : 20)
            guard limit > 0 else { return }
            var due = 0
            while due < limit, let id = schedules.parked.next(now) {
                due += 1
                load.parked += 1
                ask(id)
            }
            if due < 20 { return }
        }
    }
}
