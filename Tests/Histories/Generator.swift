/// Draws histories. A draw depends on the seed, and on the pairs of features that the earlier histories had.
struct Generator {
    let seed: UInt64
    private let pool: [Feature]
    private(set) var number = 0
    private(set) var met: [FeaturePair: Int] = [:]

    /// - Parameter pool: the features to draw from.
    init(seed: UInt64, pool: [Feature] = Feature.allCases) {
        self.seed = seed
        self.pool = pool
    }

    /// Returns the next history. Of eight random sets of features, it takes the one whose pairs were met least often.
    mutating func next() -> History {
        var chance = Chance(seed: seed, number: number)
        number += 1
        var best: (features: Set<Feature>, score: Double) = ([], -1)
        for _ in 0..<8 {
            let features = Set(pool.filter { _ in chance.one(in: 2) })
            let score = FeaturePair.all(of: features).reduce(0) { $0 + 1 / Double(1 + met[$1, default: 0]) }
            if score > best.score { best = (features, score) }
        }
        var drawing = Drawing(features: best.features, chance: chance)
        let history = drawing.draw()
        for pair in FeaturePair.all(of: history.features) { met[pair, default: 0] += 1 }
        return history
    }
}

/// One history while it is drawn. Later steps refer to the purchases, proofs and submissions that it has so far.
struct Drawing {
    struct Bought {
        let number: Int
        let app: Int
        let account: Int
        let product: Int
        let token: Int
        var isRefunded = false
        /// Whether an operator has revoked the purchase's grant.
        var isRevoked = false
        /// Whether the subscription renews for a year.
        var renewsYearly = false
    }

    let features: Set<Feature>
    var chance: Chance
    var steps: [Step] = []
    var used: Set<Feature> = []
    var bought: [Bought] = []
    var taken: [(number: Int, bought: Bought, form: Int)] = []
    var submitted: [Int] = []
    /// Steps that are drawn now and added later, such as the undoing of an earlier step. Other steps come in between.
    var owed: [(inout Drawing) -> Void] = []
    var hasKept = false
    var hopeless: Int?
    /// The most purchases in the history. Where there are few, more steps are about each.
    var most = Int.max
    /// The history's one to three apps. They are few, because faults show where several steps meet in one app.
    var apps: [Int] = []

    init(features: Set<Feature>, chance: Chance) {
        self.features = features
        self.chance = chance
    }

    func has(_ feature: Feature) -> Bool { features.contains(feature) }

    /// Returns true for `share` draws of a hundred if the feature is on, and then notes that the history uses the
    /// feature.
    mutating func may(_ feature: Feature, _ share: Int) -> Bool {
        guard features.contains(feature), chance.percent(share) else { return false }
        used.insert(feature)
        return true
    }

    @discardableResult
    mutating func add(_ kind: Step.Kind, _ choices: [String: Int] = [:]) -> Int {
        steps.append(Step(steps.count + 1, kind, choices))
        return steps.count
    }

    mutating func draw() -> History {
        var history = History()
        // The draw prefers apps with a `server_api`, because the worker does more for them.
        apps = (0..<Int.random(in: 1...2, using: &chance)).map { _ in chance.pick([0, 1, 1, 2, 2, 3]) }
        history.world["startDays"] = features.contains(.longWaits) ? chance.pick([100, 400]) : 2
        if may(.finishes, 60) { apps = chance.one(in: 2) ? [4] : apps + [4] }
        if features.contains(.slowApple) { history.world["slow"] = 1 }
        if features.contains(.hopelessReceipts) { history.world["window"] = 8 }
        // The worker asks for Apple's notification history in moving windows, which cover only recent notifications. So
        // the history begins now.
        if features.contains(.askedHistory), !features.contains(.longWaits) {
            history.world["history"] = 1
            history.world["startDays"] = 0
            used.insert(.askedHistory)
        }
        // Apple wants an answer within twelve hours.
        if has(.refundRequests), !has(.longWaits), chance.one(in: 2) { history.world["startDays"] = 0 }
        most = chance.pick([1, 2, 4, .max])
        add(.worker)
        // This trouble comes first: after earlier failures, the worker could blame the proofs instead of Apple.
        if !has(.hopelessReceipts), may(.awayApple, 40) {
            add(.away, ["app": chance.pick(apps), "count": 48, "milliseconds": 3000, "told": told()])
        }
        let length = chance.pick([12, 20, 30, 45])
        while steps.count < length { step() }
        finish()
        history.steps = steps
        history.features = used
        return history
    }

    /// Adds the steps that are still owed, so that the history ends in a state that the model can judge.
    private mutating func finish() {
        while !owed.isEmpty { owed.removeFirst()(&self) }
        if hasKept, may(.putBacks, 80) { add(.putBack) }
        if let hopeless { add(.demand, ["of": hopeless]) }
    }

    private mutating func step() {
        if bought.isEmpty { return buy() }
        if !owed.isEmpty, chance.percent(30) { return owed.removeFirst()(&self) }
        switch chance.below(100) {
        case ..<12: buy()
        case ..<28: take()
        case ..<44: submit()
        case ..<60: trade()
        case ..<82: surround()
        case ..<90: overlap()
        default: pass()
        }
    }

    // MARK: Time

    mutating func pass() {
        if may(.longWaits, 40) { _ = add(.wait, ["hours": chance.pick([24, 24 * 20, 24 * 31, 24 * 40, 24 * 7])]) }
        if may(.shortWaits, 40) { _ = add(.wait, ["hours": chance.pick([1, 2, 5])]) }
        if chance.one(in: 2) {
            _ = add(.settle)
        } else {
            _ = add(.pause, ["milliseconds": chance.pick([50, 300, 1000])])
        }
    }
}
