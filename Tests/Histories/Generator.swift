/// Makes random histories. They depend on the seed, and on the pairs of features that earlier histories had.
struct Generator {
    let seed: UInt64
    private let pool: [Feature]
    private(set) var number = 0
    private(set) var met: [FeaturePair: Int] = [:]

    init(seed: UInt64, pool: [Feature] = Feature.allCases) {
        self.seed = seed
        self.pool = pool
    }

    /// Returns the next history. Makes eight random sets of features, and uses the set whose pairs occurred least often
    /// in earlier histories.
    mutating func next() -> History {
        var chance = Chance(seed: seed, number: number)
        number += 1
        var best: (features: Set<Feature>, score: Double) = ([], -1)
        // A third of the histories have no faults. In such a history the workers are often idle, so each step finds the
        // results of the earlier steps.
        let pool = chance.one(in: 3) ? self.pool.filter { !Feature.faults.contains($0) } : self.pool
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

/// The history that is being made. Later steps refer to the purchases, proofs and submissions that it already has.
struct Drawing {
    struct Bought {
        let number: Int
        let app: Int
        let account: Int
        let product: Int
        let token: Int
        var isRefunded = false
        var isRevoked = false
        var renewsYearly = false
    }

    let features: Set<Feature>
    var chance: Chance
    var steps: [Step] = []
    var used: Set<Feature> = []
    var bought: [Bought] = []
    var taken: [(number: Int, bought: Bought, form: Int)] = []
    var submitted: [Int] = []
    /// The steps to add later, such as the reversal of an earlier step.
    var owed: [(inout Drawing) -> Void] = []
    var hasKept = false
    /// True if the next steps must not wait for the workers.
    var isInHaste = false
    var hopeless: Int?
    /// The largest number of purchases in the history. With fewer purchases, more steps affect each purchase.
    var most = Int.max
    /// The change at Apple and the fault that this history prefers. The history repeats both, so that they occur
    /// together.
    let favourites: (trade: Int, fault: Int)
    /// The one to three apps of the history. With so few apps, several steps affect one app, which is where faults
    /// occur.
    var apps: [Int] = []

    init(features: Set<Feature>, chance: Chance) {
        self.features = features
        self.chance = chance
        favourites = (self.chance.below(20), self.chance.below(20))
    }

    func has(_ feature: Feature) -> Bool { features.contains(feature) }

    /// If the feature is on, returns true in `share` per cent of the calls. When it returns true, it also notes that
    /// the history uses the feature.
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
        // The generator prefers apps with `server_api`, because the worker does more for them.
        apps = (0..<Int.random(in: 1...2, using: &chance)).map { _ in chance.pick([0, 1, 1, 2, 2, 3]) }
        history.world["startDays"] = features.contains(.longWaits) ? chance.pick([100, 400]) : 2
        if may(.finishes, 60) { apps = chance.one(in: 2) ? [4] : apps + [4] }
        if features.contains(.slowApple) { history.world["slow"] = 1 }
        var terms: CatalogTerms = []
        if may(.unlistedPurchases, 70) { terms.insert(.unlisted) }
        if may(.dailyLimits, 70) { terms.insert(.limits) }
        history.world["terms"] = terms.rawValue
        if may(.oldPurchases, 50) { history.world["since"] = chance.pick([10, 20, 40]) }
        if features.contains(.hopelessReceipts) { history.world["window"] = 8 }
        // The worker reads Apple's notification history in windows of time, which cover only recent notifications. So
        // the calendar of this history must begin now.
        if features.contains(.askedHistory), !features.contains(.longWaits) {
            history.world["history"] = 1
            history.world["startDays"] = 0
            used.insert(.askedHistory)
        }
        // Apple accepts an answer to a refund request only within twelve hours.
        if has(.refundRequests), !has(.longWaits), chance.one(in: 2) { history.world["startDays"] = 0 }
        most = chance.pick([1, 2, 4, .max])
        add(.worker)
        // This fault must come first. After other failures the worker could blame the proofs for this fault, and not
        // Apple.
        if !has(.hopelessReceipts), may(.awayApple, 40) {
            add(.away, ["app": chance.pick(apps), "count": 48, "milliseconds": 3000, "told": told()])
        }
        let length = chance.pick([12, 20, 30, 45])
        let isQuiet = features.isDisjoint(with: Feature.faults)
        while steps.count < length {
            step()
            if isQuiet, chance.one(in: 3) { add(.settle) }
        }
        finish()
        history.steps = steps
        history.features = used
        return history
    }

    /// Adds the steps of `owed`, so that the history ends in a state that the model can judge.
    private mutating func finish() {
        while !owed.isEmpty { owed.removeFirst()(&self) }
        if hasKept, may(.putBacks, 80) { add(.putBack) }
        if let hopeless { add(.demand, ["of": hopeless]) }
    }

    /// Tries steps in random order, until one adds a step. Half of the calls try the favourite step first.
    mutating func attempt(_ all: [(inout Drawing) -> Void], favourite: Int) {
        var left = all
        let before = steps.count
        if chance.one(in: 2) { left[favourite % left.count](&self) }
        while steps.count == before, !left.isEmpty { left.remove(at: chance.below(left.count))(&self) }
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
